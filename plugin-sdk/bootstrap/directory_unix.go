//go:build !windows

package bootstrap

import (
	"errors"
	"os"
)

// syncDirectory makes a rename in the directory survive a power cut.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
