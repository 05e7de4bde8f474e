package pluginstore

import (
	"bytes"
	"errors"
	"os"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
)

// ReplaceFile replaces the file by one with the content, which gets its name when it is
// on disk. Until then it lies in the folder tmp, which must be on the same file system.
func ReplaceFile(path, tmp string, content []byte, mode os.FileMode) error {
	staged, err := replacefile.Stage(path, tmp, bytes.NewReader(content), mode)
	if err != nil {
		return err
	}
	failpoint.ReplacementUnnamed.Hit()
	if err := staged.Replace(); err != nil {
		return errors.Join(err, staged.Discard())
	}
	failpoint.ReplacementNamed.Hit()
	return nil
}
