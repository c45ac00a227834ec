#!/usr/bin/env bash
# Installs into an empty prefix, compares what is there with the list, and moves it elsewhere for the other tests.
prefix_parent=$CONVTGEN_WORK
rm -rf "$prefix_parent/prefix" "$prefix_parent/component" "$prefix_parent/moved"
. "$(dirname "$0")/common.sh"
installed=$prefix_parent/prefix

export DESTDIR=
quietly cmake --install "$CONVTGEN_BUILD" --prefix "$prefix_parent/component" --component runtime
expect "the component runtime" "LICENSE libconvtgen.so.0.2 libconvtgen.so.VERSION" \
  "$(find "$prefix_parent/component" ! -type d -printf '%f\n' | sed -E 's/[0-9]+\.[0-9]+\.[0-9]+$/VERSION/' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"

quietly cmake --install "$CONVTGEN_BUILD" --prefix "$installed"
# (Which configuration and which folder for libraries are the build's choice.)
(cd "$installed" && find . ! -type d | sed -E 's|^\./||; s|^lib(64)?(/[a-z0-9_]+-linux-gnu)?/|lib/|; s/-[a-z]+\.cmake$/-CONFIGURATION.cmake/' | LC_ALL=C sort) >list
sed '/^#/d' "$source/tests/package/installed.txt" | diff -u - list || fail "what is installed is not what tests/package/installed.txt says"
cp -a "$installed" "$prefix"
mv "$installed" "$installed.away"  # nothing may look there
trap 'mv "$installed.away" "$installed"' EXIT

"$convtgen" --version
bash -n "$prefix/share/bash-completion/completions/convtgen"
grep -rIl "$prefix_parent\|$source" "$prefix" && fail "files of the package name folders of this machine"

# pkg-config, shared and static.
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name convtgen.pc)")
libraries=$(dirname "$PKG_CONFIG_PATH")
cp "$source"/examples/api/one_layer.c "$source"/examples/api/arrays.h .
expect "the version" "$("$convtgen" --version)" "convtgen $(pkg-config --modversion convtgen)"
quietly $CC -std=c99 one_layer.c -o shared $(pkg-config --cflags --libs convtgen) -lm -ldl
LD_LIBRARY_PATH=$libraries quietly ./shared host
quietly $CC -std=c99 one_layer.c -o static $(pkg-config --cflags convtgen) "$libraries/libconvtgen.a" $(pkg-config --static --libs convtgen | sed 's/-lconvtgen//')
quietly ./static host

# find_package: versions, components, and a prefix without the program.
version=$("$convtgen" --version | cut -d' ' -f2)
mkdir package
printf 'cmake_minimum_required(VERSION 3.22)\nproject(package NONE)\nfind_package(convtgen ${WANTED} REQUIRED)\n' >package/CMakeLists.txt
found() { cmake -S package -B found -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$1" >log 2>&1; }
found "$version" && found "${version%.*}" || fail "$(cat log)"
found 99.0 && fail "99.0 is there"
found "0.0.1" && fail "another minor version will do"
found "COMPONENTS;cli;shared" || fail "$(cat log)"
found "COMPONENTS;nonsense" && fail "a component that is not there is found"
mv "$convtgen" away
found "$version" || fail "without the program: $(cat log)"
found "COMPONENTS;cli" && fail "the program is gone, but found"
echo 'convtgen_add_kernels(kernels LAYERS a.convt)' >>package/CMakeLists.txt
sed -i 's/NONE/C/' package/CMakeLists.txt
found "$version" && fail "kernels without the program"
says "there is no target convtgen::cli"
mv away "$convtgen"
