//go:build !linux && !darwin

// Command forgeyard-plugin-local runs agents as processes on this machine, which
// needs sessions and file locks as linux and darwin have them.
package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "The provider \"local\" runs on linux and darwin, not on %s.\n", runtime.GOOS)
	os.Exit(1)
}
