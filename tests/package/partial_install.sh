#!/usr/bin/env bash
# Of a tree that was built in part nothing is installed, neither whole nor by components.
. "$(dirname "$0")/common.sh"
export DESTDIR=
quietly cmake -S "$source" -B "a build, in part" -DCONVTGEN_TESTS=OFF -DCONVTGEN_EXAMPLES=OFF
mkdir -p "a build, in part/cli"
touch "a build, in part/cli/convtgen"  # built first

refused() { # <option>...
  cmake --install "a build, in part" --prefix "$work/prefix" "$@" >log 2>&1 && fail "cmake --install $* of a part"
  says "nothing is installed: the build is not complete"
  [[ ! -e "$work/prefix" ]] || fail "cmake --install $*: a half-made prefix: $(find "$work/prefix" ! -type d | tr '\n' ' ')"
}
refused
says "_convtgen"  # the completion that is missing
refused --component generator
refused --component runtime
says "libconvtgen.so"
refused --component development
says "libconvtgen.a"
