#!/usr/bin/env bash
# Makes a guest that boots in seconds, also in software: Debian's cloud kernel, and
# an initial file system of busybox with the agent in it. It reads the first-boot
# document from its seed, runs the agent, and goes off when its power button is
# pressed. It is for trying things out and for the tests; it has no users, no
# services and no disk of its own.
#
#   guest.sh DIR AGENT     writes DIR/vmlinuz and DIR/initrd with the program AGENT
#
# The kernel is downloaded and unpacked, not installed, and kept in DIR/kernel.
set -euo pipefail

dir=$(mkdir -p "$1" && cd "$1" && pwd)
agent=$(readlink -f "$2")
busybox=$(command -v busybox) || { echo "busybox is missing (Debian: apt-get install busybox-static)" >&2; exit 1; }
modules="virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net virtio_blk cdrom isofs button evdev"

if [ ! -e "$dir/kernel/complete" ]; then
  rm -rf "$dir/kernel"
  mkdir -p "$dir/kernel"
  package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
  [ -n "$package" ] || { echo "apt knows no linux-image-cloud-amd64; run apt-get update" >&2; exit 1; }
  (cd "$dir/kernel" && apt-get -qq -o APT::Sandbox::User=root download "$package")
  dpkg -x "$dir"/kernel/"$package"_*.deb "$dir/kernel"
  rm "$dir"/kernel/"$package"_*.deb
  touch "$dir/kernel/complete"
fi

root=$(mktemp -d "$dir/.root.XXXXXX")
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,etc,lib,proc,run,seed,sys,tmp,root,opt}
cp "$busybox" "$root/bin/busybox"
cp "$agent" "$root/bin/forgeyard-runner"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
for module in $modules; do
  found=$(find "$dir/kernel/lib/modules" -name "$module.ko*" | head -n 1)
  [ -n "$found" ] || { echo "the kernel has no module $module" >&2; exit 1; }
  cp "$found" "$root/lib/"
done
cat >"$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
for module in $modules; do insmod /lib/\$module.ko; done
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
for disk in /dev/vd?; do
  mount -t iso9660 -o ro \$disk /seed 2>/dev/null && [ -e /seed/bootstrap.json ] && break
done
INIT
cat >>"$root/init" <<'INIT'
mkdir -p /opt/agent
cp /seed/bootstrap.json /opt/agent/bootstrap.json
umount /seed
chmod 600 /opt/agent/bootstrap.json
forgeyard-runner --bootstrap /opt/agent/bootstrap.json --state /opt/agent/state &
agent=$!
for events in /dev/input/event*; do
  (head -c 1 "$events" >/dev/null; echo off >/tmp/pressed) &
done
echo "guest is up"
until [ -e /tmp/pressed ]; do sleep 1; done
kill $agent 2>/dev/null
sync
poweroff -f
INIT
chmod 755 "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$dir/.initrd.new"
cp "$dir"/kernel/boot/vmlinuz-* "$dir/vmlinuz"
mv "$dir/.initrd.new" "$dir/initrd"
