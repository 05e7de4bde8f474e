package pluginhost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// lastLineCount is how many log lines the error of a failed plugin shows.
	lastLineCount = 20
	// maxLogLine cuts what a plugin logs in one line.
	maxLogLine = 64 << 10
	// maxLastLine cuts a line within an error message.
	maxLastLine = 500
)

// pluginLog turns a plugin's standard error into log records and remembers the
// last lines, which are the only explanation that a crash leaves.
type pluginLog struct {
	logger   *slog.Logger // shows no secret that redactor knows
	redactor *redactor
	onOutput func(OutputLine) // nil: not observed
	// inPanic is set by the first line of a Go panic: what follows belongs to it.
	inPanic bool

	mutex  sync.Mutex
	last   []string
	budget logBudget
}

func newPluginLog(logger *slog.Logger, redacted *redactor) *pluginLog {
	return &pluginLog{logger: logger, redactor: redacted, budget: newLogBudget()}
}

// read handles standard error until it ends.
func (l *pluginLog) read(stderr io.ReadCloser) {
	defer stderr.Close()
	defer l.ended()
	lines := bufio.NewReaderSize(stderr, maxLogLine)
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

func (l *pluginLog) line(line []byte, cut bool) {
	if cut {
		line = l.redactor.cut(line)
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
func (l *pluginLog) write(record logRecord, size int) {
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

func (l *pluginLog) logDropped(lines int) {
	if lines > 0 {
		l.logger.Warn("the plugin writes more than the log takes; lines are dropped", "lines", lines)
	}
}

// ended tells what the end of the log would otherwise keep quiet.
func (l *pluginLog) ended() {
	l.mutex.Lock()
	dropped := l.budget.takeDropped()
	l.mutex.Unlock()
	l.logDropped(dropped)
}

// plainLine is a line that isn't hclog's JSON: a library's own print, or the
// stack of a crash.
func (l *pluginLog) plainLine(line string) logRecord {
	l.inPanic = l.inPanic || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	level := slog.LevelDebug
	if l.inPanic {
		level = slog.LevelError
	}
	return logRecord{level: level, message: printable(line)}
}

// noise is what a plugin printed where only the handshake belongs. Of a line that
// comes in parts the first is enough.
func (l *pluginLog) noise(line []byte, continued bool) {
	l.pass(true, line)
	if continued {
		return
	}
	if text := l.redactor.redact(printable(string(bytes.TrimSpace(line)))); text != "" {
		l.remember("(stdout) " + text)
		l.write(
			logRecord{
				slog.LevelDebug,
				"the plugin printed to its standard output",
				[]slog.Attr{slog.String("line", cutTo(text, maxLastLine))},
			},
			len(text),
		)
	}
}

// pass hands a line to who asked for the output.
func (l *pluginLog) pass(stdout bool, line []byte) {
	if text := strings.TrimRight(string(line), "\r\n"); l.onOutput != nil && strings.TrimSpace(text) != "" {
		l.onOutput(OutputLine{Stdout: stdout, Text: text})
	}
}

// printed is where go-plugin writes what the plugin prints once it serves.
func (l *pluginLog) printed(stdout bool) io.Writer {
	if l.onOutput == nil {
		return io.Discard
	}
	return outputLines{l, stdout}
}

type outputLines struct {
	log    *pluginLog
	stdout bool
}

func (h outputLines) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		h.log.pass(h.stdout, line)
	}
	return len(text), nil
}

func (l *pluginLog) remember(line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.last = append(l.last, cutTo(l.redactor.redact(line), maxLastLine))
	if extra := len(l.last) - lastLineCount; extra > 0 {
		l.last = slices.Delete(l.last, 0, extra)
	}
}

// lastLines is the end of an error message; empty where nothing was logged.
func (l *pluginLog) lastLines() string {
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

// Headline is an error of this package without the plugin's log lines: one
// sentence, for where there is room for no more.
func Headline(err error) string {
	var kept strings.Builder
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, lastLineIndent) {
			kept.WriteString(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), lastLinesTitle))
		}
	}
	return kept.String()
}

// logRecord is one log line, understood.
type logRecord struct {
	level      slog.Level
	message    string
	attributes []slog.Attr
}

func (r logRecord) text() string {
	text := r.message
	for _, attribute := range r.attributes {
		text += " " + attribute.String()
	}
	return text
}

var hclogLevels = map[string]slog.Level{
	"trace": slog.LevelDebug - 4,
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

// parseLogLine reads hclog's JSON. Only an object with a textual message counts.
func parseLogLine(line []byte) (logRecord, bool) {
	if len(line) == 0 || line[0] != '{' {
		return logRecord{}, false
	}
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return logRecord{}, false
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return logRecord{}, false
	}
	record := logRecord{level: slog.LevelDebug, message: printable(message)}
	if name, ok := fields["@level"].(string); ok {
		if level, known := hclogLevels[strings.ToLower(name)]; known {
			record.level = level
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch key {
		case "@message", "@level", "@timestamp":
			continue
		}
		value, ok := fields[key].(string)
		if !ok {
			encoded, err := json.Marshal(fields[key])
			if err != nil {
				continue
			}
			value = string(encoded)
		}
		record.attributes = append(record.attributes, slog.String(printable(strings.TrimPrefix(key, "@")), printable(value)))
	}
	return record, true
}

// printable keeps a plugin's text from steering the terminal that shows it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

func cutTo(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:size], ""), len(text))
}
