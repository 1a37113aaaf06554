#!/usr/bin/env bash
# Debian with nothing but the package: installed, started, an own metric asked, removed, purged, and
# nothing left. Needs root, debootstrap and dpkg-deb.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$root"

architecture=$(dpkg --print-architecture)
case $architecture in
    amd64) machine=x86_64-linux ;;
    arm64) machine=aarch64-linux ;;
    armhf) machine=armv7-linux ;;
    i386) machine=i686-linux ;;
esac
commit=$(git rev-parse HEAD)
tools/dist "$machine" >"$work/dist.log" 2>&1 || { tail -n 20 "$work/dist.log"; exit 1; }
package=$(ls dist/foliot_*_"$architecture".deb)
(cd dist && sha256sum -c --quiet SHA256SUMS)
size=$(stat -c %s "dist/$machine/foliot")
# What it is, and a little: docs/guides/install.md tells of what. Who makes it larger says why there.
[ "$size" -le 25165824 ] || { echo "the program has $size bytes, more than 24 MiB"; exit 1; }
! grep -qaF "$PWD" "dist/$machine/foliot" || { echo "the program names the folder it was built in"; exit 1; }

debian=$work/debian
mirror=$(apt-get indextargets --format '$(SITE)' | grep -m 1 '/debian/*$')
debootstrap --variant=minbase "$(. /etc/os-release; echo "$VERSION_CODENAME")" "$debian" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log"; exit 1; }
inside() { chroot "$debian" "$@"; }
# Everything but what dpkg and the keeper of users note about their own work.
files() { (cd "$debian" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \) -prune -o -print |
    grep -vE '^\./etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$' | sort); }
files >"$work/before"

cp "$package" "$debian/foliot.deb"
inside dpkg -i /foliot.deb >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }
rm "$debian/foliot.deb"
inside foliot version | grep -q "^commit    $commit$"
[ "$(inside stat -c '%U %a' /var/lib/foliot)" = "foliot 700" ]

# As the unit starts it, as its user.
start=$(sed -n 's/^ExecStart=//p' "$debian/lib/systemd/system/foliot.service")
port=$(free_port)
# shellcheck disable=SC2086
chroot --userspec=foliot:foliot "$debian" $start --listen "127.0.0.1:$port" >"$work/foliot.out" 2>&1 &
foliot_pid=$!
wait_for 20 "curl -sf http://127.0.0.1:$port/-/ready >/dev/null"
curl -sf "http://127.0.0.1:$port/write?db=default" --data-binary 'mine,room=attic value=42.5'
expect "$(curl -sg "http://127.0.0.1:$port/api/query?start=5m-ago&m=none:mine")" 42.5
kill "$foliot_pid"; wait "$foliot_pid" || true

inside dpkg -r foliot >/dev/null 2>&1
[ -d "$debian/var/lib/foliot/" ] || { echo "removing the package took the data"; exit 1; }
inside dpkg -P foliot >/dev/null 2>&1
! inside getent passwd foliot || { echo "the user is left"; exit 1; }
files >"$work/after"
diff "$work/before" "$work/after" || { echo "a purge leaves something"; exit 1; }
pass "Debian $(cat "$debian/etc/debian_version"), a package of $(du -h "$package" | cut -f1)"
