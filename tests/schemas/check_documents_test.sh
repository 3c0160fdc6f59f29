#!/bin/bash
# The checker says yes to valid documents and no to each of the others.
set -eu
check=tests/schemas/check_documents
$check tests/schemas/valid/*.json
for file in tests/schemas/refused/*.json /nonexistent; do
  if $check "$file" 2>/dev/null; then
    echo "accepted: $file"
    exit 1
  fi
done
