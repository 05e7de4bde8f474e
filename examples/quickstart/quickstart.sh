#!/usr/bin/env bash
# The whole story on this machine: a queue gets jobs, a fleet grows from nothing,
# runs them, and is nothing again. It works in a folder of its own and takes
# everything away at the end.
#
#   quickstart.sh BIN     BIN holds the programs, and in plugins the published plugin "local"
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/forgeyard-quickstart.XXXXXX")
export FLEET_STATE_DIR="$work/state" FLEET_PLUGIN_DIR="$work/plugins" XDG_RUNTIME_DIR="$work/run"
export FLEET_VAR_root="$work/hosts" NO_COLOR=1
FORGEYARD_QUEUE_TOKEN=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
export FORGEYARD_QUEUE_TOKEN # the queue's and the manager's
[ "$(uname -s)" != Darwin ] || export FLEET_VAR_os=darwin
case $(uname -m) in
  aarch64 | arm64) export FLEET_VAR_arch=arm64 ;;
esac

queue='' manager='' follower='' jobs=''

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
  for pid in $follower $jobs $manager $queue $(agents); do
    kill "$pid" 2>/dev/null || true
  done
  if [ $status -ne 0 ]; then
    echo
    echo "The quickstart failed. Its files are in $work; serve.log and queue.log tell more."
    exit $status
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n── %s\n' "$*"; }
fleet() { printf '$ forgeyard-fleet %s\n' "$*"; quietly "$@"; }
quietly() { (cd "$work/fleet" && "$bin/forgeyard-fleet" "$@"); }
# beside is for the background: there the program takes the shell's place, so that
# its process id is that of $!.
beside() { cd "$work/fleet" && exec "$bin/forgeyard-fleet" "$@"; }

# within SECONDS WHAT COMMAND… repeats a command until it succeeds.
within() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    if [ $SECONDS -ge $end ]; then
      echo "timed out waiting for $what"
      exit 1
    fi
    sleep 0.2
  done
}

# begun LOG TEXT PID: the process has said the text; one that ended never will.
begun() {
  grep -qs "$2" "$1" && return # the shell of the background may not have made it yet
  runs "$3" || { cat "$1"; exit 1; }
  return 1
}
no_instance() { [ "$(quietly instance list --json)" = '[]' ]; }
an_instance() { ! no_instance; }
ended() { ! runs "$1"; }

mkdir -p "$work/fleet"
cp "$here/fleet.hcl" "$work/fleet/"

say "1. Start a queue: it has the jobs, and says what they need"
echo '$ forgeyard-queue serve'
"$bin/forgeyard-queue" serve >"$work/queue.log" 2>&1 &
queue=$!
within 20 "the queue" begun "$work/queue.log" 'listens at' "$queue"
export FORGEYARD_QUEUE_URL
FORGEYARD_QUEUE_URL=$(sed -n 's/^.*listens at //p' "$work/queue.log")
export FLEET_VAR_queue_url=$FORGEYARD_QUEUE_URL
cat "$work/queue.log"

say "2. Install the plugin that the fleet file requires, and start the manager"
fleet plugin install --from "$bin/plugins" --trust-key "$(cat "$bin/plugins.key.pub")"
echo '$ forgeyard-fleet serve'
beside serve >"$work/serve.log" 2>&1 &
manager=$!
within 20 "the manager" begun "$work/serve.log" '^Serving' "$manager"
grep '^Serving' "$work/serve.log"

say "3. Apply the file: no job waits, so there is no host"
fleet apply --auto-approve
fleet list
no_instance

say "4. Submit 12 jobs"
submit=(submit --count 12 --wait --os "${FLEET_VAR_os:-linux}" --cpu 1 --memory 64MiB
  -- sh -c 'head -c 20000000 /dev/zero | cksum; sleep 1')
printf '$ forgeyard-queue %s '\''%s'\''\n' "${submit[*]:0:${#submit[@]}-1}" "${submit[-1]}"
"$bin/forgeyard-queue" "${submit[@]}" >"$work/jobs.log" 2>&1 &
jobs=$!
within 30 "the first host" an_instance
fleet explain demo

say "5. Every decision and every move with its reason, as they come"
echo '$ forgeyard-fleet events --follow --fleet demo'
beside events --follow --fleet demo &
follower=$!
within 120 "the end of the jobs" ended "$jobs"
status=0
wait "$jobs" || status=$?
jobs=''
within 120 "the end of the last host" no_instance
# What was the last to happen is told within a moment.
sleep 1
kill "$follower" 2>/dev/null && wait "$follower" || true
follower=''

say "6. All jobs were run, and nothing is left"
grep -v '^[0-9a-f]*$' "$work/jobs.log"
[ $status -eq 0 ]
fleet explain demo
[ -z "$(agents)" ]
kill "$manager"
within 60 "the manager's end" ended "$manager"
wait "$manager"
manager=''
kill "$queue"
within 20 "the queue's end" ended "$queue"
queue=''

cat <<TEXT

Done: a fleet of nothing grew, to its max of 4 hosts at most, for 12 jobs that
waited; each host was enrolled and admitted before it got one. When they had been
idle for 3s they left, each only after the queue and its agent had shown that no
job was on it.

Try next:
  make dev              the same, and it keeps running: submit jobs of your own
  docs/schedulers.md    how a fleet follows demand
or, in an empty directory, two runners of your own:
  export PATH="$bin:\$PATH"
  forgeyard-fleet init my-fleet
  forgeyard-fleet plugin install --dir my-fleet --from "$bin/plugins" --trust-key "\$(cat "$bin/plugins.key.pub")"
  forgeyard-fleet plan my-fleet
  forgeyard-fleet serve my-fleet >serve.log 2>&1 &
  until grep -q ^Serving serve.log; do sleep 1; done
  forgeyard-fleet apply --auto-approve my-fleet
  forgeyard-fleet status --dir my-fleet
TEXT
