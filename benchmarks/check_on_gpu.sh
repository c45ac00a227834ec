#!/usr/bin/env bash
# All that a GPU must show, in one go: check_on_gpu.sh <build folder>. Correctness first, then layer (a) against cuDNN.
# The build may come from another machine (cmake --preset carry); PyTorch is needed for the last step alone.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: check_on_gpu.sh <build folder>}
convtgen="$build/cli/convtgen"
failed=0
step() { printf '\n== %s\n' "$*"; }
check() { "$@" || { failed=1; echo "FAILED: $*"; }; }

step "what is here"
"$convtgen" doctor

step "random layers"
CONVTGEN_TEST_DEVICE=cuda CONVTGEN_TEST_LAYERS=${CONVTGEN_TEST_LAYERS:-100} CONVTGEN_TEST_SEED=11 \
  check "$build/tests/end_to_end/net_test" --gtest_brief=1 --gtest_filter='Net.Layers*'

step "the seed layers at full size"
for layer in asymmetric upsample upsample_f64 strided strided_grouped unpadded; do
  check "$convtgen" run examples/seeds.convt --layer $layer --device cuda
done
check "$convtgen" run examples/seeds.convt --layer asymmetric_dynamic --input 8x512x1024 --device cuda
check "$convtgen" run examples/seeds.convt --layer asymmetric_dynamic --input 3x77x130 --device cuda

step "more than 2^31 outputs"
check "$convtgen" run tests/end_to_end/large.convt --layer large_image --device cuda
check "$convtgen" run tests/end_to_end/large.convt --layer large_batch --device cuda

step "layer (a) in strict fp32: cuDNN, then ours"
check python3 benchmarks/cudnn_strict_f32.py
check "$convtgen" run examples/seeds.convt --layer asymmetric --device cuda

step "$([[ $failed == 0 ]] && echo "all passed" || echo "SOMETHING FAILED")"
exit $failed
