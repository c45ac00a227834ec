#!/usr/bin/env bash
# Kernels of the build in all directions: those that convtgen_add_kernels() names, in place of the layers' own, and those
# that layers name.
. "$(dirname "$0")/common.sh"
need_nvrtc
cp -r "$source/tests/package/directions" project
export LD_LIBRARY_PATH=
configure project build
quietly cmake --build build
quietly build/directions
cat log
# kernels <target>: what its cubins are of, sorted, on one line.
kernels() {
  find "build/$1_convtgen" -maxdepth 1 -name '*.cubin' -printf '%f\n' | sed 's/\.sm_80\.cubin$//' | LC_ALL=C sort |
    tr '\n' ' ' | sed 's/ $//'
}
expect "DIRECTIONS" "bare_forward bare_grad_input bare_grad_weight up_forward up_grad_input up_grad_weight" "$(kernels named)"
expect "the layers' directions" "all_forward all_grad_bias all_grad_input all_grad_weight alone_grad_bias volume_forward volume_grad_weight" "$(kernels own)"
# Where the function or the layer names a direction, the kernel is the same.
for kernel in forward grad_input grad_weight; do
  cmp "build/named_convtgen/up_$kernel.sm_80.cubin" "build/own_convtgen/all_$kernel.sm_80.cubin" ||
    fail "$kernel has other bytes"
done

for target in fused bias; do
  cmake --build build --target "$target" >log 2>&1 && fail "$target is built"
  case $target in
    fused) says "fuse: gradients are those of the convolution alone; leave the activations out of the layer" ;;
    bias) says "directions: grad_bias is of layers with 'bias'" ;;
  esac
done
