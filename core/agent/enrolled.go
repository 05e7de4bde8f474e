package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

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
