module github.com/forgeyard/forgeyard-fleet/plugins/local

go 1.26.0

require github.com/forgeyard/forgeyard-fleet/plugin-sdk v0.0.0

replace github.com/forgeyard/forgeyard-fleet/plugin-sdk => ../../plugin-sdk
