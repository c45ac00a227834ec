#!/usr/bin/env bash
# Projects of `convtgen new`, built against the installed package: layers of one, two and three axes are right on the
# host device; a result that is not is found, and so is a layer that main.cpp is not made for.
. "$(dirname "$0")/common.sh"
export LD_LIBRARY_PATH=
# made <name> <layer>: the project, configured and built.
made() {
  quietly "$convtgen" new "$1" --layer "$2"
  cmake -E env CXXFLAGS="-Wall -Wextra -Werror" cmake -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 ||
    fail "$(cat log)"
  quietly cmake --build "$1/build"
}
made one "conv_transpose1d 8 -> 4; kernel 8; stride 4; padding 2; bias; fuse_input leaky_relu(0.1); dtype bf16"
made two "conv_transpose2d 4 -> 6; kernel 3x4; stride 1x2; groups 2; bias; layout nhwc; \
directions forward, grad_input, grad_weight, grad_bias"
made three "conv_transpose3d 4 -> 2; kernel 2x3x3; stride 2x1x1; fuse gelu, scale(2); dtype f16; y_channels 5"
for project in one two three; do
  quietly "$project/build/run_layer" host
  says " on host ("
  says ": 0 of "
done

# As if the kernels made one value of each tensor wrong.
sed -i 's|^  arrays_wait(&call.arrays);|&\
  for (void* tensor : {tensors.y, tensors.grad_x, tensors.grad_weight, tensors.grad_bias}) {\
    if (auto* values = static_cast<Element*>(tensor)) {\
      values[1] += 0.01F;\
    }\
  }|' two/main.cpp
quietly cmake --build two/build
two/build/run_layer host >log 2>&1 && fail "wrong results are taken for right ones"
for tensor in y grad_x grad_weight grad_bias; do
  says "$tensor: 1 of "
done

sed -i 's/kernel *8/kernel 9/' one/layers.convt
one/build/run_layer host >log 2>&1 && fail "another layer is taken for main.cpp's"
says "has another layer now"
