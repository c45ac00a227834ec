#!/usr/bin/env bash
# rebuild.sh <generator> <format>: after each change, exactly the kernels that it concerns are made again. Of seven layers, of
# five where nvcc compiles them, or with CONVTGEN_TEST_ALL of all.
. "$(dirname "$0")/common.sh"
generator=$1 format=$2
need_nvrtc
[[ $format == source ]] && need_nvcc
cp -r "$source/tests/package/outside" project
if [[ -z ${CONVTGEN_TEST_ALL:-} ]]; then
  sed -i -E 's/^layer (square|column|open_batch|open_sizes|open_all|fused|grouped|half_last|brain|open_line|deep|wide|spread) .*//' project/small.convt
  if [[ $format == source ]]; then
    sed -i -E 's/^layer (half|register) .*//' project/small.convt
  fi
else
  cp "$source/examples/seeds.convt" project
fi
cp "$convtgen" tool
# The kernels of a layer for these architectures: kernels <layer> <architecture>...
kernels() {
  local architecture
  for architecture in "${@:2}"; do
    case $format:$architecture in
      source:compute_*) ;; # has the source of the chip
      source:*) echo "$1_forward.$architecture.cu" ;;
      cubin:compute_*) echo "$1_forward.$architecture.ptx" ;;
      cubin:*) echo "$1_forward.$architecture.cubin" ;;
    esac
  done
}
names() { sed -nE 's/^layer ([a-z0-9_]+).*/\1/p' "$@"; }
all_layers=$(names project/*.convt)
kernels_of() { # kernels_of "<layers>" <architecture>...: of them all, as remade() writes them
  local layer
  for layer in $1; do kernels "$layer" "${@:2}"; done | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'
}
three=(sm_80 sm_90a compute_80)

build() {
  touch since
  sleep 0.02
  quietly cmake --build build -j "$(nproc)"
}
made() { remade since build; }
steps() { grep -cE '^\[[^]]*\] kernels: ' log || true; }

configure project build -G "$generator" -DFORMAT="$format" -DCONVTGEN_EXECUTABLE="$work/tool" -DCMAKE_CUDA_SEPARABLE_COMPILATION=ON
build
if [[ $format == source ]]; then
  grep -q -- '-rdc=true' build/CMakeFiles/rules.ninja && fail "kernels are compiled with -rdc=true"
fi
expect "the first build" "$(kernels_of "$all_layers" "${three[@]}")" "$(made)"
expect "the list" "$(for layer in $all_layers; do echo "${layer}_forward: ${three[*]}"; done | sort)" "$(build/outside | sort)"

build
expect "nothing touched" "" "$(made)"
expect "steps when nothing was touched" 0 "$(steps)"

sed -i 's/^layer biased .*/layer biased { conv_transpose2d 4 -> 4; kernel 2; bias; input 1x8x9 }/' project/small.convt
cp build/outside before
build
expect "one layer changed" "$(kernels_of biased "${three[@]}")" "$(made)"
suffix=c
[[ $format == source ]] && suffix=cu
expect "objects when one layer changed" "main.cpp.o net_biased_forward.$suffix.o" \
  "$(find build -name '*.o' ! -name cmake_device_link.o -newer since -printf '%f\n' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
cmp -s before build/outside && fail "the program still has the old kernel"

sed -i -e 's/# for what follows/# another comment/' -e 's/; kernel 2; /;   kernel  2 ;/' project/small.convt
build
expect "comments and blanks changed" "" "$(made)"

sed -i 's/^layer biased/laier biased/' project/small.convt
cmake --build build >log 2>&1 && fail "a wrong layer file builds"
sed -i -e 's/^laier biased/layer biased/' -e 's/layer row .*/layer row { conv_transpose2d 4 -> 4; kernel 1x3; pading 0x1; input 1x8x8 }/' project/small.convt
cmake --build build >log 2>&1 && fail "a wrong property builds"
says "small.convt:4:50: error: unknown property 'pading'; did you mean 'padding'?"
sed -i 's/pading/padding/' project/small.convt
build
expect "an error mended" "$(kernels_of row "${three[@]}")" "$(made)"

sed -i 's/^defaults { dtype f32 }/defaults { dtype f32; bias }/' project/small.convt
build
expect "defaults changed" "$(kernels_of "$(sed -n '/^defaults { dtype f32; bias }/,$p' project/small.convt | names)" "${three[@]}")" "$(made)"

# With sources, each of what follows would compile launch code and kernels again, to show the same.
if [[ $format == source && -z ${CONVTGEN_TEST_ALL:-} ]]; then
  exit 0
fi

configure project build -DARCHITECTURES="80;86-real;90a-real"
build
expect "an architecture more" "$(kernels_of "$all_layers" sm_86)" "$(made)"
expect "the list" "plain_forward: sm_80 sm_86 sm_90a compute_80" "$(build/outside | grep plain_)"

if [[ $format == source ]]; then
  exit 0
fi

configure project build -DNAMESPACE=other
build
expect "another namespace" "" "$(made)"
build/outside >/dev/null

echo 'layer added { conv_transpose2d 4 -> 4; kernel 1 }' >>project/small.convt
build
expect "a layer more" "$(kernels_of added sm_80 sm_86 sm_90a compute_80)" "$(made)"
build/outside | grep -q '^added_forward: ' || fail "the new layer is not in the program"

sed -i '/^layer added/d' project/small.convt
build
expect "a layer less" "" "$(made)"
build/outside | grep -q '^added_forward: ' && fail "the layer is still in the program"

touch tool
build
expect "the generator touched" "$(kernels_of "$all_layers" sm_80 sm_86 sm_90a compute_80)" "$(made)"
build
expect "nothing touched in the end" 0 "$(steps)"
