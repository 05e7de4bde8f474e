package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// Where the queue's token comes from where no flag says it.
const (
	tokenVariable = "FORGEYARD_QUEUE_TOKEN"
	urlVariable   = "FORGEYARD_QUEUE_URL"
	tokenFile     = "forgeyard-queue.token"
)

// findToken reads the token: from the file, else from the environment, else from
// the usual file in the current folder. made says that there was none and that it
// was made, where that is wanted.
func findToken(path string, makeIt bool) (token, from string, made bool, err error) {
	if path == "" {
		if token := os.Getenv(tokenVariable); token != "" {
			return token, tokenVariable, false, nil
		}
		path = tokenFile
	}
	token, err = readToken(path)
	if errors.Is(err, fs.ErrNotExist) && makeIt {
		token, err = makeToken(path)
		return token, path, true, err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", path, false, fmt.Errorf("no token found: give --token-file FILE or set %s (%w)", tokenVariable, err)
	}
	return token, path, false, err
}

func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the queue's token: %w", err)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf(
			"the token file %s can be read by other users (%s). Restrict it with:\n  chmod 600 %s",
			path,
			info.Mode().Perm(),
			path,
		)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the queue's token: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("the token file %s is empty", path)
	}
	return token, nil
}

func makeToken(path string) (string, error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	token := base64.RawURLEncoding.EncodeToString(random)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("create a token for the queue: %w", err)
	}
	_, err = file.WriteString(token + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("create a token for the queue: %w", err)
	}
	return token, nil
}
