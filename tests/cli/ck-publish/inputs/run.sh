# ./run: one model at iterations 1000 to 5000, its marker, and the short names a to e for the five.
training_run() {
  cp -rL "$TESTDATA/checkpoints/run" run
  chmod -R u+w run
  local i=1
  for name in a b c d e; do
    ln -s "run/iter_000${i}000" "$name"
    i=$((i + 1))
  done
}

# A fixture's save directory under a short name: fixture gpt_mla here.
fixture() {
  cp -rL "$TESTDATA/fixtures/megatron/$1/ckpt" "$2"
  chmod -R u+w "$2"
}

# ck.result with the numbers that differ from run to run made 0.
steady() {
  python3 -c '
import json, sys
result = json.load(sys.stdin)
for name in ("bytes_read", "bytes_written"):
    assert result[name] >= 0
    result[name] = 0
result["seconds"] = {name: 0 for name in result["seconds"]}
result["peak_memory_bytes"] = [0 for _ in result["peak_memory_bytes"]]
print(json.dumps(result, indent=2))'
}

# Sizes, rates and times as N.
without_numbers() { sed -E 's/[0-9.]+ ([KMG]i)?B\/s/N\/s/g; s/[0-9.]+ ([KMG]i)?B\b/N bytes/g; s/[0-9.]+ s\b/N s/g'; }

# Every name below a directory, hidden ones too.
names() { (cd "$1" && find . -mindepth 1 | LC_ALL=C sort); }

# The data of two results is the same to the byte. ck-plan.json may differ: it records what was asked for.
same_data() { diff -r --exclude=ck-plan.json "$1" "$2"; }

# The random part of hidden names as ID.
without_ids() { sed -E 's/(\.ck-(staged-)?)[0-9a-f]{12}/\1ID/g'; }

# Runs a command that kills itself with SIGKILL at the nth operation of a kind ("rename:2"), and prints its exit code. The inner shell says "Killed".
killed_at() {
  local at=$1
  shift
  CK_FAULT="$at:kill" sh -c '"$@"; exit $?' sh "$@" 2>/dev/null || echo $?
}
