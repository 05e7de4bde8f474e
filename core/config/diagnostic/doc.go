// Package diagnostic is what is wrong with fleet files: errors and warnings with file,
// line and column, the collector that gathers them, and their form for a terminal. It
// knows positions in texts and nothing of what stands there.
package diagnostic
