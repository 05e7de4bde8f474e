#!/usr/bin/env bash
# A private daemon of libvirt: it sees its own configuration and state
# where the machine's are, and has one pool, "default", with nothing in it. It says
# "ready" and stays until it gets TERM; everything that it started ends with it.
#
#   daemon.sh DIR     works in DIR, with the pool in DIR/pool and the socket at
#                     DIR/run/libvirt-sock. DIR has to be short: sockets live below it
#
# It needs root, since the daemon gets namespaces of its own.
set -euo pipefail

mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ "$(id -u)" = 0 ] || { echo "Run it as root: the daemon gets namespaces of its own." >&2; exit 1; }

mkdir -p "$dir"/{etc,lib,run,cache,log,pool} /run/libvirt
cat >"$dir/etc/qemu.conf" <<'CONF'
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
stdio_handler = "file"
cgroup_controllers = []
namespaces = []
CONF
printf 'auth_unix_ro = "none"\nauth_unix_rw = "none"\n' >"$dir/etc/libvirtd.conf"
# Its first process reaps what the daemon leaves to it, and ends everything with it.
# shellcheck disable=SC2016
unshare --mount --pid --fork --kill-child --mount-proc bash -c '
  for pair in etc:/etc/libvirt lib:/var/lib/libvirt run:/run/libvirt cache:/var/cache/libvirt log:/var/log/libvirt; do
    mount --bind "$1/${pair%%:*}" "${pair#*:}"
  done
  libvirtd --pid-file /run/libvirt/libvirtd.pid >>/var/log/libvirt/daemon 2>&1 &
  wait $!' lab "$dir" &
lab=$!
# unshare lets TERM pass by, and takes its whole namespace with it when it dies.
trap 'kill -KILL $lab 2>/dev/null || true; wait 2>/dev/null || true' EXIT
trap 'exit 0' TERM INT

virsh() { command virsh -q -c "qemu:///system?socket=$dir/run/libvirt-sock" "$@"; }
end=$((SECONDS + 60))
until virsh version >/dev/null 2>&1; do
  [ $SECONDS -lt $end ] || { echo "The daemon doesn't answer; $dir/log/daemon tells more." >&2; exit 1; }
  sleep 0.2
done
virsh pool-define-as default dir --target "$dir/pool" >/dev/null
virsh pool-start default >/dev/null
echo ready
wait "$lab"
