# Sourced by the scripts beside it: where the project is, what its tools are called, and how to say things.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The tools: a folder tools/NAME each, in which //tools/NAME:NAME builds NAME.
tools=("$root"/tools/ck-*/)
tools=("${tools[@]%/}")
tools=("${tools[@]##*/}")

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
fail() { say "$*"; exit 1; }

# build_tools DIR [BAZEL OPTION...]: builds every tool and puts a link to each into DIR.
build_tools() {
    local directory=$1 bin tool
    shift
    (cd "$root" && bazel build "$@" "${tools[@]/#/\/\/tools\/}") || return 1
    bin=$(cd "$root" && bazel info "$@" bazel-bin 2>/dev/null) || return 1
    mkdir -p "$directory"
    for tool in "${tools[@]}"; do
        ln -sf "$bin/tools/$tool/$tool" "$directory/$tool"
    done
}
