# A fixture's save directory under a short name: fixture gpt_qknorm run.
fixture() {
  cp -rL "$TESTDATA/fixtures/megatron/$1/ckpt" "$2"
  chmod -R u+w "$2"
}

# A Hugging Face directory under a short name.
model() {
  cp -rL "$TESTDATA/fixtures/hf/$1/model" "$2"
  chmod -R u+w "$2"
}

# The notes without sizes, rates and times.
notes() { grep -vE "^ck-[a-z]+: (read|discovery) "; }
