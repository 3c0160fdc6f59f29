# A fixture's save directory under a short name: fixture gpt_mla here.
fixture() {
  cp -rL "$TESTDATA/fixtures/megatron/$1/ckpt" "$2"
  chmod -R u+w "$2"
}

# The keys, dtypes and shapes of a checkpoint.
keys() {
  ck-meta --json "$1" | python3 -c '
import json, sys
meta = json.load(sys.stdin)
for tensor in meta["tensors"]:
    print(tensor["name"], tensor["dtype"], tensor["shape"])
for item in meta["objects"]:
    print(item["name"])'
}

# ck.result with the numbers that differ from run to run made 0.
steady() {
  python3 -c '
import json, sys
result = json.load(sys.stdin)
for name in ("bytes_read", "bytes_written"):
    result[name] = 0
result["seconds"] = {name: 0 for name in result["seconds"]}
result["peak_memory_bytes"] = [0 for _ in result["peak_memory_bytes"]]
print(json.dumps(result, indent=2))'
}

# The notes without sizes, rates and times.
notes() { grep -vE "^ck-[a-z]+: (read|discovery) "; }
