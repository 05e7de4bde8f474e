#!/usr/bin/env bash
# A manager on this machine that stays, with the quickstart's fleet, until Ctrl-C.
# Everything is in one folder, and running it again goes on from there.
#
#   dev.sh run BIN DIR      BIN holds forgeyard-fleet, its agent and its plugins
#   dev.sh clean BIN DIR    removes the fleets in order, then the folder
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$2" && pwd)
mkdir -p "$3"
dir=$(cd "$3" && pwd)
fleet=$bin/forgeyard-fleet

os=linux
[ "$(uname -s)" != Darwin ] || os=darwin
arch=x86_64
case $(uname -m) in
  aarch64 | arm64) arch=arm64 ;;
esac

# Another terminal reads this file and means the same installation.
cat >"$dir/env" <<TEXT
export FLEET_STATE_DIR="$dir/state" FLEET_PLUGIN_DIR="$dir/plugins"
export FLEET_VAR_root="$dir/hosts" FLEET_VAR_os=$os FLEET_VAR_arch=$arch
export PATH="$bin:\$PATH"
TEXT
. "$dir/env"

clean() {
  if [ -e "$dir/state/fleet.db" ]; then
    if "$fleet" status | grep -q '^Manager: '; then
      echo "A manager runs there; stop it first." >&2
      exit 1
    fi
    # A file without fleets, and --prune takes away what it doesn't mention.
    mkdir -p "$dir/nothing"
    sed -n '/^forgeyard/,/^}/p' "$here/../quickstart/1-start/fleet.hcl" >"$dir/nothing/fleet.hcl"
    "$fleet" plugin install --from "$bin" "$dir/nothing"
    env -u FLEET_VAR_root -u FLEET_VAR_os -u FLEET_VAR_arch \
      "$fleet" apply --auto-approve --prune "$dir/nothing"
  fi
  rm -rf "$dir"
  echo "Nothing is left."
}

manager=''
stopping=''
stop() {
  stopping=yes
  [ -z "$manager" ] || kill -INT "$manager" 2>/dev/null || true
}

# Waiting ends at each signal; the manager may need longer.
await() {
  while kill -0 "$manager" 2>/dev/null; do
    wait "$manager" || true
  done
  status=0
  wait "$manager" || status=$? # bash remembers how it ended
}

failed() {
  echo "The manager didn't start:" >&2
  cat "$dir/serve.log" >&2
  exit 1
}

run() {
  mkdir -p "$dir/fleet"
  [ -e "$dir/fleet/fleet.hcl" ] || cp "$here/../quickstart/1-start/fleet.hcl" "$dir/fleet/"
  "$fleet" plugin install --from "$bin" "$dir/fleet"
  : >"$dir/serve.log"
  trap stop INT TERM
  # In a process group of its own, Ctrl-C reaches it once: from here.
  set -m
  "$fleet" serve "$dir/fleet" >"$dir/serve.log" 2>&1 &
  manager=$!
  set +m
  until grep -q '^Serving' "$dir/serve.log"; do
    kill -0 "$manager" 2>/dev/null || failed
    sleep 0.1
  done
  applied=0
  "$fleet" apply --auto-approve "$dir/fleet" || applied=$?
  if [ $applied -ne 0 ]; then
    stop
  fi
  [ -n "$stopping" ] || cat <<TEXT

Ready. The manager runs until Ctrl-C; its log is $dir/serve.log

In another terminal:
  . $dir/env
  forgeyard-fleet status
  forgeyard-fleet instance list
  \${EDITOR:-vi} $dir/fleet/fleet.hcl      # set min = 3, say
  forgeyard-fleet apply $dir/fleet
TEXT
  await
  cat <<TEXT

The manager has stopped in order. Runners that were admitted keep running, and
nothing scales, renews or removes them meanwhile:
  make dev          goes on from here
  make dev-clean    removes them, each after its job, and the folder $dir
TEXT
  [ $status -eq 0 ] || cat "$dir/serve.log" >&2
  [ $status -ne 0 ] || status=$applied
  exit $status
}

"$1"
