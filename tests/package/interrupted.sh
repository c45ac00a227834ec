#!/usr/bin/env bash
# A build that is killed at any moment is repaired by the next: it ends with the bytes of one that was left alone.
# Make takes an object that a killed compiler has half written for a whole one; that is no matter of ours, so those go.
. "$(dirname "$0")/common.sh"
need_nvrtc
rounds=${CONVTGEN_TEST_ALL:+10} # with each generator
rounds=${rounds:-1}
cp -r "$source/tests/package/outside" project
sed -i '/^layer biased/,$d' project/small.convt  # seven layers

whole() { cmake -S project -B build -G "$generator" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build build -j 4; }
sums() { (cd build && find . \( -name '*.cubin' -o -name '*.ptx' -o -name '*.[ch]' -o -name '*.convt' -o -name libkernels.a \) -path '*kernels*' | LC_ALL=C sort | xargs sha256sum); }

export generator prefix
export -f whole
for generator in Ninja "Unix Makefiles"; do
  rm -rf build
  begin=$(date +%s%N)
  quietly whole
  milliseconds=$((($(date +%s%N) - begin) / 1000000))
  sums >"expected"
  for ((round = 1; round <= rounds; ++round)); do
    rm -rf build
    setsid bash -c whole >killed.log 2>&1 &
    group=$!
    pause=$((RANDOM % milliseconds))
    sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
    kill -9 -- "-$group" 2>/dev/null || true
    wait "$group" 2>/dev/null || true
    if [[ "$generator" == "Unix Makefiles" && -d build ]]; then
      find build -name '*.o' -delete
    fi
    quietly whole
    sums | diff -q - expected >/dev/null || fail "round $round with $generator, killed after $pause ms: other bytes than a build that was left alone"
    build/outside >/dev/null
    echo "$generator: killed after $pause of $milliseconds ms, repaired"
  done
done
