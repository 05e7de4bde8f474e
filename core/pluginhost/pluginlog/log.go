package pluginlog

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// lastLineCount is how many log lines the error of a failed plugin shows.
	lastLineCount = 20
	// MaxLine cuts what a plugin logs in one line.
	MaxLine = 64 << 10
	// MaxLastLine cuts a line within an error message.
	MaxLastLine = 500
)

// Log turns a plugin's standard error into log records and remembers the
// last lines, which are the only explanation that a crash leaves.
type Log struct {
	logger   *slog.Logger // shows no secret that redactor knows
	redactor *Redactor
	onOutput func(OutputLine) // nil: not observed
	// inPanic is set by the first line of a Go panic: what follows belongs to it.
	inPanic bool

	mutex  sync.Mutex
	last   []string
	budget budget
}

// New makes the log of one process. onOutput gets every line as it is; nil: output isn't
// observed.
func New(logger *slog.Logger, redactor *Redactor, onOutput func(OutputLine)) *Log {
	return &Log{logger: logger, redactor: redactor, onOutput: onOutput, budget: newBudget()}
}

// OutputLine is a line that a plugin wrote.
type OutputLine struct {
	// Stdout: to its standard output, apart from the handshake; else to its log.
	Stdout bool
	Text   string
}

// ReadStderr handles standard error until it ends.
func (l *Log) ReadStderr(stderr io.ReadCloser) {
	defer stderr.Close()
	defer l.ended()
	lines := bufio.NewReaderSize(stderr, MaxLine)
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		l.pass(false, line)
		l.line(line, more)
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
	}
}

func (l *Log) line(line []byte, cut bool) {
	if cut {
		line = l.redactor.Cut(line)
	}
	record, ok := parseLogLine(line)
	if !ok {
		record = l.plainLine(string(line))
	}
	if cut {
		record.attributes = append(record.attributes, slog.Bool("cut", true))
	}
	l.remember(record.text())
	l.write(record, len(line))
}

// write logs a record of so many bytes, if there is room for it. What a plugin
// says in excess is counted, so that it neither fills the disk nor hides what
// others say.
func (l *Log) write(record entry, size int) {
	ctx := context.Background()
	if !l.logger.Enabled(ctx, record.level) {
		return
	}
	l.mutex.Lock()
	room, dropped := l.budget.spend(time.Now(), size)
	l.mutex.Unlock()
	if !room {
		return
	}
	l.logDropped(dropped)
	l.logger.LogAttrs(ctx, record.level, record.message, record.attributes...)
}

func (l *Log) logDropped(lines int) {
	if lines > 0 {
		l.logger.Warn("the plugin writes more than the log takes; lines are dropped", "lines", lines)
	}
}

// ended tells what the end of the log would otherwise keep quiet.
func (l *Log) ended() {
	l.mutex.Lock()
	dropped := l.budget.takeDropped()
	l.mutex.Unlock()
	l.logDropped(dropped)
}

// plainLine is a line that isn't hclog's JSON: a library's own print, or the
// stack of a crash.
func (l *Log) plainLine(line string) entry {
	l.inPanic = l.inPanic || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	level := slog.LevelDebug
	if l.inPanic {
		level = slog.LevelError
	}
	return entry{level: level, message: Printable(line)}
}

// noise is what a plugin printed where only the handshake belongs. Of a line that
// comes in parts the first is enough.
func (l *Log) noise(line []byte, continued bool) {
	l.pass(true, line)
	if continued {
		return
	}
	if text := l.redactor.Redact(Printable(string(bytes.TrimSpace(line)))); text != "" {
		l.remember("(stdout) " + text)
		l.write(
			entry{
				slog.LevelDebug,
				"the plugin printed to its standard output",
				[]slog.Attr{slog.String("line", Truncate(text, MaxLastLine))},
			},
			len(text),
		)
	}
}

// pass hands a line to who asked for the output.
func (l *Log) pass(stdout bool, line []byte) {
	if text := strings.TrimRight(string(line), "\r\n"); l.onOutput != nil && strings.TrimSpace(text) != "" {
		l.onOutput(OutputLine{Stdout: stdout, Text: text})
	}
}

// Printed is where go-plugin writes what the plugin prints once it serves.
func (l *Log) Printed(stdout bool) io.Writer {
	if l.onOutput == nil {
		return io.Discard
	}
	return outputLines{l, stdout}
}

type outputLines struct {
	log    *Log
	stdout bool
}

func (h outputLines) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		h.log.pass(h.stdout, line)
	}
	return len(text), nil
}

func (l *Log) remember(line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.last = append(l.last, Truncate(l.redactor.Redact(line), MaxLastLine))
	if extra := len(l.last) - lastLineCount; extra > 0 {
		l.last = slices.Delete(l.last, 0, extra)
	}
}

// LastLines is the end of an error message; empty where nothing was logged.
func (l *Log) LastLines() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.last) == 0 {
		return ""
	}
	return lastLinesTitle + "\n" + lastLineIndent + strings.Join(l.last, "\n"+lastLineIndent) + "\n"
}

const (
	lastLinesTitle = "; its last log lines:"
	lastLineIndent = "    "
)

// Headline is an error that ends in LastLines without these: one sentence, for where there is room for no more.
func Headline(err error) string {
	var kept strings.Builder
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, lastLineIndent) {
			kept.WriteString(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), lastLinesTitle))
		}
	}
	return kept.String()
}
