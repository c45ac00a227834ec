#!/usr/bin/env bash
# Builds and runs all tests: tests/run.sh [--quick] [--all]. Installs what is missing. Exits 0 only if everything passed.
#   --quick   the ordinary build and its tests; no sanitizers, no fuzzing
#   --all     every random layer in the ordinary build, and not a sample of them (about an hour)
set -euo pipefail
cd "$(dirname "$0")/.."
quick=0
all=
for argument; do
  case "$argument" in
    --quick) quick=1 ;;
    --all) all=1 ;;
    *) echo "usage: tests/run.sh [--quick] [--all]" >&2; exit 2 ;;
  esac
done
# Which random layers run: by the sources, so that the same tree always runs the same ones.
if [[ -z "${CONVTGEN_TEST_SEED:-}" ]]; then
  CONVTGEN_TEST_SEED=$(find cli generator runtime templates tests -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z |
    xargs -0 sha256sum | sha256sum | cut -c1-16)
fi
export CONVTGEN_TEST_SEED
echo "CONVTGEN_TEST_SEED=$CONVTGEN_TEST_SEED"

cmake/install_dependencies.sh build tests
compiler=()
if ! command -v g++ >/dev/null || (($(g++ -dumpversion | cut -d. -f1) < 12)); then
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
if [[ -z "${CONVTGEN_NVRTC_DIR:-}" ]]; then
  if cmake/install_nvrtc.sh "$build/nvrtc"; then
    export CONVTGEN_NVRTC_DIR="$PWD/$build/nvrtc"
  fi
fi
if [[ -z "${CONVTGEN_NVDISASM:-}" ]] && ! command -v nvdisasm >/dev/null; then
  if nvdisasm=$(cmake/install_nvdisasm.sh "$build/nvdisasm"); then
    export CONVTGEN_NVDISASM="$PWD/$nvdisasm"
  fi
fi
# What is built through nvcc is tested where there is one, or where PyPI has it.
if [[ -z "${CUDACXX:-}" ]] && ! command -v nvcc >/dev/null && [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
  if nvcc=$(cmake/install_nvcc.sh "$build/nvcc"); then
    export CUDACXX="$PWD/$nvcc"
  fi
fi
export CONVTGEN_CACHE_DIR="$PWD/$build/cache"

step() { printf '\n== %s\n' "$*"; }

# The compiler is most of what this script waits for. Nobody debugs these builds: without debug information, or with line numbers
# alone, they take three quarters of the time. The ordinary build compiles each file by itself, as users do; the others need not.
step "build"
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -DNDEBUG" -DCONVTGEN_WERROR=ON \
  -DCONVTGEN_REGENERATE=$regenerate -DCONVTGEN_TEST_TEMPLATES=ON "${compiler[@]}" >/dev/null
cmake --build "$build" -j "$jobs"
step "tests"
${all:+env CONVTGEN_TEST_ALL=1} ctest --test-dir "$build" -j "$jobs" ${all:+--timeout 14400} --output-on-failure --no-tests=error -LE gpu

if ((quick)); then
  exit 0
fi

step "build with AddressSanitizer and UndefinedBehaviorSanitizer"
cmake -S . -B build/asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g1 -DCMAKE_UNITY_BUILD=ON -DCONVTGEN_WERROR=ON \
  -DCONVTGEN_SANITIZE=address,undefined "${compiler[@]}" >/dev/null
cmake --build build/asan -j "$jobs"
step "tests under the sanitizers"
# The runtime of GCC up to 13 takes one in 256 blocks of thread-local memory for one of an old glibc and then crashes while it looks for
# leaks (https://github.com/google/sanitizers/issues/1322); this keeps it from looking there.
ASAN_OPTIONS=intercept_tls_get_addr=0 ctest --test-dir build/asan -j "$jobs" --output-on-failure --no-tests=error -LE "slow|gpu"

if [[ $regenerate == ON ]]; then
  step "fuzzers, 30 seconds each"
  cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -DNDEBUG" \
    -DCMAKE_UNITY_BUILD=ON -DCONVTGEN_FUZZERS=ON >/dev/null
  cmake --build build/fuzz -j "$jobs" --target fuzz_parser fuzz_round_trip fuzz_api
  fuzzers=build/fuzz/tests/language/fuzz
  cases=tests/language/fuzz
  found=build/fuzz/found
  rm -rf "$found" && mkdir -p "$found/parser" "$found/round_trip" "$found/api"
  $fuzzers/fuzz_parser "$found/parser" $cases/corpus/parser tests/language/wrong -dict=$cases/language.dict \
    -max_total_time=30 -max_len=4096 -timeout=10 -artifact_prefix="$found/" -verbosity=0 -print_final_stats=1
  $fuzzers/fuzz_round_trip "$found/round_trip" $cases/corpus/round_trip \
    -max_total_time=30 -max_len=2048 -timeout=10 -artifact_prefix="$found/" -verbosity=0 -print_final_stats=1
  build/fuzz/tests/api/fuzz/fuzz_api "$found/api" -dict=$cases/language.dict \
    -max_total_time=30 -max_len=1024 -timeout=20 -artifact_prefix="$found/" -verbosity=0 -print_final_stats=1
fi
