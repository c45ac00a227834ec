#!/usr/bin/env bash
# TUNED: kernels of the build by a file of records, made again when it changes. HOST_ARCHITECTURE: whose kernels the host
# device runs.
. "$(dirname "$0")/common.sh"
need_nvrtc
export CONVTGEN_CACHE_DIR=$work/cache LD_LIBRARY_PATH=
mkdir project
cat >project/net.convt <<'END'
layer up { conv_transpose2d 8 -> 8; kernel 2; stride 2; input 1x6x5 }
layer other { conv_transpose2d 8 -> 8; kernel 3; input 1x6x5 }
END
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(tuned LANGUAGES C)
find_package(convtgen REQUIRED)
convtgen_add_kernels(net LAYERS net.convt ARCHITECTURES 80-real 90-real TUNED tuned.json HOST HOST_ARCHITECTURE 90)
END
# The records of the host device as those of a GPU; each in turn is the fastest.
"$convtgen" tune --device host:sm_90a project/net.convt --layer up --candidates 4 --export measured.json >log
record() { # record <place among the plans>
  python3 - "$1" <<'END'
import json, sys
records = json.load(open("measured.json"))["records"]
for record in records:
    record["chip"] = "A GPU"
    record["measured"] = [record["measured"][int(sys.argv[1])]]
json.dump({"records": records}, open("project/tuned.json", "w"))
END
}
symbol() { sed -nE 's/.*(convtgen_[a-z0-9_]+_forward_[0-9a-f]{16}).*/\1/p' "$1" | head -n 1; }
build() {
  touch since
  sleep 0.02
  quietly cmake --build build
}
# As the command line makes them: those of the architecture that has a record, and all others as without the file.
check() {
  local digest
  digest=$(sha256sum project/tuned.json | cut -d ' ' -f 1)
  quietly "$convtgen" emit project/net.convt --arch sm_80,sm_90a --tuned project/tuned.json -o emitted
  grep -q "in the file with sha256 $digest\.$" emitted/up_forward.sm_90a.cu || fail "the digest is not in the head"
  grep -L sha256 emitted/*.cu | wc -l | grep -qx 3 || fail "a kernel without a record names the file"
  grep -q "$(symbol emitted/up_forward.sm_90a.cu)" build/net_convtgen/net_up_forward.c || fail "launch code of another plan"
  grep -q "$(symbol emitted/up_forward.sm_90a.cu)" build/net_convtgen/net_up_forward_host.c ||
    strings build/net_convtgen/up_forward.host.so | grep -q "$(symbol emitted/up_forward.sm_90a.cu)" ||
    fail "the host device has the kernel of another architecture"
  grep -q "$(symbol emitted/up_forward.sm_80.cu)" build/net_convtgen/net_up_forward.c || fail "another kernel for sm_80"
}

record 1
configure project build
build
check
first=$(symbol emitted/up_forward.sm_90a.cu)
build
expect "nothing touched" "" "$(remade since build)"
record 2
build
[[ $(remade since build) == *up_forward.sm_90a.cubin* ]] || fail "the kernel is not made again when the file changes"
check
[[ $(symbol emitted/up_forward.sm_90a.cu) != "$first" ]] || fail "the file changes nothing"
