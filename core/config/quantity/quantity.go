package quantity

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	words "github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

const (
	DurationUnits = "ms, s, m, h, d"
	SizeUnits     = "KiB, MiB, GiB, TiB"
)

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

var sizeUnits = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

var (
	quantityForm = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([^0-9.\s]*)`)
	negativeForm = regexp.MustCompile(`^-[0-9]`)
)

// ParseDuration reads "10m", "1h30m" or "7d". A day is 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	const form = "use numbers with a unit, such as 10m or 1h30m; valid units: " + DurationUnits
	if text == "0" {
		return 0, nil
	}
	if negativeForm.MatchString(text) {
		return 0, fmt.Errorf("it can't be negative; %s", form)
	}
	total := new(big.Rat)
	for rest := text; rest != "" || text == ""; {
		part := quantityForm.FindStringSubmatch(rest)
		if part == nil {
			return 0, fmt.Errorf("%s", form)
		}
		unit, ok := durationUnits[part[2]]
		if !ok {
			return 0, fmt.Errorf("%s; %s", unknownUnit(part[2]), form)
		}
		amount, _ := new(big.Rat).SetString(part[1])
		total.Add(total, amount.Mul(amount, new(big.Rat).SetInt64(int64(unit))))
		rest = rest[len(part[0]):]
	}
	nanoseconds := new(big.Int).Quo(total.Num(), total.Denom())
	const longest = 100 * 365 * 24 * time.Hour
	if !nanoseconds.IsInt64() || time.Duration(nanoseconds.Int64()) > longest {
		return 0, fmt.Errorf("it is longer than a hundred years; %s", form)
	}
	return time.Duration(nanoseconds.Int64()), nil
}

// ParseSize reads "16GiB". Only units that mean one thing are taken: GB is 10⁹
// to some and 2³⁰ to others.
func ParseSize(text string) (int64, error) {
	const form = "use a number with a unit, such as 4GiB; valid units: " + SizeUnits
	if negativeForm.MatchString(text) {
		return 0, fmt.Errorf("it can't be negative; %s", form)
	}
	part := quantityForm.FindStringSubmatch(text)
	if part == nil || len(part[0]) != len(text) {
		return 0, fmt.Errorf("%s", form)
	}
	unit, ok := sizeUnits[part[2]]
	if !ok {
		if meant := meantSize(part[1], part[2]); meant != "" {
			return 0, fmt.Errorf("did you mean %q? %s", meant, words.Capital(form))
		}
		return 0, fmt.Errorf("%s; %s", unknownUnit(part[2]), form)
	}
	amount, _ := new(big.Rat).SetString(part[1])
	amount.Mul(amount, new(big.Rat).SetInt64(unit))
	if amount.Sign() == 0 {
		return 0, fmt.Errorf("it must be more than zero; %s", form)
	}
	if !amount.IsInt() {
		return 0, fmt.Errorf("it must be a whole number of bytes; %s", form)
	}
	if !amount.Num().IsInt64() {
		return 0, fmt.Errorf("it is too large; %s", form)
	}
	return amount.Num().Int64(), nil
}

// decimalUnits are powers of ten, whose names are also used for powers of two.
var decimalUnits = map[string]int64{"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}

// meantSize is the size that a number with an unknown unit most likely means: that
// many bytes for a decimal unit, rounded down to whole MiB, else the unit that is
// written differently. Empty: neither.
func meantSize(number, unit string) string {
	lower := strings.ToLower(unit)
	for valid := range sizeUnits {
		if name := strings.ToLower(valid); lower == name || lower == name[:2] || lower == name[:1] {
			return number + valid
		}
	}
	decimal, known := decimalUnits[lower]
	if !known {
		return ""
	}
	amount, _ := new(big.Rat).SetString(number)
	amount.Mul(amount, new(big.Rat).SetInt64(decimal))
	whole := new(big.Int).Quo(amount.Num(), amount.Denom())
	for _, name := range []string{"MiB", "KiB"} {
		if count := new(big.Int).Quo(whole, big.NewInt(sizeUnits[name])); count.Sign() > 0 {
			return count.String() + name
		}
	}
	return ""
}

func unknownUnit(unit string) string {
	if unit == "" {
		return "the unit is missing"
	}
	return fmt.Sprintf("unknown unit %q", diagnostic.Clip(unit))
}

// SizeText is a number of bytes in the largest unit that divides it.
func SizeText(bytes int64) string {
	for _, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if bytes != 0 && bytes%sizeUnits[unit] == 0 {
			return fmt.Sprintf("%d%s", bytes/sizeUnits[unit], unit)
		}
	}
	return fmt.Sprintf("%dB", bytes)
}

// CPUText is thousandths of a processor as a number.
func CPUText(milli int64) string {
	text := fmt.Sprintf("%d.%03d", milli/1000, milli%1000)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
