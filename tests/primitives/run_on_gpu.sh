#!/usr/bin/env bash
# Every kernel of primitives_device_test on the GPU, each in a process of its own, since a fault or a hang of one must not
# take the others along: run_on_gpu.sh <primitives_device_test> [processes at a time]. With $CONVTGEN_CUBIN_DIR, the
# kernels are taken from there (primitives_test fills that folder) and no NVRTC is needed.
# Exits 0 only if every kernel was run and gave what it should.
set -uo pipefail
program=$(realpath "${1:?usage: run_on_gpu.sh <primitives_device_test> [processes]}")
processes=${2:-8}
export CONVTGEN_TEST_DEVICE=cuda program
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export folder

one() {
  local name=$1 log=$folder/${1##*/}
  timeout -k 5 60 "$program" --gtest_filter="$name" >"$log" 2>&1
  local status=$?
  if ((status != 0)); then
    printf 'FAILED (%s) %s\n' "$([[ $status == 124 || $status == 137 ]] && echo "hangs" || echo "status $status")" "$name"
    grep -v -e '^\[' -e '^Note' -e '^Running' "$log" | head -n 30
  elif grep -q SKIPPED "$log"; then
    printf 'NOT RUN %s: %s\n' "$name" "$(grep -m 1 'not run' "$log")"
  else
    printf 'passed %s%s\n' "$name" "$(grep -m 1 'of the bound' "$log" | sed 's/.*: /, /')"
  fi
}
export -f one

"$program" --gtest_list_tests | awk '/^[^ ]/ {suite = $1} /^  / {print suite $1}' | grep '^Every' >"$folder.list"
xargs -P "$processes" -I{} bash -c 'one {}' <"$folder.list" | tee "$folder.results" | grep -v '^passed'
grep -h 'of the bound' "$folder.results"
total=$(wc -l <"$folder.list")
passed=$(grep -c '^passed' "$folder.results")
rm -f "$folder.list" "$folder.results"
echo "$passed of $total passed"
[[ $passed == "$total" ]]
