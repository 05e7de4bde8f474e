#!/usr/bin/env bash
# The whole story on this machine: two runners come, a third follows, all leave.
# It works in a folder of its own and takes everything away at the end.
#
#   quickstart.sh BIN     BIN holds forgeyard-fleet, its agent and its plugins
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/forgeyard-quickstart.XXXXXX")
export FLEET_STATE_DIR="$work/state" FLEET_PLUGIN_DIR="$work/plugins" XDG_RUNTIME_DIR="$work/run"
export FLEET_VAR_root="$work/hosts" NO_COLOR=1
[ "$(uname -s)" != Darwin ] || export FLEET_VAR_os=darwin
case $(uname -m) in
  aarch64 | arm64) export FLEET_VAR_arch=arm64 ;;
esac

# A process that ended and was not reaped yet is gone, too.
runs() { case $(ps -o stat= -p "$1" 2>/dev/null) in '' | Z*) return 1 ;; esac; }

# Agents hold their lock file for life and write their process id into it.
agents() {
  local lock pid
  for lock in "$work"/hosts/*/lock; do
    [ -e "$lock" ] || continue
    pid=$(tr -dc 0-9 <"$lock")
    if [ -n "$pid" ] && runs "$pid"; then echo "$pid"; fi
  done
}

finish() {
  status=$?
  left=$(agents)
  [ -z "$left" ] || kill $left 2>/dev/null || true
  if [ $status -ne 0 ]; then
    echo
    echo "The quickstart failed. Its files are in $work."
    exit $status
  fi
  rm -rf "$work"
}
trap finish EXIT

say() { printf '\n── %s\n' "$*"; }
fleet() { printf '$ forgeyard-fleet %s\n' "$*"; (cd "$work/fleet" && "$bin/forgeyard-fleet" "$@"); }

mkdir -p "$work/fleet"
cp "$here/1-start/fleet.hcl" "$work/fleet/"

say "1. Install the plugin that the fleet file requires, and lock it"
fleet plugin install --from "$bin"

say "2. See what would happen"
fleet plan

say "3. Make it so: two runners on this machine, each enrolled and admitted"
fleet apply --auto-approve
fleet status

say "4. Apply again: nothing to do"
fleet plan --detailed-exitcode
fleet apply

say "5. Change the file: min = 3"
cp "$here/2-change/fleet.hcl" "$work/fleet/"
fleet apply --auto-approve
fleet instance list
pids=$(agents)
[ "$(echo "$pids" | wc -w)" -eq 3 ] || { echo "three agents should run, these do: $pids"; exit 1; }

say "6. Remove the fleet: every runner leaves after its job"
cp "$here/3-remove/fleet.hcl" "$work/fleet/"
fleet apply --auto-approve
fleet list

say "7. Nothing is left"
for pid in $pids; do
  if runs "$pid"; then
    echo "agent $pid still runs"
    exit 1
  fi
done
[ -z "$(agents)" ]
echo "The agents ($(echo $pids)) have ended, and their folders are gone."

cat <<'TEXT'

Done: two runners came, were admitted and worked; a third followed a change of
the file; all left after their jobs, and nothing is left behind.

Try next, in a folder of your own, with the built programs on your PATH:
  forgeyard-fleet init my-fleet
  forgeyard-fleet plugin install --from BIN my-fleet
  forgeyard-fleet apply my-fleet
  forgeyard-fleet status --dir my-fleet
TEXT
