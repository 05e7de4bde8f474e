//go:build linux || darwin

package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// runnerSource gives the agent's binary: the configured one, or a download.
type runnerSource struct {
	configured string
	cache      string // folder of downloads, by hash; may be emptied at any time
	turn       chan struct{}
}

// downloadTime bounds one download of some 15 MiB.
const downloadTime = 5 * time.Minute

func newRunnerSource(configured, cache string) runnerSource {
	return runnerSource{configured: configured, cache: cache, turn: make(chan struct{}, 1)}
}

// path gives a binary that can be started. Of a whole batch one downloads, the
// others wait for their turn and find the file.
func (s runnerSource) path(ctx context.Context, document bootstrap.Document) (string, error) {
	if s.configured != "" {
		return s.configured, nil
	}
	if document.AgentURL == "" {
		return "", errors.New(
			`no agent to start: the manager offers none for this platform, and the block provider "local" sets no runner`)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	binary := filepath.Join(s.cache, "forgeyard-runner-"+document.AgentSHA256)
	if hasDigest(binary, document.AgentSHA256) {
		return binary, nil
	}
	if err := os.MkdirAll(s.cache, 0o700); err != nil {
		return "", fmt.Errorf("make the cache of agents: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	if err := bootstrap.Download(ctx, document, binary); err != nil {
		return "", err
	}
	return binary, nil
}

// hasDigest reads the file each time, since a cached file may have changed.
func hasDigest(path, want string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return false
	}
	return hex.EncodeToString(digest.Sum(nil)) == want
}
