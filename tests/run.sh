#!/usr/bin/env bash
# Builds and runs all tests: tests/run.sh [--quick]. Installs what is missing. Exits 0 only if everything passed.
#   --quick   the ordinary build and its tests; no sanitizers, no fuzzing
set -euo pipefail
cd "$(dirname "$0")/.."
quick=0
case "${1:-}" in
  "") ;;
  --quick) quick=1 ;;
  *) echo "usage: tests/run.sh [--quick]" >&2; exit 2 ;;
esac

cmake/install_dependencies.sh build tests
compiler=()
if (($(g++ -dumpversion | cut -d. -f1) < 12)); then
  compiler=(-DCMAKE_CXX_COMPILER=g++-12)
fi
jobs=$(nproc)

# The template compiler is built where its Clang is to be had; the other tests need none of it.
regenerate=OFF
if cmake/install_dependencies.sh templates; then
  regenerate=ON
else
  echo "Clang 19's development files are not to be had here: the template compiler and the fuzzers are not tested."
fi

build=build/tests
cmake/install_nvrtc.sh "$build/nvrtc" || true
export CONVTGEN_NVRTC_DIR="$PWD/$build/nvrtc"
export CONVTGEN_CACHE_DIR="$PWD/$build/cache"

step() { printf '\n== %s\n' "$*"; }

step "build"
cmake -S . -B "$build" -G Ninja -DCONVTGEN_WERROR=ON -DCONVTGEN_REGENERATE=$regenerate "${compiler[@]}" >/dev/null
cmake --build "$build" -j "$jobs"
step "tests"
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error

if ((quick)); then
  exit 0
fi

step "build with AddressSanitizer and UndefinedBehaviorSanitizer"
cmake -S . -B build/asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCONVTGEN_WERROR=ON -DCONVTGEN_SANITIZE=address,undefined \
  "${compiler[@]}" >/dev/null
cmake --build build/asan -j "$jobs"
step "tests under the sanitizers"
ctest --test-dir build/asan -j "$jobs" --output-on-failure --no-tests=error -LE slow

if [[ $regenerate == ON ]]; then
  step "fuzzers, 30 seconds each"
  cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCONVTGEN_FUZZERS=ON >/dev/null
  cmake --build build/fuzz -j "$jobs" --target fuzz_parser fuzz_round_trip
  for fuzzer in fuzz_parser fuzz_round_trip; do
    mkdir -p "build/fuzz/corpus_$fuzzer"
    "$(find build/fuzz -name $fuzzer -type f)" -max_total_time=30 -print_final_stats=1 "build/fuzz/corpus_$fuzzer" \
      tests/language/fuzz/corpus 2>&1 | tail -n 12
  done
fi
