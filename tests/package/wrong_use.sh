#!/usr/bin/env bash
# Each wrong use of convtgen_add_kernels() is an error that names the argument and says what would be legal.
. "$(dirname "$0")/common.sh"
mkdir project
cd project
echo 'layer up { conv_transpose2d 8 -> 4; kernel 3 }' >a.convt
cp a.convt b.convt
echo 'layer down { conv_transpose2d 8 -> 4; kernel 3 }' >good.convt
echo '# nothing' >empty.convt
printf '# up\nlayer up { conv_transpose2d 8 -> 4; kernel 3 }; ;\n\nlayers { }\n' >no_layer.convt
printf 'layer up {\n  conv_transpose2d 8 -> 4\n  kernel 3\n' >open.convt
printf 'layer 3d { conv_transpose2d 8 -> 4; kernel 3 }\n' >bad_name.convt
cat a.convt b.convt >twice.convt
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(wrong LANGUAGES ${LANGUAGES})
find_package(convtgen REQUIRED)
include(${CMAKE_CURRENT_SOURCE_DIR}/case.cmake)
END

# wrong <words that the error must have, on one line> [<cmake option>...], and the use on standard input.
wrong() {
  cat >case.cmake
  if cmake -S . -B ../build -DCMAKE_PREFIX_PATH="$prefix" -DLANGUAGES=C -UCMAKE_CUDA_ARCHITECTURES -UCONVTGEN_EXECUTABLE "${@:2}" >log 2>&1; then
    fail "no error: $(cat case.cmake)"
  fi
  says "convtgen_add_kernels(kernels): $1"
}

