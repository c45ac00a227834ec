#!/usr/bin/env bash
# The same bytes from two folders, users, locales, times, generators and numbers of jobs, from the store and compiled anew, and from
# the command line.
. "$(dirname "$0")/common.sh"
need_nvrtc
mkdir -p "here" "and there/deeper"
cp -r "$source/tests/package/outside" "here/project"
sed -i '/^layer biased/,$d' here/project/small.convt
cp -r "here/project" "and there/deeper/other"

sums() { (cd "$1/kernels_convtgen" && find . -maxdepth 1 -type f ! -name checked ! -name shared.made | LC_ALL=C sort | xargs sha256sum && cd .. && sha256sum libkernels.a); }

configure here/project here/build -G Ninja
quietly cmake --build here/build -j 1
sums here/build >one

as=()
if [[ $(id -u) == 0 ]] && command -v setpriv >/dev/null && setpriv --reuid=nobody --regid=nogroup --clear-groups test -r "$prefix/bin/convtgen" -a -r "$work/one" 2>/dev/null; then
  as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
mkdir -m 777 "and there/home"
chmod -R a+rwX "and there"
(
  export LC_ALL=C.UTF-8 TZ=Pacific/Kiritimati HOME="$work/and there/home" SOURCE_DATE_EPOCH=1 CONVTGEN_CACHE_DIR="$work/and there/home/cache"
  umask 077
  log="and there/log"
  "${as[@]}" cmake -S "and there/deeper/other" -B "and there/build" -G "Unix Makefiles" -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 &&
    "${as[@]}" cmake --build "and there/build" -j 8 >>"$log" 2>&1 || { tail -40 "$log"; exit 1; }
) || fail "the second build"
sums "and there/build" >two
diff one two || fail "the two builds differ"

# A cross build has the program of the machine that builds. (The target is the same machine, which CMake doesn't know.)
configure here/project cross -DCMAKE_SYSTEM_NAME=Linux -DCONVTGEN_EXECUTABLE="$convtgen"
quietly cmake --build cross
sums cross | diff one - || fail "a cross build makes other bytes"

quietly "$convtgen" compile here/project/small.convt --arch sm_80,sm_90a,compute_80 -o cli
quietly "$convtgen" launcher here/project/small.convt --namespace net --header kernels.h --arch sm_80,sm_90a,compute_80 -o cli
(cd cli && find . -type f | LC_ALL=C sort | xargs sha256sum) >three
grep -v libkernels.a one | diff - three || fail "the command line makes other files than the build"
