package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
)

// errSilent ends a stream whose connection is dead without having been closed.
var errSilent = errors.New("it has gone silent")

const (
	// silence is after how many missed heartbeats a stream counts as dead.
	silence = 4 * heartbeatInterval
	maxLine = 64 << 20
)

// Watch is installation.Service's. It doesn't connect again: the caller decides
// what the end means.
func (c *Client) Watch(ctx context.Context) iter.Seq2[progress.Progress, error] {
	return func(yield func(progress.Progress, error) bool) {
		if err := c.watch(ctx, func(p progress.Progress) bool { return yield(p, nil) }); err != nil && ctx.Err() == nil {
			yield(progress.Progress{}, err)
		}
	}
}

// errEnough ends a stream of which no more is wanted.
var errEnough = errors.New("enough")

func (c *Client) watch(ctx context.Context, each func(progress.Progress) bool) error {
	alive, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	watchdog := time.AfterFunc(silence, func() { cut(errSilent) })
	defer watchdog.Stop()
	response, err := c.send(alive, call{method: http.MethodGet, path: "/v1/events"})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	err = readEvents(lines, func() { watchdog.Reset(silence) }, func(name string, data []byte) error {
		switch name {
		case progressEvent:
			var p progress.Progress
			if err := plainjson.Read(data, &p); err != nil {
				return fmt.Errorf("read an event of the manager at %s: %w; is it of another version?", c.at, err)
			}
			watchdog.Stop() // a slow reader isn't the manager's silence
			if !each(p) {
				return errEnough
			}
			watchdog.Reset(silence)
		case problemEvent:
			var p Problem
			if err := plainjson.Read(data, &p); err != nil {
				return fmt.Errorf("read the last event of the manager at %s: %w; is it of another version?", c.at, err)
			}
			return p.errorOf()
		}
		return nil // a newer manager may say more
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &UnreachableError{c.at, errors.New("it ended the stream; is it still running?")}
	case context.Cause(alive) == errSilent:
		return &UnreachableError{c.at, errSilent}
	}
	return err
}

// readEvents gives each event of a stream, and says at each line that it lives.
func readEvents(from *bufio.Reader, lives func(), each func(name string, data []byte) error) error {
	var name string
	var data []byte
	for {
		line, err := readLine(from)
		if err != nil {
			return err
		}
		lives()
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if len(data) > 0 {
				if err := each(name, data); err != nil {
					return err
				}
			}
			name, data = "", nil
		case string(field) == "event":
			name = string(value)
		case string(field) == "data":
			data = append(data, value...)
		}
	}
}

// readLine is a line without its end, of a bounded length.
func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("an event is longer than %d MiB", maxLine>>20)
		}
	}
}
