module github.com/forgeyard/forgeyard-fleet/cmd

go 1.26.0

require (
	github.com/forgeyard/forgeyard-fleet/core v0.0.0
	github.com/forgeyard/forgeyard-fleet/plugin-sdk v0.0.0
)

replace (
	github.com/forgeyard/forgeyard-fleet/core => ../core
	github.com/forgeyard/forgeyard-fleet/plugin-sdk => ../plugin-sdk
)
