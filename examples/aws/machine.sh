#!/bin/sh
# Plays a machine of the simulated account, as an image with the agent in it does: its
# user data is the first-boot document, and the agent runs until the power goes.
#
# It needs DEMO_BIN, the folder with the agent, and DEMO_MACHINES, a folder for disks.
umask 077
disk=$DEMO_MACHINES/$EC2SIM_INSTANCE
mkdir -p "$disk"
cat >"$disk/bootstrap.json"
export FORGEYARD_RUNNER_METADATA="aws $EC2SIM_METADATA"
exec "$DEMO_BIN/forgeyard-runner" --bootstrap "$disk/bootstrap.json" --state "$disk/state" >>"$disk/agent.log" 2>&1
