#!/usr/bin/env bash
# Removes by the manifest what install.sh installed: nothing is left, neither files nor folders.
. "$(dirname "$0")/common.sh"
installed=$CONVTGEN_WORK/prefix
[[ -e "$installed/bin/convtgen" ]] || fail "there is nothing to remove"
quietly cmake --build "$CONVTGEN_BUILD" --target uninstall
expect "what is left" "" "$(find "$installed" "$CONVTGEN_WORK/component" -mindepth 1)"
cmake --build "$CONVTGEN_BUILD" --target uninstall >log 2>&1 && fail "removing twice is no error"
says "nothing was installed"
