#!/usr/bin/env bash
# Builds and runs the tests: tests/run.sh [--sanitizers] [--all]. Installs what is missing. Exits 0 only if everything passed.
#   --sanitizers   goes on with AddressSanitizer, UndefinedBehaviorSanitizer and the fuzzers
#   --all          everything, sanitizers included, and no samples: all cases, and each file compiled by itself (hours)
set -euo pipefail
cd "$(dirname "$0")/.."
sanitizers=0
all=
for argument; do
  case "$argument" in
    --sanitizers) sanitizers=1 ;;
    --all) sanitizers=1 all=1 ;;
    *) echo "usage: tests/run.sh [--sanitizers] [--all]" >&2; exit 2 ;;
  esac
done

# step <name>: what follows is this step. At the end stand the slowest tests and what each step took.
steps=() starts=() slowest=
step() {
  printf '\n== %s\n' "$*"
  steps+=("$*") starts+=("$SECONDS")
}
summary() {
  local result=$? i
  starts+=("$SECONDS")
  if [[ -n "$slowest" ]]; then
    printf '\n== the ten slowest tests, in seconds\n%s\n' "$slowest"
  fi
  printf '\n== minutes\n'
  for i in "${!steps[@]}"; do
    printf '%3d:%02d  %s\n' "$(((starts[i + 1] - starts[i]) / 60))" "$(((starts[i + 1] - starts[i]) % 60))" "${steps[i]}"
  done
  printf '%3d:%02d  in all\n' "$((SECONDS / 60))" "$((SECONDS % 60))"
  ((result == 0)) || echo "FAILED"
}
trap summary EXIT

# run_tests <build folder> <option of ctest>...
run_tests() {
  local status=0
  # Some tests mostly wait.
  ctest --test-dir "$1" -j "$((jobs + 1))" --output-on-failure --no-tests=error --output-junit tests.xml "${@:2}" || status=$?
  slowest=$(
    [[ -z "$slowest" ]] || echo "$slowest"
    sed -nE 's/.*<testcase name="([^"]*)".* time="([0-9.]+)".*/\2 \1/p' "$1/tests.xml" |
      awk -v build="${1##*/}" '{ printf "%8.1f  %s: %s\n", $1, build, $2 }'
  )
  slowest=$(sort -rn <<<"$slowest" | sed -n 1,10p)  # which reads all: `set -o pipefail` minds a reader that ends early
  return "$status"
}

# Which cases run where there are more than there is time for: by the sources, so that the same tree always runs the same ones.
if [[ -z "${CONVTGEN_TEST_SEED:-}" ]]; then
  CONVTGEN_TEST_SEED=$(find cli generator runtime templates tests -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z |
    xargs -0 sha256sum | sha256sum | cut -c1-16)
fi
export CONVTGEN_TEST_SEED
echo "CONVTGEN_TEST_SEED=$CONVTGEN_TEST_SEED"

step "what is missing is installed"
cmake/install_dependencies.sh build tests
compiler=()
if ! command -v g++ >/dev/null || (($(g++ -dumpversion | cut -d. -f1) < 12)); then
  compiler=(-DCMAKE_CXX_COMPILER=g++-12)
fi
jobs=$(nproc)

build=build/tests
python=OFF
if cmake/install_dependencies.sh python; then
  python=ON
fi
# These wait for the network, each for itself, and for nothing that the build makes.
mkdir -p "$build"
loading=()
# load <name> <command>...: its output is in $build/<name>.path; no file if it failed.
load() {
  local name=$1
  rm -f "$build/$name.path"
  { "${@:2}" >"$build/$name.part" && mv "$build/$name.part" "$build/$name.path"; } &
  loading+=($!)
}
if [[ -z "${CONVTGEN_NVRTC_DIR:-}" ]]; then
  load nvrtc cmake/install_nvrtc.sh "$build/nvrtc"
fi
if [[ -z "${CONVTGEN_NVDISASM:-}" ]] && ! command -v nvdisasm >/dev/null; then
  load nvdisasm cmake/install_nvdisasm.sh "$build/nvdisasm"
