#!/usr/bin/env bash
# A program with kernels of the build, whose twins are made in the process: the same bits; and without a compiler.
. "$(dirname "$0")/common.sh"
need_nvrtc
mkdir -p tests/package examples
cp -r "$source/tests/package/twins" tests/package/
cp -r "$source/examples/api" examples/
export LD_LIBRARY_PATH=
configure tests/package/twins build
quietly cmake --build build
quietly build/twins
cat log
# Kernels of the build alone: no compiler can be found, nothing can be kept.
quietly env -i "$work/build/twins" prebuilt
cat log
