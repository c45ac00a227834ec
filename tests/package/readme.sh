#!/usr/bin/env bash
# Runs every snippet of the README, against the installed package.
. "$(dirname "$0")/common.sh"
need_nvrtc
export LD_LIBRARY_PATH PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name convtgen.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export PATH="$prefix/bin:$PATH" CONVTGEN_CACHE_DIR="$work/cache"
python3 "$source/tests/package/readme.py" "$source"
