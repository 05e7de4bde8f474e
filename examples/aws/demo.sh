#!/usr/bin/env bash
# The whole story without an account: a simulated one on this machine, in which a fleet
# gets machines on demand and on the spot market, finds a type sold out, lets their
# agents join by the document that their region signed, and is nothing again. It works
# in a folder of its own and takes everything away at the end.
#
#   demo.sh BIN     BIN holds the programs, ec2sim, and in plugins the published plugin "aws"
#
# It needs curl, by which it asks the account what it has.
set -euo pipefail

command -v curl >/dev/null || { echo "The demo asks the simulated account by curl, which isn't on the PATH: install it and run the demo again."; exit 1; }
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/fyaws.XXXXXX") # short: sockets live below it
export FLEET_STATE_DIR="$work/state" FLEET_PLUGIN_DIR="$work/plugins" XDG_RUNTIME_DIR="$work/r" NO_COLOR=1
export DEMO_BIN="$bin" DEMO_MACHINES="$work/machines"
# Any keys will do, and nothing of this machine's own is used.
unset "${!AWS_@}"
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=no-secret
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
account='' manager=''

finish() {
  status=$?
  [ -z "$manager" ] || { kill "$manager" 2>/dev/null && wait "$manager"; } || true
  # Its machines end with it.
  [ -z "$account" ] || { kill "$account" 2>/dev/null && wait "$account"; } || true
  if [ $status -ne 0 ]; then
    echo
    echo "The demo failed. Its files are in $work; serve.log and machines/*/agent.log tell more."
    exit $status
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n── %s\n' "$*"; }
fleet() { printf '$ forgeyard-fleet %s\n' "$*"; (cd "$work/fleet" && "$bin/forgeyard-fleet" "$@"); }
# beside is for the background: there the program takes the shell's place, so that
# its process id is that of $!.
beside() { cd "$work/fleet" && exec "$bin/forgeyard-fleet" "$@"; }
ask() { curl -fsS "$FLEET_VAR_endpoint/ec2sim/machines"; }
machines() { printf '$ curl %s/ec2sim/machines\n' "$FLEET_VAR_endpoint" && ask; }

mkdir -p "$work/fleet" "$DEMO_MACHINES"
cp "$here/fleet.hcl" "$work/fleet/"

say "1. Serve a simulated account, in which the cheapest type is sold out in one zone"
sold_out=c7i.large,us-east-1a,on-demand=0
echo "\$ ec2sim -boot machine.sh -capacity $sold_out"
"$bin/ec2sim" -boot "$here/machine.sh" -certificate "$work/certificate.pem" -running 1s -terminating 1s \
  -capacity "$sold_out" >"$work/url" 2>"$work/account.log" &
account=$!
end=$((SECONDS + 60))
until [ -s "$work/url" ]; do
  kill -0 "$account" 2>/dev/null && [ $SECONDS -lt $end ] || { cat "$work/account.log"; exit 1; }
  sleep 0.1
done
FLEET_VAR_endpoint=$(cat "$work/url")
FLEET_VAR_certificate=$(cat "$work/certificate.pem")
export FLEET_VAR_endpoint FLEET_VAR_certificate
echo "It answers at $FLEET_VAR_endpoint"

say "2. Install the plugin, and look at what would be made; of what, and for how much, comes with the manager"
fleet plugin install --from "$bin/plugins" --trust-key "$(cat "$bin/plugins.key.pub")"
fleet plan

say "3. Start the manager"
echo '$ forgeyard-fleet serve'
beside serve >"$work/serve.log" 2>&1 &
manager=$!
end=$((SECONDS + 60))
until grep -s '^Serving' "$work/serve.log"; do
  kill -0 "$manager" 2>/dev/null && [ $SECONDS -lt $end ] || { cat "$work/serve.log"; exit 1; }
  sleep 0.1
done

say "4. Make it so: each machine is one call, boots, shows which instance it is, and is admitted"
fleet apply --auto-approve --wait 2m
fleet list

say "5. Of what the next would be, for how much, and where there is no room"
fleet explain stable
echo
echo "What happened, with the type that was sold out and the one that was taken instead"
fleet events --fleet stable
machines
[ "$(ask | grep -o '"state":"running"' | wc -l)" = 2 ]

say "6. Take the fleets away: drained, ended, and gone with their volumes and interfaces"
sed '/^# Machines that aren.t interrupted/,$d' "$here/fleet.hcl" >"$work/fleet/fleet.hcl"
printf 'removed {\n  from = fleet.stable\n}\n\nremoved {\n  from = fleet.spot\n}\n' >>"$work/fleet/fleet.hcl"
fleet apply --auto-approve --wait 2m

say "7. Nothing is left; what has ended EC2 shows for an hour"
machines
if ask | grep -q -e '"running"' -e '"pending"'; then exit 1; fi
kill "$manager"
wait "$manager"
manager=''

cat <<'TEXT'

Done: two machines were made in a simulated account, one of them after another offer
had no room; each showed a document that its region had signed before it was taken,
worked, was proven idle, and left nothing behind.

Try next:
  docs/plugins/aws.md    an account of your own, and what the role needs
TEXT
