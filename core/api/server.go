package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// NewServer is an HTTP server of a handler, for any number of listeners: those of
// ListenUnix, and TLS ones with TLSConfig. Its Shutdown ends the event streams.
func NewServer(h *Handler) *http.Server {
	s := &http.Server{
		Handler:           h,
		ConnContext:       ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(h.config.Log.Handler(), slog.LevelDebug),
	}
	s.RegisterOnShutdown(h.endStreams)
	return s
}

// TLSConfig is for the listener of tokens. certificate is asked for each
// connection, so that a renewed one counts at once.
func TLSConfig(certificate func() (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
	}
}

// ListenUnix opens the socket at path, only for its owner. A socket that is
// there is taken away first: only the holder of the writer's lock may call it.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf(
			"open the manager's socket %s: the path is longer than %d characters, which systems don't take; use a "+
				"shorter --state",
			path,
			maxSocketPath,
		)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf(
			"make the folder of the manager's socket: %w; give the manager a run directory that it can write to",
			err,
		)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("open the manager's socket %s: something else is there; move it away", path)
	} else if err == nil {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("take away the socket of a manager that ended: %w", err)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the manager's socket: %w", err)
	}
	// A caller that connects before this line is still asked for its user.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the manager's socket to others: %w", err), l.Close())
	}
	return l, nil
}

// maxSocketPath is what the narrowest of our systems takes (darwin: 104 with its
// end).
const maxSocketPath = 103
