package process

import (
	"fmt"
	"os"
)

// pipe is one pipe between host and plugin.
type pipe struct{ read, write *os.File }

// pipes are a plugin's three standard streams.
type pipes struct{ stdin, stdout, stderr pipe }

func openPipes() (*pipes, error) {
	var p pipes
	for _, stream := range []*pipe{&p.stdin, &p.stdout, &p.stderr} {
		var err error
		if stream.read, stream.write, err = os.Pipe(); err != nil {
			p.closeChildEnds()
			p.closeHostEnds()
			return nil, fmt.Errorf("make a pipe to the plugin: %w", err)
		}
	}
	return &p, nil
}

func (p *pipes) closeChildEnds() { closeAll(p.stdin.read, p.stdout.write, p.stderr.write) }

func (p *pipes) closeHostEnds() { closeAll(p.stdin.write, p.stdout.read, p.stderr.read) }

// closeAll closes what is open. Closing a pipe has no error that anybody could
// act on.
func closeAll(files ...*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
