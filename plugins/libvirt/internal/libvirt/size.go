package libvirt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are those that a size may have, in bytes.
var units = []struct {
	name  string
	bytes uint64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}

// parseSize reads a whole number with its unit, as fleet files have them.
func parseSize(text string) (bytes uint64, err error) {
	for _, unit := range units {
		digits, has := strings.CutSuffix(text, unit.name)
		if !has {
			continue
		}
		number, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || number == 0 || number > math.MaxInt64/unit.bytes {
			break
		}
		return number * unit.bytes, nil
	}
	return 0, fmt.Errorf(`invalid size %q: write a whole number with KiB, MiB, GiB or TiB, such as "4GiB"`, text)
}

// showSize is a size for people.
func showSize(bytes uint64) string {
	shown := fmt.Sprintf("%d bytes", bytes)
	for _, unit := range units {
		if bytes >= unit.bytes {
			shown = fmt.Sprintf("%.4g %s", float64(bytes)/float64(unit.bytes), unit.name)
		}
	}
	return shown
}
