#!/usr/bin/env bash
# The files of a release on a bare Debian 12: packages.sh [RELEASE]. RELEASE is what cmake/release.sh has made; unless
# given, that makes it here, in a clean clone of what is committed. Each block of commands of docs/packages.md runs as
# it stands, in a chroot that has what the blocks need besides; after it the system has the same files as before.
# Needs root, git, debootstrap, PyPI and 10 GB; with two cores it takes about half an hour. Part of tests/run.sh --all.
set -euo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
if [[ $EUID -ne 0 ]] || ! command -v debootstrap >/dev/null; then
  echo "packages.sh: needs root and debootstrap" >&2
  exit 2
fi
release=${1:+$(cd "$1" && pwd)}
folder=$(mktemp -d -p /var/tmp)  # more than fits the memory, which /tmp may be
trap 'rm -rf --one-file-system "$folder"' EXIT
root=$folder/root

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

if [[ -z "$release" ]]; then
  echo "== what is not committed is no release"
  clone=$folder/clone release=$folder/release
  git clone --quiet --no-hardlinks "$project" "$clone"
  touch "$clone/new"
  "$clone/cmake/release.sh" "$release" 2>"$folder/said" && fail "a checkout with a new file is released"
  grep -q "not clean" "$folder/said" && [[ ! -e "$release" ]] || fail "$(cat "$folder/said")"
  rm "$clone/new"
  "$clone/cmake/release.sh" "$release"
  "$clone/cmake/release.sh" "$release" 2>"$folder/said" && fail "a folder with files is released to"
  grep -q "is not empty" "$folder/said" || fail "$(cat "$folder/said")"
fi

echo "== the bill of materials, and the sizes"
(cd "$release" && sha256sum --check --quiet SHA256SUMS)
names() { tar -tzf "$1" | sed 's|^[^/]*/||; /^$/d; /[/]$/d' | LC_ALL=C sort; }
names "$release"/convtgen-*.tar.gz | grep -v '^[.]ci/' >"$folder/archive"
names "$release"/python/convtgen-*.tar.gz | grep -vx PKG-INFO | diff "$folder/archive" - ||
  fail "pip's source distribution has not the files of the source archive"
python3 -m venv "$folder/spdx"
"$folder/spdx/bin/python" -m pip install --quiet --disable-pip-version-check spdx-tools pyyaml
"$folder/spdx/bin/pyspdxtools" --infile "$release"/convtgen-*.spdx.json
python3 "$project/tests/package/bill.py" "$release"
python3 "$project/tests/package/sizes.py" "$project/docs/packages.md" "$release"
"$folder/spdx/bin/python" -c 'import sys, yaml; yaml.safe_load(sys.stdin)' <"$project/cmake/packages/conda/recipe.yaml"

echo "== a bare Debian, and what the blocks need"
debootstrap --variant=minbase bookworm "$root" >"$folder/said" 2>&1 || fail "$(tail -n 5 "$folder/said")"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp -r "$release" "$root/root/release"
cp "$project/cmake/install_dependencies.sh" "$root/root"
python3 "$project/tests/package/blocks.py" "$project/docs/packages.md" "$root/root"

# In a name space of its own for mounts, so that these end with it.
ROOT=$root unshare --mount --pid --fork bash -euo pipefail -c '
  mount --bind /dev "$ROOT/dev"
  mount -t tmpfs shm "$ROOT/dev/shm"
  mount -t proc proc "$ROOT/proc"
  # Runs a command; what it prints is shown if it fails.
  inside() {
    chroot "$ROOT" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1 CONVTGEN_CACHE_DIR=/root/work/cache \
      PIP_CERT=/etc/ssl/certs/ca-certificates.crt bash -euo pipefail -c "$1" </dev/null >"$ROOT.log" 2>&1 ||
      { tail -n 60 "$ROOT.log"; exit 1; }
  }
  # What package managers write down about themselves is no trace.
  files() {
    local folder skipped=()
    for folder in proc dev root/work root/.cache var/cache var/log var/lib/apt var/lib/dpkg; do
      skipped+=(-path "./$folder" -prune -o)
    done
    (cd "$ROOT" && find . "${skipped[@]}" -print | LC_ALL=C sort)
  }
  inside "apt-get update && apt-get install -y --no-install-recommends g++ pkg-config python3-venv ca-certificates"
  cp /etc/ssl/certs/ca-certificates.crt "$ROOT/etc/ssl/certs"  # where a proxy has a certificate of its own
  for block in "$ROOT"/root/blocks/*.sh; do
    printf "\n== %s\n" "$(basename "$block" .sh)"
    began=$SECONDS
    # What packages of the distribution the packages need, they bring along themselves.
    [[ $block != *archive* ]] || inside "/root/install_dependencies.sh build"
    mkdir "$ROOT/root/work"
    files >"$ROOT.before"
    cp -r "$ROOT"/root/release/. "$ROOT"/root/blocks/*.py "$ROOT/root/work"
    inside "cd /root/work && set -x && . /root/blocks/$(basename "$block")"
    grep "^+" "$ROOT.log" | cut -c1-120
    rm -r "$ROOT/root/work"
    files >"$ROOT.after"
    diff "$ROOT.before" "$ROOT.after" || { echo "FAILED: these files are left or gone" >&2; exit 1; }
    printf "== %d:%02d\n" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
  done
'
printf '\nall packages passed, %d:%02d in all\n' $((SECONDS / 60)) $((SECONDS % 60))