fi
# What is built through nvcc is tested where there is one, or where PyPI has it.
if [[ -z "${CUDACXX:-}" ]] && ! command -v nvcc >/dev/null && [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
  load nvcc cmake/install_nvcc.sh "$build/nvcc"
fi
if [[ $python == ON ]]; then
  load python cmake/install_python.sh build/python
fi

# The template compiler is built where its Clang is available; the other tests need none of it.
regenerate=OFF
if cmake/install_dependencies.sh templates; then
  regenerate=ON
else
  echo "Clang 19's development files are not available here: the template compiler and the fuzzers are not tested."
fi

# The compiler is most of what this script waits for. Nobody debugs these builds: without debug information, or with line numbers
# alone, they take three quarters of the time, and with several files of a target compiled as one (CMAKE_UNITY_BUILD) two thirds of that.
unity=ON sample=$CONVTGEN_TEST_SEED
[[ -z "$all" ]] || unity=OFF sample=
step "build"
# configure <option>...
configure() {
  cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -DNDEBUG" -DCMAKE_UNITY_BUILD=$unity -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 \
    -DCONVTGEN_WERROR=ON -DCONVTGEN_REGENERATE=$regenerate -DCONVTGEN_TEST_TEMPLATES=ON -DCONVTGEN_JAX=OFF -DCONVTGEN_TEST_SAMPLE="$sample" "${compiler[@]}" "$@" >/dev/null
}
export CONVTGEN_CACHE_DIR="$PWD/$build/cache"
# In a new folder all but the Python package is built while the rest is still loading: only that and the tests need it.
if [[ ! -f "$build/CMakeCache.txt" ]]; then
  configure -DCONVTGEN_PYTHON=OFF
  cmake --build "$build" -j "$jobs"
fi
for process in "${loading[@]}"; do
  wait "$process" || true  # what it says is printed, and what needs it is not tested
done
if [[ -f "$build/nvrtc.path" ]]; then
  export CONVTGEN_NVRTC_DIR="$PWD/$build/nvrtc"
fi
if [[ -f "$build/nvdisasm.path" ]]; then
  CONVTGEN_NVDISASM="$PWD/$(<"$build/nvdisasm.path")"
  export CONVTGEN_NVDISASM
fi
if [[ -f "$build/nvcc.path" ]]; then
  CUDACXX="$PWD/$(<"$build/nvcc.path")"
  export CUDACXX
fi
python=(-DCONVTGEN_PYTHON=OFF)
if [[ -f "$build/python.path" ]]; then
  python=(-DCONVTGEN_PYTHON=ON -DPython_EXECUTABLE="$(<"$build/python.path")")
fi
configure "${python[@]}"
cmake --build "$build" -j "$jobs"
step "tests"
if [[ -n "$all" ]]; then
  CONVTGEN_TEST_ALL=1 run_tests "$build" --timeout 14400 -LE gpu
  # PyTorch brings these NVRTCs too, whose assemblers are others.
  for version in 12.4 12.8 13.0; do
    step "shipped plans and random layers with NVRTC $version"
    cmake/install_nvrtc.sh "$build/nvrtc-$version" "$version"
    (
      export CONVTGEN_NVRTC_DIR="$PWD/$build/nvrtc-$version"
      CONVTGEN_TEST_ONLY=shipped/ "$build/tests/end_to_end/tensor_core_compile_test"
      CONVTGEN_TEST_ONLY=to_16_bits/ "$build/tests/end_to_end/random_machine_code_test"
    )
  done
  step "models of ONNX against ONNX Runtime, and exports of PyTorch"
  if [[ -f "$build/python.path" ]] &&
     "$(<"$build/python.path")" -m pip install --quiet --disable-pip-version-check --upgrade --target "$build/onnx" onnx onnxruntime onnxscript; then
    PYTHONPATH="$PWD/$build/onnx:$PWD/$build/python" CONVTGEN_PROGRAM="$PWD/$build/cli/convtgen" PYTHONDONTWRITEBYTECODE=1 \
      "$(<"$build/python.path")" -m pytest -q -p no:cacheprovider tests/onnx
  else
    echo "onnx, onnxruntime and onnxscript could not be installed: random models and exports are not tested."
  fi
  step "JAX"
  if [[ -f "$build/python.path" ]] &&
     "$(<"$build/python.path")" -m pip install --quiet --disable-pip-version-check --upgrade --target "$build/jax" cffi 'jax>=0.10' numpy pytest; then
    PYTHONPATH="$PWD/$build/jax" configure "${python[@]}" -DCONVTGEN_JAX=ON
    cmake --build "$build" -j "$jobs" --target convtgen_python
    for file in tests/jax/test_*.py; do
      PYTHONPATH="$PWD/$build/jax:$PWD/$build/python" PYTHONDONTWRITEBYTECODE=1 "$(<"$build/python.path")" -m pytest -q -p no:cacheprovider "$file"
    done
    CONVTGEN_JAX_HOST_DEVICE=1 PYTHONPATH="$PWD/$build/jax:$PWD/$build/python" PYTHONDONTWRITEBYTECODE=1 \
      "$(<"$build/python.path")" benchmarks/jax/decoders.py --small
  else
    echo "JAX could not be installed: convtgen.jax is not tested."
  fi
  step "the gallery in a browser"
  if cmake/install_dependencies.sh browser; then
    python3 -B tests/benchmarks/gallery_browser_test.py
  else
    echo "Chromium is not available here: nothing looks at the gallery's pages."
  fi
  step "the wheel with the oldest and the newest PyTorch"
  tests/package/wheel.sh
  step "the packages on a bare Debian"
  if [[ $EUID == 0 ]] && command -v debootstrap >/dev/null; then
    tests/package/packages.sh
  else
    echo "This is not root, or there is no debootstrap: no release is made, installed and used."
  fi
else
  run_tests "$build" -LE gpu
fi

if ((!sanitizers)); then
  exit 0
fi

step "build with AddressSanitizer and UndefinedBehaviorSanitizer"
# Clang builds faster than GCC here, and its build serves the fuzzers too. GCC 12's warnings are no errors: with a sanitizer's
# code between, it takes members of std::regex for not initialised.
sanitizer=(-DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" "${compiler[@]}")
if [[ $regenerate == ON ]]; then
  sanitizer=(-DCMAKE_CXX_FLAGS_DEBUG="-O1 -gline-tables-only" -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DCONVTGEN_WERROR=ON -DCONVTGEN_FUZZERS=ON)
fi
cmake -S . -B build/asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=$unity -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 -DCONVTGEN_SANITIZE=address,undefined \
  -DCONVTGEN_SANITIZE_SLOW="${all:+ON}" "${sanitizer[@]}" >/dev/null
# The build asks each test program for its tests: tests/CMakeLists.txt says what these options are for.
export ASAN_OPTIONS=intercept_tls_get_addr=0:detect_stack_use_after_return=0
cmake --build build/asan -j "$jobs" --target convtgen_tests
step "tests under the sanitizers"
run_tests build/asan -LE gpu

if [[ $regenerate == ON ]]; then
  step "fuzzers, 30 seconds"
  cases=tests/language/fuzz
  found=build/asan/found
  rm -rf "$found" && mkdir -p "$found/parser" "$found/round_trip" "$found/api" "$found/onnx"
  # fuzz <program> <its inputs and options>...
  fuzz() {
    "build/asan/tests/$1" "${@:2}" -max_total_time=30 -artifact_prefix="$found/" -verbosity=0 -print_final_stats=1
  }
  fuzz language/fuzz/fuzz_parser "$found/parser" $cases/corpus/parser tests/language/wrong -dict=$cases/language.dict -max_len=4096 -timeout=10 &
  parser=$!
  fuzz language/fuzz/fuzz_round_trip "$found/round_trip" $cases/corpus/round_trip -max_len=2048 -timeout=10 &
  round_trip=$!
  fuzz onnx/fuzz/fuzz_onnx "$found/onnx" tests/onnx/models tests/onnx/backend -max_len=8192 -timeout=10 &
  onnx=$!
  fuzz api/fuzz/fuzz_api "$found/api" -dict=$cases/language.dict -max_len=1024 -timeout=20
  wait "$parser"
  wait "$round_trip"
  wait "$onnx"
fi
