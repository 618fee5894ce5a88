#!/bin/sh
# Prove the two commands on a machine that has nothing of ours: a bare Debian chroot with python3, python3-venv, make and git.
# Root and debootstrap are needed; the mirror is the one this machine's apt uses. Usage: cleanroom.sh [demo|test]…
set -eu

say() { printf '[cleanroom] %s\n' "$*"; }
root=$(cd "$(dirname "$0")/../.." && pwd)
room=${LUMIHOST_CLEANROOM:-/var/tmp/lumihost-cleanroom}
steps=${*:-demo test}

[ "$(id -u)" = 0 ] || { say "needs root (debootstrap, chroot)"; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null

mirror=$(grep -hE '^(deb |URIs:)' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v security |
  sed -E 's/^deb (\[[^]]*\] )?//; s/^URIs: *//' | awk '{print $1; exit}')
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

if [ ! -x "$room/usr/bin/make" ]; then
  say "debootstrap $suite into $room"
  rm -rf "$room"
  debootstrap --variant=minbase --include=python3,python3-venv,make,git,ca-certificates "$suite" "$room" "$mirror" >"$room.log" 2>&1 ||
    { tail -20 "$room.log"; exit 1; }
fi

# How this machine reaches its package indexes (names, certificates, client settings) goes along; nothing else does.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/npmrc /root/.npmrc /root/.config/pip/pip.conf; do
  if [ -e "$file" ]; then mkdir -p "$room$(dirname "$file")" && cp -L "$file" "$room$file"; fi
done
cp -rL /etc/ssl/certs/. "$room/etc/ssl/certs/" 2>/dev/null || true
cp -rL /etc/apt/. "$room/etc/apt/" 2>/dev/null || true
mountpoint -q "$room/proc" || mount -t proc proc "$room/proc"
mountpoint -q "$room/dev" || mount --rbind /dev "$room/dev"
trap 'umount -l "$room/proc" "$room/dev" 2>/dev/null || true' EXIT

chroot "$room" id builder >/dev/null 2>&1 || chroot "$room" useradd --create-home builder
rm -rf "$room/home/builder/lumihost" "$room/root/lumihost"
git clone -q "$root" "$room/home/builder/lumihost"
git clone -q "$root" "$room/root/lumihost"
if [ -e /root/.npmrc ]; then cp /root/.npmrc "$room/home/builder/.npmrc"; fi
chroot "$room" chown -R builder /home/builder

keep=$(env | grep -E '^(PIP_CERT|PIP_INDEX_URL|PIP_DEFAULT_TIMEOUT|NPM_|npm_config_|HTTPS?_PROXY|https?_proxy|NO_PROXY|no_proxy|SSL_CERT|REQUESTS_CA|NODE_EXTRA_CA)' | tr '\n' ' ' || true)
inside() {
  user=$1
  shift
  # shellcheck disable=SC2086
  chroot "$room" /usr/bin/env -i HOME="$([ "$user" = root ] && echo /root || echo /home/builder)" LANG=C.UTF-8 \
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin $keep su "$user" --preserve-environment --command "$*"
}

for step in $steps; do
  case $step in
    demo)
      say "make demo, as a user without root"
      start=$(date +%s)
      inside builder "cd ~/lumihost && make demo ARGS='--port 8931 --exit-when-live'"
      say "make demo from nothing: $(($(date +%s) - start)) s"
      start=$(date +%s)
      inside builder "cd ~/lumihost && make demo ARGS='--port 8931 --exit-when-live'"
      say "make demo again: $(($(date +%s) - start)) s"
      ;;
    test)
      say "make test, as root"
      start=$(date +%s)
      inside root "cd ~/lumihost && make test"
      say "make test from nothing: $(($(date +%s) - start)) s"
      ;;
    *) say "unknown step $step"; exit 2 ;;
  esac
done
