package agent

import (
	"encoding/json"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
)

// writeStateFile replaces a file of the state folder with all of its content or
// not at all, readable only by the agent's user.
func writeStateFile(path string, content []byte) error {
	return replacefile.Write(path, content, 0o600)
}

func writeStateJSON(path string, v any) error {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeStateFile(path, append(content, '\n'))
}
