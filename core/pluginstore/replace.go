package pluginstore

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
)

// ReplaceFile writes content under a temporary name in tmp, which must be on
// the same file system, and gives it its name when it is on disk.
func ReplaceFile(path, tmp string, content []byte, mode os.FileMode) error {
	file, err := os.CreateTemp(tmp, "."+filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone by then when all went well
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	failpoint.ReplacementUnnamed.Hit()
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	failpoint.ReplacementNamed.Hit()
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename survive a power cut. Windows has no such call.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
