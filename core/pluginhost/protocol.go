package pluginhost

import "github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"

// Protocol is the major version of the plugin contract that this host speaks.
const Protocol = providerpb.ProtocolVersion
