// Package metadatafake is a cloud's metadata service for tests of the agent.
package metadatafake
