#!/usr/bin/env bash
# A queue and a manager on this machine that stay, with the quickstart's fleet,
# until Ctrl-C. Everything is in one folder, and running it again continues from
# there.
#
#   dev.sh run BIN DIR      BIN holds the programs, and in plugins the published plugin "local"
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

[ -e "$dir/queue.token" ] || (umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$dir/queue.token")

queue='' manager='' stopping=''

# A process that ended and was not reaped yet is gone, too.
runs() { case $(ps -o stat= -p "$1" 2>/dev/null) in '' | Z*) return 1 ;; esac; }

# says waits until a process has written a text to its log.
says() {
  until grep -qs "$2" "$1"; do
    if ! runs "$3"; then
      echo "$4 didn't start:" >&2
      cat "$1" >&2
      end_queue
      exit 1
    fi
    sleep 0.1
  done
}

# The queue listens where it did the last time: the applied file and the workers
# that still run say so.
start_queue() {
  local at=127.0.0.1:0
  [ ! -e "$dir/queue.url" ] || at=$(sed 's,^http://,,' "$dir/queue.url")
  : >"$dir/queue.log"
  set -m # in process groups of their own, Ctrl-C reaches them once: from here
  FORGEYARD_QUEUE_TOKEN=$(cat "$dir/queue.token") "$bin/forgeyard-queue" serve --listen "$at" >"$dir/queue.log" 2>&1 &
  queue=$!
  set +m
  says "$dir/queue.log" 'listens at' "$queue" "The queue"
  sed -n 's/^.*listens at //p' "$dir/queue.log" >"$dir/queue.url"
  # Another terminal reads this file and means the same installation.
  cat >"$dir/env" <<TEXT
export FLEET_STATE_DIR="$dir/state" FLEET_PLUGIN_DIR="$dir/plugins"
export FLEET_VAR_root="$dir/hosts" FLEET_VAR_os=$os FLEET_VAR_arch=$arch
export FLEET_VAR_queue_url="$(cat "$dir/queue.url")" FORGEYARD_QUEUE_URL="$(cat "$dir/queue.url")"
FORGEYARD_QUEUE_TOKEN=\$(cat "$dir/queue.token")
export FORGEYARD_QUEUE_TOKEN PATH="$bin:\$PATH"
TEXT
  . "$dir/env"
}

end_queue() {
  [ -z "$queue" ] || kill -TERM "$queue" 2>/dev/null || true
  [ -z "$queue" ] || wait "$queue" 2>/dev/null || true
  queue=''
}

clean() {
  export FLEET_STATE_DIR="$dir/state" FLEET_PLUGIN_DIR="$dir/plugins"
  if [ -e "$dir/state/fleet.db" ]; then
    if "$fleet" status | grep -q '^Manager: '; then
      echo "A manager runs there; stop it first." >&2
      exit 1
    fi
    # The queue has forgotten its jobs, and says of the runners that are left that
    # nothing runs on them.
    start_queue
    trap end_queue EXIT
    # A file without fleets, and --prune takes away what it doesn't mention.
    mkdir -p "$dir/nothing"
    sed -n '/^forgeyard/,/^}/p' "$here/../quickstart/fleet.hcl" >"$dir/nothing/fleet.hcl"
    "$fleet" plugin update --from "$bin/plugins" --trust-key "$(cat "$bin/plugins.key.pub")" --dir "$dir/nothing"
    env -u FLEET_VAR_root -u FLEET_VAR_os -u FLEET_VAR_arch -u FLEET_VAR_queue_url \
      "$fleet" apply --auto-approve --prune "$dir/nothing"
    end_queue
  fi
  rm -rf "$dir"
  echo "Nothing is left."
}

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

run() {
  mkdir -p "$dir/fleet"
  [ -e "$dir/fleet/fleet.hcl" ] || cp "$here/../quickstart/fleet.hcl" "$dir/fleet/"
  start_queue
  trap end_queue EXIT
  "$fleet" plugin update --from "$bin/plugins" --trust-key "$(cat "$bin/plugins.key.pub")" --dir "$dir/fleet" # what was just built
  : >"$dir/serve.log"
  trap stop INT TERM
  set -m
  "$fleet" serve "$dir/fleet" >"$dir/serve.log" 2>&1 &
  manager=$!
  set +m
  says "$dir/serve.log" '^Serving' "$manager" "The manager"
  applied=0
  "$fleet" apply --auto-approve "$dir/fleet" || applied=$?
  if [ $applied -ne 0 ]; then
    stop
  fi
  [ -n "$stopping" ] || cat <<TEXT

Ready. Queue and manager run until Ctrl-C; their logs are in $dir

In another terminal:
  . $dir/env
  forgeyard-fleet events --follow                            # what happens, and why
  forgeyard-queue submit --count 6 --wait -- sleep 2         # the fleet grows, and shrinks again
  forgeyard-queue jobs
  forgeyard-fleet explain demo
  \${EDITOR:-vi} $dir/fleet/fleet.hcl      # set min = 1 and leave scale_to_zero out, say
  forgeyard-fleet apply $dir/fleet
TEXT
  await
  cat <<TEXT

The manager has stopped in order, and the queue has forgotten its jobs. Runners
that were admitted keep running, and nothing scales, renews or removes them
meanwhile:
  make dev          continues from here
  make dev-clean    removes them, and the folder $dir
TEXT
  [ $status -eq 0 ] || cat "$dir/serve.log" >&2
  [ $status -ne 0 ] || status=$applied
  exit $status
}

"$1"
