#!/usr/bin/env bash
# Three targets of two folders share a layer file and are linked into one program: no race in three builds with -j8 (with
# CONVTGEN_TEST_ALL twenty), with Ninja and Make, some with LTO.
. "$(dirname "$0")/common.sh"
need_nvrtc
rounds=${CONVTGEN_TEST_ALL:+20}
rounds=${rounds:-3}
mkdir -p project/inner
cat >project/layers.convt <<'END'
layer up   { conv_transpose2d 4 -> 4; kernel 2; stride 2; input 1x8x8 }
layer same { conv_transpose2d 4 -> 4; kernel 3; padding 1; bias }
END
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(parallel LANGUAGES C)
find_package(convtgen REQUIRED)
add_subdirectory(inner)
convtgen_add_kernels(first LAYERS layers.convt ARCHITECTURES 80)
convtgen_add_kernels(second LAYERS layers.convt ARCHITECTURES 90a-real)
add_executable(program main.c)
target_link_libraries(program PRIVATE second third first)
END
echo 'convtgen_add_kernels(third LAYERS ../layers.convt ARCHITECTURES 86-real 80-virtual HEADER inner.h)' >project/inner/CMakeLists.txt
cat >project/main.c <<'END'
#include <first.h>
#include <inner.h>
#include <second.h>
#include <stdio.h>
int main(void) {
  printf("%s %s %s\n", first_kernels()[0]->architectures, second_kernels()[0]->architectures, third_kernels()[1]->architectures);
  return 0;
}
END
for ((round = 1; round <= rounds; ++round)); do
  generator=Ninja
  ((round % 2)) || generator="Unix Makefiles"
  rm -rf build
  flags=
  ((round % 3)) || flags=-flto
  configure project build -G "$generator" -DCMAKE_C_FLAGS="$flags"
  quietly cmake --build build -j 8
  expect "round $round" "sm_80 compute_80 sm_90a sm_86 compute_80" "$(build/program)"
done
