#!/usr/bin/env bash
# Libraries of kernels that a project installs for others, built in a folder whose name has a comma and a blank; and a project
# that finds them, when their build is gone.
. "$(dirname "$0")/common.sh"
need_nvrtc
mkdir "a, b"
cp -r "$source/tests/package/installable/library" "a, b/library"
configure "a, b/library" "a, b/build, too"
quietly cmake --build "a, b/build, too"
quietly cmake --install "a, b/build, too" --prefix "$work/installed"
rm -r "a, b"
expect "what is installed" "include/layers/hosted.h include/layers/plain.h lib/libhosted.a lib/libplain.a" \
  "$(cd installed && find . -type f ! -name '*.cmake' -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
grep -rIl "$work" installed && fail "what is installed names the build's folder"

cp -r "$source/tests/package/installable/consumer" consumer
quietly cmake -S consumer -B plain -DCMAKE_PREFIX_PATH="$work/installed"
quietly cmake --build plain
expect "the kernels" "up_forward: sm_80" "$(plain/list)"
quietly cmake -S consumer -B hosted -DCMAKE_PREFIX_PATH="$work/installed;$prefix" -DHOSTED=hosted
quietly cmake --build hosted
expect "what the kernel computes" "2 4 6 8" "$(hosted/run)"
