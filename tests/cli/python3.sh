#!/bin/bash
# Runs a Python file of this tree: Bazel's own py_test wants a program named "python", which Debian does not have.
set -euo pipefail
exec python3 "$@"
