package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxAgentBytes bounds a download that never ends; the agent is under 15 MiB.
const maxAgentBytes = 256 << 20

// Download fetches the agent from the document's AgentURL, over TLS that trusts
// only the pinned CA, into an executable file at destination. A file that
// isn't what AgentSHA256 says is never put there.
//
// The clock isn't checked: the digest is what makes the file good.
func Download(ctx context.Context, document Document, destination string) error {
	if err := document.Check(); err != nil {
		return err
	}
	if document.AgentURL == "" {
		return errors.New("download the agent: the bootstrap document names no agent_url")
	}
	if err := download(ctx, document, destination); err != nil {
		return fmt.Errorf("download the agent from %s: %w", document.AgentURL, err)
	}
	return nil
}

func download(ctx context.Context, document Document, destination string) error {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       TLSConfig(document, false),
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects, which a manager never does")
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, document.AgentURL, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", response.Status)
	}
	return replaceFile(destination, newHashedReader(response.Body, document.AgentSHA256), 0o755)
}

// hashedReader turns the end of its source into an error unless the content had
// the wanted digest.
type hashedReader struct {
	source io.Reader
	read   int64
	digest interface {
		io.Writer
		Sum([]byte) []byte
	}
	want string
}

func newHashedReader(source io.Reader, want string) *hashedReader {
	return &hashedReader{source: source, digest: sha256.New(), want: want}
}

func (r *hashedReader) Read(buffer []byte) (int, error) {
	n, err := r.source.Read(buffer)
	r.read += int64(n)
	r.digest.Write(buffer[:n])
	if r.read > maxAgentBytes {
		return n, fmt.Errorf("the file is larger than %d bytes", maxAgentBytes)
	}
	if errors.Is(err, io.EOF) {
		if got := hex.EncodeToString(r.digest.Sum(nil)); got != r.want {
			return n, fmt.Errorf("its sha256 is %s, wanted %s", got, r.want)
		}
	}
	return n, err
}
