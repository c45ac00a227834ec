#!/usr/bin/env bash
# From text to verified numbers: describes a real layer, emits its CUDA source, compiles it for an H100/H200, runs it on
# a GPU if there is one and else on the host device, and checks every result against the definition in fp64.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/quickstart

cmake/install_dependencies.sh build
compiler=()
if ! command -v g++ >/dev/null || (($(g++ -dumpversion | cut -d. -f1) < 12)); then
  compiler=(-DCMAKE_CXX_COMPILER=g++-12)
fi
cmake --preset release -B "$build" "${compiler[@]}" >/dev/null
cmake --build "$build" --target convtgen
convtgen="$build/cli/convtgen"
if ! "$convtgen" doctor --quiet nvrtc; then
  if cmake/install_nvrtc.sh "$build/nvrtc"; then
    export CONVTGEN_NVRTC_DIR="$PWD/$build/nvrtc"
  fi
fi

step() { if [[ -t 1 ]]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi; }

step "1. A layer, as text"
layer=examples/quickstart.convt
cat "$layer"
"$convtgen" check "$layer"

step "2. What would run, and why"
"$convtgen" explain "$layer" --arch sm_90a

step "3. CUDA source for exactly this layer (build/quickstart/out/asymmetric_forward.sm_90a.cu)"
"$convtgen" emit "$layer" --arch sm_90a -o "$build/out"
grep -n 'tap (' "$build/out/asymmetric_forward.sm_90a.cu" | head -n 7
echo "    ... $(wc -l <"$build/out/asymmetric_forward.sm_90a.cu") lines in all"

step "4. Compiled for sm_90a"
if "$convtgen" doctor --quiet nvrtc; then
  "$convtgen" compile "$layer" --arch sm_90a -o "$build/out"
else
  echo "NVRTC is not available here, so nothing is compiled for a GPU; all else works. 'convtgen doctor' says more."
fi

step "5. Run and verified"
if "$convtgen" doctor --quiet cuda; then
  "$convtgen" run "$layer" --device cuda
else
  echo "No GPU here: the same source runs on the host device, at a reduced size."
  "$convtgen" run "$layer" --device host --input 1x32x64
fi
