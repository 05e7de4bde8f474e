package pluginlog

import (
	"bufio"
	"io"
	"regexp"
)

// handshakeLine is where go-plugin's one line begins: core protocol, our
// protocol, network. Whatever a library printed before it on the same line
// (terminal escapes, for one) is not part of it.
var handshakeLine = regexp.MustCompile(`\d+\|\d+\|(unix|tcp)\|[^\r\n]*`)

// maxHandshake is the longest line that can be a handshake: an address and a
// certificate, which go-plugin makes of about 1 KiB.
const maxHandshake = 32 << 10

// ReadStdout passes the handshake on and reads everything else away. Anything
// before it would break the start, and an unread pipe stops the plugin once
// 64 KiB are in it. Where the stream ends without a handshake, awaitExit is called
// before the end is passed on.
func (l *Log) ReadStdout(stdout io.ReadCloser, handshake *io.PipeWriter, awaitExit func()) {
	defer stdout.Close()
	lines := bufio.NewReaderSize(stdout, maxHandshake)
	for within := false; ; {
		// A line that is too long comes in parts. None of them is a handshake:
		// go-plugin stops reading at a long line, and would never read the rest.
		line, err := lines.ReadSlice('\n')
		part := within || err == bufio.ErrBufferFull
		if found := handshakeLine.Find(line); found != nil && !part {
			_, _ = handshake.Write(append(found, '\n'))
			break
		}
		l.noise(line, within)
		within = err == bufio.ErrBufferFull
		if err != nil && err != bufio.ErrBufferFull {
			// go-plugin takes the end of the stream for the end of the start.
			// The exit status, a moment later, is the better explanation.
			awaitExit()
			break
		}
	}
	handshake.Close()
	_, _ = io.Copy(l.Printed(true), lines)
}
