// Package bootstrap is the first-boot document: what a new host needs to find
// its manager, to know that it is the right one, and to fetch the agent.
//
// A provider plugin renders the document for its kind of image; the agent reads
// it from a file on the host. So that the agent stays small, this package
// imports only the standard library, which a test checks. It never enrolls.
package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
)

// Document is what the first boot of a host must do (spec §54). It carries the
// enrollment token and is secret as a whole; printing or logging it shows the
// token's presence and nothing of it.
type Document struct {
	// Kind is how the image wants the document: one of Kinds. It matters to
	// Render only; the reader of the document has no use for it.
	Kind string `json:"kind,omitempty"`
	// ManagerURL is the enrollment endpoint as this host reaches it.
	ManagerURL string `json:"manager_url"`
	// ServerName is what the manager's certificate is for, whatever the URL.
	ServerName string `json:"server_name"`
	// CAFingerprint is "sha256:" and the hex digest of the CA certificate's DER.
	CAFingerprint string `json:"ca_fingerprint"`
	// Token is the single-use enrollment token.
	Token string `json:"token"`
	// AgentURL and AgentSHA256 say where the agent is and what it must hash to
	// (64 hex digits). Both are empty where the image has the agent baked in.
	AgentURL    string `json:"agent_url,omitempty"`
	AgentSHA256 string `json:"agent_sha256,omitempty"`
}

// maxDocumentBytes is far above any real document.
const maxDocumentBytes = 64 << 10

var (
	fingerprintPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	digestPattern      = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Parse reads a document and refuses what it doesn't know, since a field that
// is silently dropped would go unnoticed on a host without a console.
func Parse(content []byte) (Document, error) {
	var document Document
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		return Document{}, fmt.Errorf("bootstrap document is not a valid JSON object of its kind: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Document{}, errors.New("bootstrap document has something after its end")
	}
	if err := document.Check(); err != nil {
		return Document{}, err
	}
	return document, nil
}

// Read parses the document in a file.
func Read(path string) (Document, error) {
	file, err := os.Open(path)
	if err != nil {
		return Document{}, fmt.Errorf("read the bootstrap document: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxDocumentBytes+1))
	if err != nil {
		return Document{}, fmt.Errorf("read the bootstrap document %s: %w", path, err)
	}
	if len(content) > maxDocumentBytes {
		return Document{}, fmt.Errorf("bootstrap document %s is larger than %d bytes", path, maxDocumentBytes)
	}
	document, err := Parse(content)
	if err != nil {
		return Document{}, fmt.Errorf("%s: %w", path, err)
	}
	return document, nil
}

// Write stores the document as JSON, whatever its kind, for its owner's eyes
// only (mode 0600). The file is complete and on disk, or it isn't there.
func (d Document) Write(path string) error {
	content, err := d.encode()
	if err != nil {
		return err
	}
	if err := replaceFile(path, bytes.NewReader(content), 0o600); err != nil {
		return fmt.Errorf("write the bootstrap document: %w", err)
	}
	return nil
}

// Check says what is missing or malformed, all of it at once.
func (d Document) Check() error {
	var problems []error
	complain := func(ok bool, format string, arguments ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("bootstrap document: "+format, arguments...))
		}
	}
	complain(isHTTPS(d.ManagerURL), "manager_url %q is not an https URL", d.ManagerURL)
	complain(d.ServerName != "", "server_name is missing")
	complain(fingerprintPattern.MatchString(d.CAFingerprint),
		`ca_fingerprint %q is not "sha256:" and 64 hex digits in lower case`, d.CAFingerprint)
	complain(d.Token != "", "token is missing")
	complain((d.AgentURL == "") == (d.AgentSHA256 == ""), "agent_url and agent_sha256 go together, one is missing")
	if d.AgentURL != "" && d.AgentSHA256 != "" {
		complain(isHTTPS(d.AgentURL), "agent_url %q is not an https URL", d.AgentURL)
		complain(digestPattern.MatchString(d.AgentSHA256), "agent_sha256 %q is not 64 hex digits in lower case",
			d.AgentSHA256)
	}
	return errors.Join(problems...)
}

// encode gives the same bytes for the same document.
func (d Document) encode() ([]byte, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the bootstrap document: %w", err)
	}
	return append(content, '\n'), nil
}

// String keeps the token out of every print.
func (d Document) String() string {
	return fmt.Sprintf("bootstrap %s from %s (token redacted)", d.Kind, d.ManagerURL)
}

// GoString does the same for %#v.
func (d Document) GoString() string { return d.String() }

// LogValue does the same for slog.
func (d Document) LogValue() slog.Value { return slog.StringValue(d.String()) }

func isHTTPS(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && parsed.Scheme == "https" && parsed.Host != ""
}

// replaceFile writes beside the target, syncs and renames, so that a reader or
// a crash never sees half a file.
func replaceFile(path string, content io.Reader, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-"+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = io.Copy(temporary, content)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if err == nil {
		err = temporary.Sync()
	}
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return syncDirectory(filepath.Dir(path))
}
