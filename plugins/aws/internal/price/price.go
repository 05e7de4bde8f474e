// Package price reads what machines cost out of the vendor's answers. It knows nothing
// of the SDK, so that its tests don't compile it.
package price

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Endpoint is the region whose Pricing API is asked about a region; empty: none. The
// API is in a few regions, and each has the whole list of its partition: the nearest
// answers soonest, and what breaks far away breaks nothing here. The government's
// regions have none, and their credentials are good for no other partition's.
func Endpoint(region string) string {
	for _, near := range []struct{ prefix, endpoint string }{
		{"cn-", "cn-northwest-1"},
		{"us-gov-", ""}, {"us-iso", ""}, {"eu-iso", ""}, {"eusc-", ""},
		{"eu-", "eu-central-1"}, {"af-", "eu-central-1"}, {"me-", "eu-central-1"}, {"il-", "eu-central-1"},
		{"ap-", "ap-south-1"},
	} {
		if strings.HasPrefix(region, near.prefix) {
			return near.endpoint
		}
	}
	return "us-east-1"
}

// Currency is what spot prices are in, whose answers don't say it.
func Currency(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "CNY"
	}
	return "USD"
}

// Of is an amount for an hour, such as "0.08925". What is below a millionth is
// rounded up: nothing looks cheaper than it is.
func Of(amount, currency string) (provider.Price, error) {
	exact, ok := new(big.Rat).SetString(amount)
	if !ok || strings.Trim(amount, "0123456789.") != "" || len(amount) > 40 {
		return provider.Price{}, fmt.Errorf("invalid amount %.40q", amount)
	}
	exact.Mul(exact, big.NewRat(1_000_000, 1))
	micros, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		micros.Add(micros, big.NewInt(1))
	}
	if exact.Sign() <= 0 || !micros.IsInt64() {
		return provider.Price{}, fmt.Errorf("the amount %s can't be the price of a machine", amount)
	}
	return provider.Price{Currency: currency, MicrosPerHour: micros.Int64(), Tax: provider.Net}, nil
}

// product is one line of the price list.
type product struct {
	Terms struct {
		OnDemand map[string]struct {
			Dimensions map[string]struct {
				Unit  string            `json:"unit"`
				Price map[string]string `json:"pricePerUnit"`
			} `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

// OnDemand is the price for an hour that lines of the price list agree on. None or two
// of them is an error: which is meant can't be guessed.
func OnDemand(lines []string) (provider.Price, error) {
	var found []provider.Price
	for _, line := range lines {
		var one product
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return provider.Price{}, fmt.Errorf("read a line of the price list: %w", err)
		}
		for _, term := range one.Terms.OnDemand {
			for _, dimension := range term.Dimensions {
				if dimension.Unit != "Hrs" {
					return provider.Price{}, fmt.Errorf("the price is for %.20q, and not for hours", dimension.Unit)
				}
				for currency, amount := range dimension.Price {
					price, err := Of(amount, currency)
					if err != nil {
						return provider.Price{}, err
					}
					found = append(found, price)
				}
			}
		}
	}
	if len(found) == 0 {
		return provider.Price{}, errors.New("the price list has none")
	}
	for _, other := range found[1:] {
		if other.Currency != found[0].Currency || other.MicrosPerHour != found[0].MicrosPerHour {
			return provider.Price{}, fmt.Errorf("the price list has %d that differ", len(found))
		}
	}
	return found[0], nil
}
