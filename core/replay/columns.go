package replay

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config/quantity"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
)

// Column is one column that a trace may have.
type Column struct {
	Name string
	// Doc says what is in it, for a page.
	Doc string
}

// Columns lists the columns that a trace may have, in the order of the page.
func Columns() []Column {
	var out []Column
	for _, c := range columns {
		out = append(out, Column{Name: c.name, Doc: c.doc})
	}
	return out
}

// column reads the cells of one column.
type column struct {
	name, doc string
	// read takes a cell into a kind; nil: it isn't part of the kind.
	read func(k *kindDraft, cell string) error
	// refines says that it is read after those that choose scheduler and queue.
	refines bool
}

// kindDraft is a kind while its cells are read.
type kindDraft struct {
	Kind
	schedulers []fleet.Scheduler
}

const resourcePrefix = "resource:"

// columns are all columns but those of named resources, which columnNamed makes.
var columns = []*column{
	{
		name: "arrival",
		doc:  "When the job began to wait: RFC 3339 (`2026-10-05T09:30:00Z`) or seconds since 1970. Required.",
	},
	{name: "duration", doc: "How long it ran: `10m`, `1h30m` or seconds. Required."},
	{
		name: "scheduler",
		doc:  "Whose job it is, as `TYPE.NAME` of the scheduler block. Required where the fleets follow several.",
		read: readScheduler,
	},
	{
		name: "queue",
		doc: "The queue it waited in, at a scheduler that has queues (`reviewos`): the `queue` block says what " +
			"its jobs need.",
		read: readQueue,
	},
	text("os", "Operating system: `linux`, `darwin`, `windows`.", func(k *kindDraft) *string { return &k.Requirement.OS }),
	text("arch", "`x86_64` or `arm64`.", func(k *kindDraft) *string { return &k.Requirement.Arch }),
	words(
		"capabilities",
		"Capabilities that its host must have, between semicolons: `docker;git`.",
		func(k *kindDraft) *[]string { return &k.Requirement.Capabilities },
	),
	text("trust", "The trust class of its host, exactly.", func(k *kindDraft) *string { return &k.Requirement.Trust }),
	words(
		"regions",
		"Regions in which it must stay, between semicolons.",
		func(k *kindDraft) *[]string { return &k.Requirement.Regions },
	),
	words(
		"toolchain",
		"Toolchains that its host must have, between semicolons.",
		func(k *kindDraft) *[]string { return &k.Requirement.Toolchain },
	),
	text("device", "The device that must be attached.", func(k *kindDraft) *string { return &k.Requirement.Device }),
	text(
		"isolation",
		"The isolation that its host must give.",
		func(k *kindDraft) *string { return &k.Requirement.Isolation },
	),
	flag("signing", "`true`: the job signs.", func(k *kindDraft) *bool { return &k.Requirement.Signing }),
	flag(
		"confidential",
		"`true`: it needs confidential compute.",
		func(k *kindDraft) *bool { return &k.Requirement.Confidential },
	),
	text("tenant", "Whose job it is.", func(k *kindDraft) *string { return &k.Requirement.Tenant }),
	text("project", "Which project it is of.", func(k *kindDraft) *string { return &k.Requirement.Project }),
	{
		name:    "cpu",
		doc:     "Processors that it takes: `2`, `0.5`.",
		refines: true,
		read: func(k *kindDraft, cell string) (err error) {
			return reading(cell, &k.Resources.CPUMilli, readCPU)
		},
	},
	{
		name:    "memory",
		doc:     "Memory that it takes: `4GiB`, or a number of bytes.",
		refines: true,
		read: func(k *kindDraft, cell string) error {
			return reading(cell, &k.Resources.MemoryBytes, readSize)
		},
	},
	{name: "disk", doc: "Disk that it takes, likewise.", refines: true, read: func(k *kindDraft, cell string) error {
		return reading(cell, &k.Resources.DiskBytes, readSize)
	}},
	{name: "gpu", doc: "How many gpus it takes.", refines: true, read: func(k *kindDraft, cell string) error {
		return reading(cell, &k.Resources.GPU, readCount)
	}},
	{name: resourcePrefix + "NAME", doc: "How much it takes of the named resource NAME; one column for each name."},
	{
		name:    "priority",
		doc:     "A whole number: jobs of a higher one are served first. Left out: 0.",
		refines: true,
		read:    readPriority,
	},
	flag(
		"preemptible",
		"`true`: it may run on hosts that the provider can take away.",
		func(k *kindDraft) *bool { return &k.PreemptibleAllowed },
	),
}

