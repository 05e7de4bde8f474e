package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// document is the part of a bootstrap document that the agent needs.
type document struct {
	ManagerURL    string `json:"manager_url"`
	ServerName    string `json:"server_name"`
	CAFingerprint string `json:"ca_fingerprint"`
	Token         string `json:"token"`
}

// readBootstrap reads the document. Its errors never quote it: it holds the
// token.
func readBootstrap(path string) (document, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return document{}, fmt.Errorf("read the bootstrap document: %w", err)
	}
	var d document
	if err := json.Unmarshal(content, &d); err != nil {
		return document{}, fmt.Errorf("bootstrap document %s is not valid JSON", path)
	}
	if d.ManagerURL == "" || d.ServerName == "" || d.CAFingerprint == "" || d.Token == "" {
		return document{}, errors.New("the bootstrap document lacks manager_url, server_name, ca_fingerprint or token")
	}
	return d, nil
}
