# The names that the writers leave behind; ck-ls looks at no contents but metadata.json's.

torch_dist() {
  unfinished "$1"
  echo '{"sharded_backend": "torch_dist", "sharded_backend_version": 1}' > "$1/metadata.json"
}

# torch_dist whose last file, metadata.json, is not written yet.
unfinished() {
  mkdir -p "$1"
  echo data > "$1/__0_0.distcp"
  echo m > "$1/.metadata"
  echo c > "$1/common.pt"
}

# run/iter_0001000 to run/iter_000N000.
thousands() {
  for i in $(seq "$1"); do torch_dist "run/iter_000${i}000"; done
}

marker() { printf '%s\n' "$1" > run/latest_checkpointed_iteration.txt; }