wrong "LAYERS with at least one layer file is missing" <<<'convtgen_add_kernels(kernels)'
wrong "LAYERS is given without a value" <<<'convtgen_add_kernels(kernels LAYERS)'
wrong "LAYERS: there is no file" <<<'convtgen_add_kernels(kernels LAYERS c.convt)'
wrong "LAYERS: there is no file" <<<'convtgen_add_kernels(kernels LAYERS .)'
wrong "LAYERS: $PWD/a.convt is given twice" <<<'convtgen_add_kernels(kernels LAYERS a.convt ./a.convt)'
wrong "LAYERS: the layer 'up' is in $PWD/a.convt and in $PWD/b.convt; give them different names" <<<'convtgen_add_kernels(kernels LAYERS a.convt b.convt)'
wrong "LAYERS: $PWD/empty.convt:1:1: error: the file has no layer" <<<'convtgen_add_kernels(kernels LAYERS empty.convt)'
wrong "LAYERS: $PWD/no_layer.convt:4:1: error: unknown word 'layers'; did you mean 'layer'?" <<<'convtgen_add_kernels(kernels LAYERS no_layer.convt)'
wrong "LAYERS: $PWD/open.convt:1:10: error: '{' is never closed" <<<'convtgen_add_kernels(kernels LAYERS open.convt)'
wrong "LAYERS: $PWD/bad_name.convt:1:7: error: '3d' is no name" <<<'convtgen_add_kernels(kernels LAYERS bad_name.convt)'
wrong "LAYERS: $PWD/twice.convt:2:7: error: duplicate layer name 'up'" <<<'convtgen_add_kernels(kernels LAYERS twice.convt)'
# A program that the same build makes can't be asked yet.
asked_nobody() { echo "set(CONVTGEN_EXECUTABLE /bin/false)
_convtgen_read_layers(\"convtgen_add_kernels(kernels)\" \${CMAKE_CURRENT_SOURCE_DIR}/$1)"; }
wrong "LAYERS: $PWD/no_layer.convt:4: there should be a layer or defaults here: 'layers { }'; \`convtgen check $PWD/no_layer.convt\` says more" <<<"$(asked_nobody no_layer.convt)"
wrong "LAYERS: $PWD/open.convt:1: there should be a layer" <<<"$(asked_nobody open.convt)"
wrong "LAYERS: $PWD/twice.convt:2: a second layer 'up'" <<<"$(asked_nobody twice.convt)"
wrong "unknown argument 'good.convt'; legal are LAYERS, ARCHITECTURES, FORMAT, DIRECTIONS, NAMESPACE, HEADER, TUNED, HOST, HOST_ARCHITECTURE" <<<'convtgen_add_kernels(kernels good.convt)'
wrong "unknown argument 'ON'; legal are LAYERS" <<<'convtgen_add_kernels(kernels LAYERS good.convt HOST ON)'
wrong "ARCHITECTURES: there are no kernels for '70'; legal are 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121, each" <<<'convtgen_add_kernels(kernels LAYERS good.convt ARCHITECTURES 80 70)'
wrong "ARCHITECTURES: there are no kernels for 'sm_80'" <<<'convtgen_add_kernels(kernels LAYERS good.convt ARCHITECTURES sm_80)'
wrong "ARCHITECTURES: there are no kernels for '80-reel'" <<<'convtgen_add_kernels(kernels LAYERS good.convt ARCHITECTURES 80-reel)'
CONVTGEN_CUDA_DRIVER=/nowhere/driver wrong "ARCHITECTURES native: convtgen: error: native is the architecture of this machine's GPU" \
  <<<'convtgen_add_kernels(kernels LAYERS good.convt ARCHITECTURES native)'
wrong "CMAKE_CUDA_ARCHITECTURES: there are no kernels for '52'" -DCMAKE_CUDA_ARCHITECTURES=52 <<<'convtgen_add_kernels(kernels LAYERS good.convt)'
wrong "FORMAT 'ptx' is unknown; legal are cubin, source" <<<'convtgen_add_kernels(kernels LAYERS good.convt FORMAT ptx)'
wrong "FORMAT source needs the language CUDA" <<<'convtgen_add_kernels(kernels LAYERS good.convt FORMAT source)'
wrong "FORMAT cubin and HOST need the language C or CXX" -DLANGUAGES=NONE <<<'convtgen_add_kernels(kernels LAYERS good.convt)'
wrong "DIRECTIONS 'backward' is unknown; legal are forward, grad_input, grad_weight, grad_bias" <<<'convtgen_add_kernels(kernels LAYERS good.convt DIRECTIONS forward backward)'
wrong "TUNED: there is no file $PWD/no.json; 'convtgen tune --export' makes one" <<<'convtgen_add_kernels(kernels LAYERS good.convt TUNED no.json)'
wrong "HOST_ARCHITECTURE is whose kernels the host device runs, so it needs HOST" <<<'convtgen_add_kernels(kernels LAYERS good.convt HOST_ARCHITECTURE 80)'
wrong "HOST_ARCHITECTURE: sm_90a is not among the architectures that kernels are made for: sm_80, compute_80" <<<'convtgen_add_kernels(kernels LAYERS good.convt ARCHITECTURES 80 HOST HOST_ARCHITECTURE 90)'
wrong "HOST_ARCHITECTURE: there are no kernels for 'sm_80-real'" <<<'convtgen_add_kernels(kernels LAYERS good.convt ARCHITECTURES 80 HOST HOST_ARCHITECTURE sm_80)'
wrong "NAMESPACE '3d' must be a C identifier that begins with a letter" <<<'convtgen_add_kernels(kernels LAYERS good.convt NAMESPACE 3d)'
wrong "HEADER 'kernels.hpp' must be a file's name that ends in .h" <<<'convtgen_add_kernels(kernels LAYERS good.convt HEADER kernels.hpp)'
wrong "HEADER 'a/kernels.h' must be a file's name" <<<'convtgen_add_kernels(kernels LAYERS good.convt HEADER a/kernels.h)'
wrong "HEADER 'kernels_support.h' is a file of the launch code's own" <<<'convtgen_add_kernels(kernels LAYERS good.convt HEADER kernels_support.h)'
wrong "there is a target 'kernels' already" <<<'add_custom_target(kernels) 
convtgen_add_kernels(kernels LAYERS good.convt)'
wrong "CONVTGEN_EXECUTABLE is /bin/false, which should be convtgen $("$convtgen" --version | cut -d' ' -f2)" -DCONVTGEN_EXECUTABLE=/bin/false <<<'convtgen_add_kernels(kernels LAYERS good.convt)'
wrong "in a cross build, set CONVTGEN_EXECUTABLE" <<<'set(CMAKE_CROSSCOMPILING ON)
convtgen_add_kernels(kernels LAYERS good.convt)'
wrong "HOST makes code for the machine that builds" -DCONVTGEN_EXECUTABLE="$convtgen" <<<'set(CMAKE_CROSSCOMPILING ON)
convtgen_add_kernels(kernels LAYERS good.convt HOST)'

cat >case.cmake <<<'convtgen_add_kernels(LAYERS good.convt)'
cmake -S . -B ../build -DLANGUAGES=C >log 2>&1 && fail "a call without a target is no error"
says "the name of the target to make comes first"

# Names as CMake has them, and what they come to.
architectures() { # <expected> <name>...
  cat >case.cmake <<<"_convtgen_architectures(got test ARCHITECTURES ${*:2})
message(STATUS \"got: \${got}\")"
  quietly cmake -S . -B ../build -DLANGUAGES=C
  expect "${*:2}" "$1" "$(sed -n 's/^-- got: //p' log)"
}
architectures "sm_80;compute_80" 80
architectures "sm_80" 80-real
architectures "compute_86" 86-virtual
architectures "sm_80;sm_90a" 90a-real 80-real 90-real
architectures "sm_90a;compute_89" 90
architectures "sm_100;sm_120;compute_100" 100f 120a-real
architectures "sm_87;compute_87" 87
architectures "sm_121;compute_121" 12.1
architectures "sm_121" 121a-real
architectures "sm_103;sm_110;compute_110" 103-real 11.0
architectures "sm_101;compute_100" 10.1
architectures "sm_75;sm_80;sm_86;sm_87;sm_88;sm_89;sm_90a;sm_100;sm_103;sm_110;sm_120;sm_121;compute_120" all
architectures "sm_75;sm_80;sm_90a;sm_100;sm_110;sm_120;compute_120" all-major
# The list is that of the program.
expect "the program's architectures" "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90a sm_100 sm_101 sm_103 sm_110 sm_120 sm_121" \
  "$("$convtgen" emit --help | tr -s ' \n' ' ' | grep -oE 'sm_[0-9]+a?' | awk '!seen[$0]++' | sort -V | tr '\n' ' ' | sed 's/ $//')"
