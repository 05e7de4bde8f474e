// Package lockfile locks a file for the life of an agent's process, so that no second
// agent uses the same state folder or the same user for its jobs.
package lockfile