// columnNamed is the column of a name; nil: there is none.
func columnNamed(name string) *column {
	if resource, named := strings.CutPrefix(name, resourcePrefix); named && resource != "" {
		return &column{name: name, refines: true, read: func(k *kindDraft, cell string) error {
			var count int64
			if err := reading(cell, &count, readCount); err != nil || count == 0 {
				return err
			}
			if k.Resources.Named == nil {
				k.Resources.Named = map[string]int64{}
			}
			k.Resources.Named[resource] = count
			return nil
		}}
	}
	n := slices.IndexFunc(
		columns,
		func(c *column) bool { return c.name == name && !strings.HasPrefix(name, resourcePrefix) },
	)
	if n < 0 {
		return nil
	}
	return columns[n]
}

func columnNames() string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// An empty cell asks for nothing; of a queue's job it changes nothing.
func text(name, doc string, of func(*kindDraft) *string) *column {
	return &column{name: name, doc: doc, refines: true, read: func(k *kindDraft, cell string) error {
		if cell != "" {
			*of(k) = cell
		}
		return nil
	}}
}

func words(name, doc string, of func(*kindDraft) *[]string) *column {
	return &column{name: name, doc: doc, refines: true, read: func(k *kindDraft, cell string) error {
		var all []string
		for word := range strings.SplitSeq(cell, ";") {
			if word = strings.TrimSpace(word); word != "" {
				all = append(all, word)
			}
		}
		if len(all) > 0 {
			slices.Sort(all)
			*of(k) = slices.Compact(all)
		}
		return nil
	}}
}

func flag(name, doc string, of func(*kindDraft) *bool) *column {
	return &column{name: name, doc: doc, refines: true, read: func(k *kindDraft, cell string) error {
		switch strings.ToLower(cell) {
		case "":
		case "true", "yes", "1":
			*of(k) = true
		case "false", "no", "0":
			*of(k) = false
		default:
			return errors.New("it is true or false")
		}
		return nil
	}}
}

// reading takes a cell that isn't empty.
func reading(cell string, into *int64, read func(string) (int64, error)) (err error) {
	if cell != "" {
		*into, err = read(cell)
	}
	return err
}

// readScheduler finds the scheduler of a row, without the column the only one.
func readScheduler(k *kindDraft, cell string) error {
	if !slices.ContainsFunc(k.schedulers, func(s fleet.Scheduler) bool { return string(s.Address) == cell }) {
		return fmt.Errorf("the fleets follow: %s", addresses(k.schedulers))
	}
	k.Scheduler = fleet.SchedulerAddress(cell)
	return nil
}

// readQueue makes the job what its queue's block says. An unmapped queue is kept:
// its jobs are counted as those that no fleet runs.
func readQueue(k *kindDraft, cell string) error {
	if cell == "" {
		return nil
	}
	k.Requirement.Queue = cell
	return nil
}

// settle takes in what scheduler and queue say, before the cells that refine it.
func (k *kindDraft) settle() {
	if k.Scheduler == "" && len(k.schedulers) == 1 {
		k.Scheduler = k.schedulers[0].Address
	}
	for _, s := range k.schedulers {
		n := slices.IndexFunc(s.Queues, func(q fleet.SchedulerQueue) bool { return q.Name == k.Requirement.Queue })
		if s.Address == k.Scheduler && n >= 0 {
			k.QueuedDemand = reviewos.Job(s.Queues[n])
		}
	}
}

