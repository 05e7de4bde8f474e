package replay

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Trace is jobs as they arrived, the earliest first. Jobs are kept small, since
// there may be millions; what they require is kept once for each kind.
type Trace struct {
	Kinds []Kind
	Jobs  []Job
}

// Job is one job of a trace.
type Job struct {
	// Arrival is in nanoseconds since 1970.
	Arrival  int64
	Duration time.Duration
	// Kind is the place in Trace.Kinds.
	Kind int32
}

// Kind is what equal jobs require and take. Its counts are 0.
type Kind struct {
	Scheduler fleet.SchedulerAddress
	fleet.QueuedDemand
}

// Bounds of a trace.
const (
	// MaxJobs bounds the jobs of one trace: about a gigabyte of memory.
	MaxJobs = 20_000_000
	// MaxKinds bounds the kinds of jobs.
	MaxKinds = fleet.MaxDemandClasses
	// MaxMistakes is how many mistakes of a file are told at once.
	MaxMistakes = 20
)

// ReadTrace reads a trace from CSV for the schedulers that the jobs may be of.
// The file is read as a stream, in any order of arrivals; file is its name for
// messages. An error about what the file says is *Mistakes.
func ReadTrace(file string, text io.Reader, schedulers []fleet.Scheduler) (*Trace, error) {
	bounded := &boundedRows{from: text}
	rows := csv.NewReader(bounded)
	rows.FieldsPerRecord = -1 // said in our own words
	rows.ReuseRecord = true
	rows.TrimLeadingSpace = true
	r := &traceReader{
		rows: rows, bounded: bounded, mistakes: Mistakes{File: file}, schedulers: schedulers,
		trace: &Trace{}, known: map[string]int32{}, same: map[string]int32{},
	}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("read the trace %s: %w", file, err)
	}
	if len(r.mistakes.Each) > 0 {
		return nil, &r.mistakes
	}
	slices.SortStableFunc(r.trace.Jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return r.trace, nil
}

// traceReader is the work of reading one file.
type traceReader struct {
	rows       *csv.Reader
	bounded    *boundedRows
	mistakes   Mistakes
	schedulers []fleet.Scheduler
	trace      *Trace

	columns           []*column // one for each field
	arrival, duration int
	// line is where the last row began.
	line int
	// known are the kinds by the text of their cells, -1 where that is wrong, so
	// that each text is read once; same are the kinds by what they mean.
	known map[string]int32
	same  map[string]int32
	key   []byte
}

func (r *traceReader) read() error {
	if !r.readHeader() {
		return r.bounded.failed
	}
	for {
		r.bounded.next()
		record, err := r.rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			if len(r.trace.Jobs) == 0 && len(r.mistakes.Each) == 0 {
				r.mistake(2, 1, "no job below the header")
			}
			return nil
		case err != nil:
			return r.unreadable(err)
		}
		r.line, _ = r.rows.FieldPos(0)
		if len(r.trace.Jobs) == MaxJobs {
			line, column := r.rows.FieldPos(0)
			r.mistake(line, column, "there are more than %d jobs; replay a part of them", MaxJobs)
			return nil
		}
		if !r.readJob(record) {
			return nil
		}
	}
}

// mistake notes what is wrong at a place, and says whether it could: the first that
// isn't told any more shows that there are more, and nothing before it does.
func (r *traceReader) mistake(line, column int, format string, args ...any) bool {
	if len(r.mistakes.Each) == MaxMistakes {
		r.mistakes.More = true
		return false
	}
	r.mistakes.Each = append(r.mistakes.Each, Mistake{Line: line, Column: column, Sentence: fmt.Sprintf(format, args...)})
	return true
}

// unreadable is about text that is not valid CSV: after it nothing can be told apart.
func (r *traceReader) unreadable(err error) error {
	if r.bounded.failed != nil {
		return r.bounded.failed
	}
	syntax, is := errors.AsType[*csv.ParseError](err)
	switch {
	case r.bounded.long:
		r.mistake(r.line+1, 1, "a row has more than %d bytes; is a quote (\") not closed?", maxRow)
	case is && errors.Is(err, csv.ErrBareQuote):
		r.mistake(
			syntax.Line,
			syntax.Column,
			"a quote (\") in the middle of a cell; put the whole cell in quotes and double those in it",
		)
	case is && errors.Is(err, csv.ErrQuote):
		r.mistake(
			syntax.Line,
			syntax.Column,
			"a quote (\") that isn't closed, or text after a closed one; a cell is either all in quotes or not at all",
		)
	default:
		return err
	}
	return nil
}

