package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// jobLog takes a job's output through a pipe into job.log, up to a limit. The
// log of the job before is kept as job.previous.log.
type jobLog struct {
	in     *os.File // the job's end
	out    *os.File // ours
	copied chan struct{}
}

func openJobLog(folder string, limit int64) (*jobLog, error) {
	path := filepath.Join(folder, "job.log")
	_ = os.Rename(path, filepath.Join(folder, "job.previous.log")) // there may be none
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the job's log: %w", err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("make a pipe for the job's output: %w", err)
	}
	l := &jobLog{in: in, out: out, copied: make(chan struct{})}
	go func() {
		defer close(l.copied)
		defer file.Close()
		n, err := io.Copy(file, io.LimitReader(out, limit))
		if err == nil && n == limit {
			fmt.Fprintf(file, "\n[output truncated after %d bytes]\n", limit)
		}
		// A job that writes more must not block, nor see a broken pipe.
		_, _ = io.Copy(io.Discard, out)
	}()
	return l, nil
}

// close ends the log once no process of the job holds the pipe.
func (l *jobLog) close() {
	_ = l.in.Close()
	_ = l.out.Close()
	<-l.copied
}
