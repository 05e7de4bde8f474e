package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Running says whether an agent holds the lock file, and which process it is.
func Running(lockPath string) (pid string, running bool) {
	f, err := os.OpenFile(lockPath, os.O_RDWR, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if !errors.Is(lockFile(f), errHeld) {
		return "", false
	}
	content, _ := os.ReadFile(lockPath) // the pid is for people
	return strings.TrimSpace(string(content)), true
}

// Enrolled says as which runner the agent of a state folder enrolled with the
// token; false: it hasn't, or with another one.
func Enrolled(stateDir, token string) (runner string, ok bool) {
	content, err := os.ReadFile(filepath.Join(stateDir, "runner.json"))
	var record identityRecord
	if err != nil || json.Unmarshal(content, &record) != nil {
		return "", false
	}
	sum := sha256.Sum256([]byte(token))
	return record.RunnerID, record.RunnerID != "" && record.TokenSHA256 == hex.EncodeToString(sum[:])
}
