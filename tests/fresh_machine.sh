#!/usr/bin/env bash
# Does what the README says on a bare Debian 12, in a clean clone of what is committed: tests/fresh_machine.sh [FOLDER]
# FOLDER, which must not exist, is made by debootstrap, and removed unless a command fails. The commands of the README's
# chapter "Start" run as they stand; tests/run.sh is one of them, and has a test that runs the README's other snippets.
# Needs root, git, debootstrap and 15 GB. With two cores it takes about 20 minutes.
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-/var/tmp/convtgen-fresh-machine}
if [[ $EUID -ne 0 ]] || ! command -v debootstrap >/dev/null; then
  echo "tests/fresh_machine.sh: needs root and debootstrap" >&2
  exit 2
fi
mkdir "$folder"
commands=$(awk '/^## /{start = $2 == "Start"} /^```/{code = !code; next} start && code {sub(/ +#.*/, ""); print}' "$project/README.md")
[[ -n "$commands" ]] || { echo "tests/fresh_machine.sh: the README's chapter 'Start' has no commands" >&2; exit 1; }

echo "== a bare Debian"
debootstrap --variant=minbase bookworm "$folder" >"$folder.log" 2>&1 || { tail -5 "$folder.log"; exit 1; }
rm "$folder.log"
cp /etc/resolv.conf "$folder/etc/resolv.conf"
# Where a proxy has a certificate of its own, pip knows it by this file; the bare Debian has none.
certificates=/etc/ssl/certs/ca-certificates.crt
[[ ! -f $certificates ]] || cp "$certificates" "$folder/root/certificates.crt"
git clone --quiet --no-hardlinks "$project" "$folder/root/convtgen"

# In a name space of its own for mounts, so that these end with it.
FOLDER=$folder COMMANDS=$commands unshare --mount --pid --fork bash -euo pipefail -c '
  mount --rbind /dev "$FOLDER/dev"
  mount -t tmpfs shm "$FOLDER/dev/shm"
  mount -t proc proc "$FOLDER/proc"
  clean=(env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
  [[ ! -f "$FOLDER/root/certificates.crt" ]] || clean+=(PIP_CERT=/root/certificates.crt)
  while read -r command; do
    printf "\n== %s\n" "$command"
    began=$SECONDS
    chroot "$FOLDER" "${clean[@]}" bash -euo pipefail -c "cd /root/convtgen && $command" </dev/null
    printf "== %s: %d:%02d\n" "$command" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
  done <<<"$COMMANDS"
  chroot "$FOLDER" "${clean[@]}" /root/.local/bin/convtgen --version
'
rm -rf --one-file-system "$folder"
printf '\nall commands passed, %d:%02d in all\n' $((SECONDS / 60)) $((SECONDS % 60))
