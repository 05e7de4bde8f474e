package fleet

import (
	"fmt"
	"math/big"
	"regexp"
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

// About is the amount for a person to whom it is an estimate: rounded up to
// hundredths where it is one or more.
func (m Money) About() string {
	const hundredth = 10_000
	if rest := m.Micros % hundredth; m.Micros >= 1_000_000 && rest > 0 {
		m.Micros -= rest
		m = m.Plus(Money{Micros: hundredth})
	}
	return m.String()
}

var (
	moneyForm     = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([A-Za-z$€£]*)$`)
	currencyForm  = regexp.MustCompile(`^[A-Z]{3}$`)
	negativeMoney = regexp.MustCompile(`^-[0-9]`)
)

// ParseMoney reads "0.192 USD". Currencies are three capital letters, as banks
// write them; a sign such as $ is several currencies.
func ParseMoney(text string) (Money, error) {
	const form = "money is like \"0.192 USD\": an amount with at most six decimal places and a currency of three " +
		"capital letters"
	if negativeMoney.MatchString(text) {
		return Money{}, fmt.Errorf("money can't be negative; %s", form)
	}
	part := moneyForm.FindStringSubmatch(text)
	switch {
	case part == nil:
		return Money{}, fmt.Errorf("%s", form)
	case part[2] == "":
		return Money{}, fmt.Errorf("the currency is missing; %s", form)
	case !currencyForm.MatchString(part[2]):
		return Money{}, fmt.Errorf("unknown currency %.40q; %s", part[2], form)
	}
	amount, _ := new(big.Rat).SetString(part[1])
	micros := amount.Mul(amount, new(big.Rat).SetInt64(1_000_000)).Num()
	if micros.Sign() == 0 {
		return Money{}, fmt.Errorf("the amount is more than zero; %s", form)
	}
	return Money{Micros: micros.Int64(), Currency: part[2]}, nil
}
