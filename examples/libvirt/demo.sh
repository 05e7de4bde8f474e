#!/usr/bin/env bash
# The whole story with a real virtual machine: a daemon of libvirt that nothing else
# uses, a guest that boots, finds the manager, works, shuts itself down, and leaves
# nothing. It works in a folder of its own and takes everything away at the end.
#
#   demo.sh BIN            BIN holds the programs and the plugin "libvirt"
#   demo.sh BIN IMAGE      the same with a system of your own: a disk image for BIOS
#                          with cloud-init and systemd, such as Debian's genericcloud
#
# It needs root on Debian and installs what is missing. Without KVM the guest is
# emulated: an image takes minutes to boot then.
set -euo pipefail

bin=$(cd "$1" && pwd)
image=${2:+$(readlink -f "$2")}
patience=5m
[ -z "$image" ] || { [ -r "$image" ] || { echo "There is no image $2." >&2; exit 1; }; patience=20m; }
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "Run it as root: the daemon gets namespaces of its own." >&2; exit 1; }

missing=
for pair in libvirtd:libvirt-daemon-system virsh:libvirt-clients qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils busybox:busybox-static; do
  command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair#*:}"
done
if [ -n "$missing" ]; then
  echo "Installing$missing"
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/fydemo.XXXXXX") # short: sockets live below it
export FLEET_STATE_DIR="$work/state" FLEET_PLUGIN_DIR="$work/plugins" XDG_RUNTIME_DIR="$work/r" NO_COLOR=1
export FLEET_VAR_port=$((20000 + RANDOM % 10000)) FLEET_VAR_guest="$work/guest"
export FLEET_VAR_uri="qemu:///system?socket=$work/run/libvirt-sock"
lab='' manager=''

finish() {
  status=$?
  [ -z "$manager" ] || kill "$manager" 2>/dev/null || true
  [ -z "$lab" ] || kill "$lab" 2>/dev/null || true
  wait 2>/dev/null || true
  if [ $status -ne 0 ]; then
    echo
    echo "The demo failed. Its files are in $work; serve.log and log/daemon tell more."
    exit $status
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n── %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }
fleet() { printf '$ forgeyard-fleet %s\n' "$*"; quietly "$@"; }
quietly() { (cd "$work/fleet" && "$bin/forgeyard-fleet" "$@"); }
within() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ $SECONDS -lt $end ] || { echo "timed out waiting for $what"; exit 1; }
    sleep 0.5
  done
}

say "1. Start a daemon that sees its own configuration and state alone"
mkdir -p "$work/fleet"
"$here/daemon.sh" "$work" >"$work/daemon.said" &
lab=$!
virsh() { command virsh -q -c "$FLEET_VAR_uri" "$@"; }
answers() { grep -q ready "$work/daemon.said"; }
within 90 "the daemon" answers
if [ -n "$image" ]; then
  show qemu-img convert -O qcow2 "$image" "$work/pool/base.qcow2"
  show virsh pool-refresh default
else
  show virsh vol-create-as default base.qcow2 16M --format qcow2
  say "2. Make a guest that boots in seconds"
  show "$here/guest.sh" "$work/guest" "$bin/forgeyard-runner"
fi
export FLEET_VAR_emulation=auto
if [ -e /dev/kvm ]; then
  tried=0
  # In a shell of its own, whose message about how QEMU died isn't needed.
  (timeout 3 qemu-system-x86_64 -accel kvm -cpu host -machine q35 -nodefaults -display none; exit $?) >/dev/null 2>&1 || tried=$?
  [ $tried = 124 ] || { export FLEET_VAR_emulation=always; echo "/dev/kvm is there and doesn't work, so the guest is emulated."; }
fi

say "3. Apply the file: a machine is defined, boots, joins and is admitted"
# An image boots by itself, in its own time, is told by cloud-init what to do, and
# keeps jobs apart.
file() {
  if [ -n "$image" ]; then
    sed -e 's/bootstrap = "file"/bootstrap = "cloud-init"/' -e 's/"256MiB"/"1GiB"/' -e '/^    kernel  /d; /^    initrd  /d; /^    command_line /d' \
      -e '/^  # The tiny guest/,/^  }/c\  timeouts {\n    boot = "15m"\n  }' "$here/fleet.hcl"
  else
    cat "$here/fleet.hcl"
  fi
}
file >"$work/fleet/fleet.hcl"
fleet plugin install --from "$bin/plugins" --trust-key "$(cat "$bin/plugins.key.pub")"
fleet apply --auto-approve --wait "$patience"
fleet list
show virsh list --all
show virsh vol-list default

say "4. Let it work: the manager hands it its command, and counts its jobs"
(cd "$work/fleet" && exec "$bin/forgeyard-fleet" serve) >"$work/serve.log" 2>&1 &
manager=$!
worked() { quietly instance list --json 2>/dev/null | grep -q '"jobs_run": *[1-9]'; }
within 180 "the first job" worked
fleet status

say "5. Take the fleet away: drained, shut down by its power button, and gone"
file | sed '/^fleet "guests"/,/^}/d' >"$work/fleet/fleet.hcl"
printf '\nremoved {\n  from = fleet.guests\n}\n' >>"$work/fleet/fleet.hcl"
fleet apply --auto-approve --wait 5m

say "6. Nothing is left"
show virsh list --all
show virsh vol-list default
[ -z "$(virsh list --all --name | tr -d '[:space:]')" ]
[ "$(virsh vol-list default | grep -c .)" = 1 ]
kill "$manager"
wait "$manager" || true
manager=''

cat <<'TEXT'

Done: a virtual machine was made from an image and a seed, booted, enrolled, was
admitted, worked, was proven idle, shut itself down, and left neither domain nor
volume behind.

Try next:
  docs/plugins/libvirt.md    hosts of your own, with images that have cloud-init
TEXT
