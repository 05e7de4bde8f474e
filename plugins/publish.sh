#!/usr/bin/env bash
# Publishes the built plugins of a folder into an OCI layout beside them, as a
# release goes into a registry: signed, under the names that fleet files give as
# their source. The key is made once and is this folder's own.
#
#   publish.sh BIN     makes BIN/plugins, BIN/plugins.key and BIN/plugins.key.pub
set -euo pipefail

bin=$(cd "$1" && pwd)
fleet=$bin/forgeyard-fleet
export FLEET_PLUGIN_DIR="$bin/.plugin-store" # to ask each plugin what it is
export FLEET_CONFIG=/dev/null

[ -e "$bin/plugins.key" ] || "$fleet" plugin keygen "$bin/plugins.key" >/dev/null
rm -rf "$bin/plugins"
for plugin in local manual libvirt aws; do
  [ -e "$bin/forgeyard-plugin-$plugin" ] || continue # not everybody builds them all
  "$fleet" plugin publish "ghcr.io/forgeyard/fleet-$plugin" "$bin/forgeyard-plugin-$plugin" \
    --key "$bin/plugins.key" --to "$bin/plugins"
done
