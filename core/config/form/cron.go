package form

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/planner/schedule"
)

// cronForm is an expression of five fields that comes up some day. The library also
// knows fields for seconds and years, and names such as @daily; the file has the
// one form that everybody reads.
func cronForm(text string) (noun, advice string) {
	const form = "Use five fields: minute, hour, day of the month, month, day of the week, such as \"0 8 * * 1-5\"."
	noun = "cron expression"
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return noun, fmt.Sprintf("It has %s. %s", diagnostic.Counted(len(fields), "field"), form)
	}
	for i, field := range fields {
		if written, instead := cronFields[i].unwrapped(field); instead != "" {
			return noun, fmt.Sprintf("Ranges can't wrap around: instead of %s, write %s.", written, instead)
		}
	}
	if _, err := schedule.Read(strings.Join(fields, " "), "UTC"); err != nil {
		return noun, form
	}
	// Any day will do to begin with: a date that never comes never comes.
	if _, err := gronx.NextTickAfter(
		strings.Join(fields, " "),
		time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC),
		true,
	); err != nil {
		return noun, "That date never comes: no such month has such a day."
	}
	return noun, ""
}

// cronField is one field of a cron expression: its names in their order, and its
// first and last number.
type cronField struct {
	names       []string
	first, last int
}

// cronFields are the five fields in their order.
var cronFields = [5]cronField{
	{nil, 0, 59},
	{nil, 0, 23},
	{nil, 1, 31},
	{[]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, 1, 12},
	{[]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, 0, 6},
}

// unwrapped finds a range whose end comes before its begin, and gives what means
// the same: sat-sun is sat,sun, and fri-mon is fri-sat,sun-mon.
func (f cronField) unwrapped(field string) (written, instead string) {
	for part := range strings.SplitSeq(field, ",") {
		from, to, ok := strings.Cut(part, "-")
		begin, end := f.number(from), f.number(to)
		if !ok || begin < f.first || end < f.first || begin <= end {
			continue
		}
		first, last := strconv.Itoa(f.first), strconv.Itoa(f.last)
		if _, err := strconv.Atoi(from); err != nil {
			first, last = f.names[0], f.names[len(f.names)-1]
		}
		return part, cronRange(from, last) + "," + cronRange(first, to)
	}
	return "", ""
}

// number is a number or name of the field; -1: it is neither.
func (f cronField) number(text string) int {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.first + i
	}
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return -1
}

func cronRange(from, to string) string {
	if strings.EqualFold(from, to) {
		return from
	}
	return from + "-" + to
}
