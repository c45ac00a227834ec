#!/usr/bin/env bash
# Builds the tests that have threads with ThreadSanitizer and runs them: tests/run_thread_sanitizer.sh [BUILD_FOLDER].
# The first race ends it. It is no part of tests/run.sh: on two cores it takes some 15 minutes, most of them to build.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/tsan}
compiler=()
if ! command -v g++ >/dev/null || (($(g++ -dumpversion | cut -d. -f1) < 12)); then
  compiler=(-DCMAKE_CXX_COMPILER=g++-12)
fi
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCONVTGEN_WERROR=ON -DCONVTGEN_SANITIZE=thread \
  "${compiler[@]}" >/dev/null
cmake --build "$build" --target api_test jit_test store_test host_device_test

cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export CONVTGEN_CACHE_DIR=$cache
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
# ThreadSanitizer needs its shadow where a kernel that randomises addresses widely may have put something else.
run=()
if setarch -R true 2>/dev/null; then
  run=(setarch -R)
fi
for test in store/store_test api/jit_test api/api_test host_device/host_device_test; do
  printf '\n== %s\n' "$test"
  "${run[@]}" "$build/tests/$test" --gtest_brief=1 --gtest_filter='-*LessThan*'  # times mean nothing here
done
