#!/usr/bin/env bash
# Installs into an empty prefix, compares what is there with the list, and moves it elsewhere for the other tests.
prefix_parent=$CONVTGEN_WORK
rm -rf "$prefix_parent/prefix" "$prefix_parent/moved"
. "$(dirname "$0")/common.sh"
installed=$prefix_parent/prefix

DESTDIR='' quietly cmake --install "$CONVTGEN_BUILD" --prefix "$installed"
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
