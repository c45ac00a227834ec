#!/usr/bin/env bash
# The source archive: the same bytes each time; it builds where there is no LLVM, as a part of another project, whose
# settings it leaves alone.
. "$(dirname "$0")/common.sh"
[[ -e "$source/.git" ]] || skip "not a checkout"
archive=$(echo "$CONVTGEN_BUILD"/convtgen-*.tar.gz)
rm -f "$archive"
quietly cmake --build "$CONVTGEN_BUILD" --target dist
archive=$(echo "$CONVTGEN_BUILD"/convtgen-*.tar.gz)
sha256sum "$archive" >sum
sleep 1.1
quietly cmake --build "$CONVTGEN_BUILD" --target dist
sha256sum -c --quiet sum
tar -xzf "$archive"
mv convtgen-* convtgen

without_llvm=(-DCMAKE_DISABLE_FIND_PACKAGE_Clang=ON -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON)
quietly cmake -S convtgen -B alone -G Ninja "${without_llvm[@]}"  # by itself, tests and all

cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(parent LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory(convtgen)
foreach(name CMAKE_BUILD_TYPE CMAKE_CXX_EXTENSIONS CMAKE_POSITION_INDEPENDENT_CODE)
  if(${name})
    message(FATAL_ERROR "convtgen has set ${name} to ${${name}}")
  endif()
endforeach()
if(NOT CMAKE_CXX_STANDARD EQUAL 17 OR TARGET uninstall OR TARGET dist OR TARGET one_layer OR TARGET cli_test)
  message(FATAL_ERROR "convtgen in a subdirectory brings what is for itself alone")
endif()
convtgen_add_kernels(kernels LAYERS layers.convt ARCHITECTURES 80)
add_executable(program main.cpp)
target_link_libraries(program PRIVATE kernels)
END
echo 'layer up { conv_transpose2d 4 -> 4; kernel 2; stride 2; input 1x8x8 }' >layers.convt
cat >main.cpp <<'END'
#include <kernels.h>

#include <cstdio>
int main() { std::puts(kernels_kernels()[0]->name); }
END
# With CONVTGEN_TEST_ARCHIVE=whole the program is compiled, too (six minutes of a core); else the one that is installed is used, and
# of the archive a library and what is made of the template programs are compiled.
options=(-DCONVTGEN_EXECUTABLE="$convtgen")
if [[ ${CONVTGEN_TEST_ARCHIVE:-} == whole ]]; then
  options=()
fi
quietly cmake -S . -B build -G Ninja "${without_llvm[@]}" "${options[@]}"
quietly cmake --build build --target convtgen_layer convtgen_template_programs
need_nvrtc
quietly cmake --build build --target program
expect "the program's kernel" up_forward "$(build/program)"
quietly cmake --build build --target program
says "no work to do"
