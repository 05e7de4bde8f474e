package agentserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
)

// AgentBinaries finds the agents that this manager offers, by target ("linux-amd64"):
// forgeyard-runner-TARGET in the folder, or forgeyard-runner beside it for the
// manager's own platform; with .exe for Windows.
type AgentBinaries struct {
	folder string
	mu     sync.Mutex
	hashes map[string]hashed // by path
}

// hashed is a digest and the file that it was computed from.
type hashed struct {
	sha256 string
	file   fs.FileInfo
}

var targetPattern = regexp.MustCompile(`^(linux|darwin|windows)-(amd64|arm64)$`)

// NoAgentError says that there is no agent for the target.
type NoAgentError struct {
	Target, Folder string
}

func (e *NoAgentError) Error() string {
	return fmt.Sprintf(
		"no agent binary for %s in %s: put forgeyard-runner-%s there, or set manager.agents",
		e.Target,
		e.Folder,
		e.Target,
	)
}

// NewAgentBinaries looks in the folder when it is asked, not before.
func NewAgentBinaries(folder string) *AgentBinaries {
	return &AgentBinaries{folder: folder, hashes: map[string]hashed{}}
}

// SHA256 is the hex digest of the target's agent. It is computed once and again
// when the file changes.
func (b *AgentBinaries) SHA256(target string) (string, error) {
	f, sum, err := b.Open(target)
	if err != nil {
		return "", err
	}
	return sum, f.Close()
}

// Open opens the target's agent and tells its digest.
func (b *AgentBinaries) Open(target string) (*os.File, string, error) {
	if !targetPattern.MatchString(target) {
		return nil, "", &NoAgentError{Target: "an unknown target", Folder: b.folder}
	}
	for _, name := range fileNames(target) {
		path := filepath.Join(b.folder, name)
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("open the agent for %s: %w", target, err)
		}
		sum, err := b.hash(path, f)
		if err != nil {
			return nil, "", errors.Join(fmt.Errorf("hash the agent %s: %w", path, err), f.Close())
		}
		return f, sum, nil
	}
	return nil, "", &NoAgentError{Target: target, Folder: b.folder}
}

func fileNames(target string) []string {
	names := []string{"forgeyard-runner-" + target}
	if target == runtime.GOOS+"-"+runtime.GOARCH {
		names = append(names, "forgeyard-runner")
	}
	if target == "windows-amd64" || target == "windows-arm64" {
		for i := range names {
			names[i] += ".exe"
		}
	}
	return names
}

// hash digests the open file, so that what is told and what is sent are the
// same bytes, and leaves it at its beginning.
func (b *AgentBinaries) hash(path string, f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	b.mu.Lock()
	known, ok := b.hashes[path]
	b.mu.Unlock()
	if ok && os.SameFile(known.file, info) && known.file.Size() == info.Size() &&
		known.file.ModTime().Equal(info.ModTime()) {
		return known.sha256, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	b.mu.Lock()
	b.hashes[path] = hashed{sum, info}
	b.mu.Unlock()
	return sum, nil
}
