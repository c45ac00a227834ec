#!/usr/bin/env bash
# example.sh <name>: builds examples/<name> against the installed package, from a copy outside the project, and runs it.
. "$(dirname "$0")/common.sh"
example=$1
[[ $example == api ]] || need_nvrtc
cp -r "$source/examples" examples
rm -rf examples/offline/kernels
project=examples/$example
export LD_LIBRARY_PATH=
case $example in
  api)
    configure "$project" build
    quietly cmake --build build
    for program in one_layer generator_network generator_network_static training_step; do
      quietly "build/$program" host
    done
    ;;
  offline)
    PATH=$prefix/bin:$PATH quietly "$project/make_kernels.sh"
    # From here on nothing of convtgen is needed.
    configure "$project" build -DCMAKE_PREFIX_PATH=
    quietly cmake --build build
    quietly build/offline
    ;;
  *)
    configure "$project" build
    quietly cmake --build build
    quietly build/"$example"
    ;;
esac
cat log