func (r *traceReader) readHeader() bool {
	header, err := r.rows.Read()
	switch {
	case errors.Is(err, io.EOF):
		r.mistake(1, 1, "the file is empty; its first line names the columns, at least: arrival,duration")
		return false
	case err != nil:
		if failure := r.unreadable(err); failure != nil {
			r.bounded.failed = failure
		}
		return false
	}
	r.arrival, r.duration = -1, -1
	seen := map[string]bool{}
	for n, cell := range header {
		name := strings.TrimSpace(strings.TrimPrefix(cell, "\ufeff"))
		if !strings.HasPrefix(name, resourcePrefix) {
			name = strings.ToLower(name)
		}
		line, at := r.rows.FieldPos(n)
		c := columnNamed(name)
		switch {
		case c == nil:
			r.mistake(line, at, "unknown column %.60q; valid columns: %s", name, columnNames())
		case seen[name]:
			r.mistake(line, at, "the column %q is there twice", name)
		case name == "arrival":
			r.arrival = n
		case name == "duration":
			r.duration = n
		}
		seen[name] = true
		r.columns = append(r.columns, c)
	}
	for _, name := range []string{"arrival", "duration"} {
		if !seen[name] {
			r.mistake(1, 1, "the column %q is missing; the first line names the columns, at least: arrival,duration", name)
		}
	}
	if len(r.schedulers) > 1 && !seen["scheduler"] {
		r.mistake(
			1,
			1,
			"the fleets follow %d schedulers, so a column \"scheduler\" must say whose each job is: %s",
			len(r.schedulers),
			addresses(r.schedulers),
		)
	}
	return len(r.mistakes.Each) == 0
}

func addresses(schedulers []fleet.Scheduler) string {
	var names []string
	for _, s := range schedulers {
		names = append(names, string(s.Address))
	}
	return strings.Join(names, ", ")
}

// readJob takes in one row, and says whether to continue.
func (r *traceReader) readJob(record []string) bool {
	if len(record) != len(r.columns) {
		line, column := r.rows.FieldPos(0)
		return r.mistake(line, column, "%d cells, and the header names %d columns", len(record), len(r.columns))
	}
	job, goOn, fine := Job{}, true, true
	wrong := func(n int, err error) {
		line, column := r.rows.FieldPos(max(0, n))
		fine = false
		if goOn && n == wholeRow {
			goOn = r.mistake(line, column, "%s", err)
		} else if goOn {
			goOn = r.mistake(line, column, "%s is %.60q; %s", r.columns[n].name, record[n], err)
		}
	}
	var err error
	if job.Arrival, err = readArrival(record[r.arrival]); err != nil {
		wrong(r.arrival, err)
	}
	if job.Duration, err = readDuration(record[r.duration]); err != nil {
		wrong(r.duration, err)
	}
	r.key = r.key[:0]
	for n, cell := range record {
		if n != r.arrival && n != r.duration {
			r.key = append(append(r.key, cell...), 0)
		}
	}
	kind, known := r.known[string(r.key)]
	if !known {
		kind = r.readKind(record, wrong)
		r.known[string(r.key)] = kind
	}
	if kind == tooManyKinds {
		line, column := r.rows.FieldPos(0)
		r.mistake(line, column, "there are more than %d kinds of jobs; leave out a column that makes them differ", MaxKinds)
		return false
	}
	if job.Kind = kind; fine && kind >= 0 {
		r.trace.Jobs = append(r.trace.Jobs, job)
	}
	return goOn
}

// wholeRow is the place of a mistake that is in no single cell.
const wholeRow = -1

// What stands for a kind that isn't one.
const (
	wrongKind    = -1
	tooManyKinds = -2
)

// readKind reads what a row requires. Equal requirements are one kind, however
// they are written.
func (r *traceReader) readKind(record []string, wrong func(int, error)) int32 {
	draft := kindDraft{schedulers: r.schedulers}
	fine := true
	complain := func(n int, err error) {
		fine = false
		wrong(n, err)
	}
	for _, late := range []bool{false, true} { // scheduler and queue are what the others change
		if late {
			draft.settle()
		}
		for n, c := range r.columns {
			if c.read == nil || c.refines != late {
				continue
			}
			if err := c.read(&draft, strings.TrimSpace(record[n])); err != nil {
				complain(n, err)
			}
		}
	}
	if fine {
		if err := draft.check(); err != nil {
			complain(wholeRow, err)
		}
	}
	if !fine {
		return wrongKind
	}
	digest := fleet.Digest(draft.Kind)
	if kind, known := r.same[digest]; known {
		return kind
	}
	if len(r.trace.Kinds) == MaxKinds {
		return tooManyKinds
	}
	kind := int32(len(r.trace.Kinds))
	r.trace.Kinds = append(r.trace.Kinds, draft.Kind)
	r.same[digest] = kind
	return kind
}
