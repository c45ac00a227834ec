# What the tests of the package share. CTest gives CONVTGEN_PREFIX, where the package lies (moved from where it was installed
# to), CONVTGEN_SOURCE, the project's tree, and CONVTGEN_WORK, a folder for what the tests make.
set -euo pipefail
prefix=$CONVTGEN_PREFIX
source=$CONVTGEN_SOURCE
convtgen=$prefix/bin/convtgen
work=$CONVTGEN_WORK/$(basename "$0" .sh)$(printf '.%s' "$@" | tr -c 'a-zA-Z0-9.\n' _)
rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# For tests that can't run here: CTest shows them as skipped.
skip() {
  echo "skipped: $*"
  exit 77
}

need_nvrtc() {
  "$convtgen" doctor --quiet nvrtc || skip "there is no NVRTC"
}

# An nvcc: $CUDACXX, of the PATH, of a toolkit.
need_nvcc() {
  local nvcc
  for nvcc in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [[ -x "$nvcc" ]]; then
      export CUDACXX=$nvcc
      return
    fi
  done
  skip "there is no nvcc"
}

# Runs a command quietly; its output is in the file `log`, and shown if it fails.
quietly() {
  "$@" >log 2>&1 || {
    tail -n 60 log >&2
    fail "$*"
  }
}

# configure <source> <build> <option>...
configure() {
  quietly cmake -S "$1" -B "$2" -DCMAKE_PREFIX_PATH="$prefix" "${@:3}"
}

# remade <since> <folder>...: the kernels below the folders that were made after the file <since>, sorted, on one line.
remade() {
  find "${@:2}" ! -path '*/requests/*' \( -name '*.cubin' -o -name '*.ptx' -o -name '*.host.so' -o -name '*.sm_*.cu' \) -newer "$1" -printf '%f\n' |
    LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'
}

# says <words>: the file `log` has these words, wherever the lines break: CMake breaks those of messages by their length.
says() {
  tr '\n' ' ' <log | tr -s ' ' | grep -F -- "$1" >/dev/null || {
    tail -n 60 log >&2
    fail "the output does not say '$1'"
  }
}

expect() { # <what> <expected> <got>
  [[ "$2" == "$3" ]] || fail "$1: expected '$2', got '$3'"
}
