package fleet

import (
	"fmt"
	"strings"
)

// IsZero says that no amount is given.
func (m Money) IsZero() bool { return m == Money{} }

// String is the amount as a fleet file has it: "0.192 USD".
func (m Money) String() string {
	sign, micros := "", m.Micros
	if micros < 0 {
		sign, micros = "-", -micros
	}
	text := fmt.Sprintf("%s%d.%06d", sign, micros/1_000_000, micros%1_000_000)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + " " + m.Currency
}