// check holds the kind against the bounds of what a scheduler may say.
func (k *kindDraft) check() error {
	if k.Requirement.Queue != "" && k.Scheduler.Type() != fleet.SchedulerReviewOS {
		return fmt.Errorf("its queue is %.60q, and scheduler.%s has no queues", k.Requirement.Queue, k.Scheduler)
	}
	if err := (fleet.CapacityDemandSnapshot{Queued: []fleet.QueuedDemand{k.QueuedDemand}}).Check(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "queued[0]: "))
	}
	return nil
}

var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// longestJob bounds a duration.
const longestJob = 366 * 24 * time.Hour

func readArrival(cell string) (int64, error) {
	cell = strings.TrimSpace(cell)
	wrong := errors.New("it is a time like 2026-10-05T09:30:00Z, or seconds since 1970, before the year 2200")
	at, err := time.Parse(time.RFC3339Nano, cell)
	if err != nil {
		seconds, fine := decimal(cell, int64(time.Second))
		if !fine || seconds > latest.UnixNano() {
			return 0, wrong
		}
		return seconds, nil
	}
	if at.Before(earliest) || !at.Before(latest) {
		return 0, wrong
	}
	return at.UnixNano(), nil
}

func readDuration(cell string) (time.Duration, error) {
	cell = strings.TrimSpace(cell)
	wrong := errors.New("it is a duration like 10m, 1h30m or 90.5 (seconds), of at most 366 days")
	if seconds, fine := decimal(cell, int64(time.Second)); fine {
		if seconds > int64(longestJob) {
			return 0, wrong
		}
		return time.Duration(seconds), nil
	}
	d, err := quantity.ParseDuration(cell)
	if err != nil || d > longestJob || cell == "" {
		return 0, wrong
	}
	return d, nil
}

func readCPU(cell string) (int64, error) {
	milli, fine := decimal(cell, 1000)
	if !fine {
		return 0, errors.New("it is a number of processors like 2 or 0.5")
	}
	return milli, nil
}

func readSize(cell string) (int64, error) {
	if bytes, err := strconv.ParseInt(cell, 10, 64); err == nil && bytes >= 0 {
		return bytes, nil
	}
	bytes, err := quantity.ParseSize(cell)
	if err != nil {
		return 0, errors.New("it is a size like 4GiB, or a whole number of bytes; units that work: KiB, MiB, GiB, TiB")
	}
	return bytes, nil
}

func readCount(cell string) (int64, error) {
	n, err := strconv.ParseInt(cell, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("it is a whole number from 0 on")
	}
	return n, nil
}

func readPriority(k *kindDraft, cell string) error {
	if cell == "" {
		return nil
	}
	n, err := strconv.ParseInt(cell, 10, 32)
	if err != nil {
		return errors.New("it is a whole number")
	}
	k.Priority = int(n)
	return nil
}

// decimal is a number without a sign or an exponent, in parts of unit, rounded
// down.
func decimal(cell string, unit int64) (int64, bool) {
	whole := strings.TrimLeft(cell, "0123456789")
	if cell == "" || len(cell) > 40 || strings.Trim(strings.TrimPrefix(whole, "."), "0123456789") != "" || cell == "." {
		return 0, false
	}
	if n, err := strconv.ParseInt(cell, 10, 32); err == nil { // most of them
		return n * unit, true
	}
	amount, fine := new(big.Rat).SetString(cell)
	if !fine {
		return 0, false
	}
	amount.Mul(amount, new(big.Rat).SetInt64(unit))
	parts := new(big.Int).Quo(amount.Num(), amount.Denom())
	return parts.Int64(), parts.IsInt64()
}
