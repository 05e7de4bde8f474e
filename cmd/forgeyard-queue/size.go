package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are in bytes; the longest names come first.
var units = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"TB", 1e12}, {"B", 1}}

// bytesOf reads a size; an empty one is none.
func bytesOf(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, factor := text, 0.0
	for _, unit := range units {
		if rest, has := strings.CutSuffix(text, unit.name); has {
			number, factor = rest, unit.bytes
			break
		}
	}
	amount, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if size := amount * factor; err == nil && factor > 0 && size >= 0 && size < math.MaxInt64 {
		return int64(size), nil
	}
	return 0, fmt.Errorf("%s: invalid size %q: use a number with a unit, such as 4GiB", flag, text)
}
