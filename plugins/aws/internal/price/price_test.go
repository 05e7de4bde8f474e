package price

import (
	"reflect"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestAnAmountIsExactAndNeverRoundedDown(t *testing.T) {
	for amount, micros := range map[string]int64{
		"0.08925": 89_250, "4.2840000000": 4_284_000, "109.2": 109_200_000, "0.0000001": 1, "0.1000001": 100_001,
		"3": 3_000_000,
		"0": 0, "0.0000000000": 0, "-1": 0, "": 0, "free": 0, "1e3": 0, "1/3": 0, "99999999999999999999": 0, "0x10": 0,
		"0b10": 0, "1_0": 0, "+1": 0, "1.2.3": 0,
	} {
		got, err := Of(amount, "USD")
		if (err == nil) != (micros > 0) || err == nil && !reflect.DeepEqual(got, net(micros)) {
			t.Errorf("%q is %+v, %v, wanted %d", amount, got, err, micros)
		}
	}
}

// net is a price without value added tax, as the vendor's list has them.
func net(micros int64) provider.Price {
	return provider.Price{Currency: "USD", MicrosPerHour: micros, Tax: provider.Net}
}

const line = `{"product":{"productFamily":"Compute Instance","sku":"S"},"serviceCode":"AmazonEC2","terms":{"OnDemand":{"S.T":{"priceDimensions":
	{"S.T.R":{"unit":"Hrs","description":"$0.08925 per On Demand Linux c7i.large Instance Hour","pricePerUnit":{"USD":"0.0892500000"}}},"sku":"S"}},
	"Reserved":{"S.U":{"priceDimensions":{"S.U.R":{"unit":"Quantity","pricePerUnit":{"USD":"400"}}}}}}}`

func TestThePriceListIsReadOnlyWhereItSaysOnePriceForAnHour(t *testing.T) {
	two := strings.Replace(line, "0.0892500000", "0.1", 1)
	for name, c := range map[string]struct {
		lines []string
		says  string // empty: it is the price
	}{
		"one line":            {[]string{line}, ""},
		"two that agree":      {[]string{line, line}, ""},
		"two that don't":      {[]string{line, two}, "2 that differ"},
		"none":                {nil, "has none"},
		"a price for a month": {[]string{strings.Replace(line, `"Hrs"`, `"Mo"`, 1)}, `for "Mo"`},
		"nothing to pay": {[]string{strings.Replace(line, "0.0892500000", "0.0000000000", 1)},
			"can't be the price"},
		"a line that is not valid JSON": {[]string{"{"}, "read a line"},
		"a line without its terms":      {[]string{`{"terms":{}}`}, "has none"},
	} {
		got, err := OnDemand(c.lines)
		switch {
		case c.says == "" && (err != nil || !reflect.DeepEqual(got, net(89_250))):
			t.Errorf("%s: got %+v, %v", name, got, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: got %+v, %v, wanted an error that says %q", name, got, err, c.says)
		}
	}
}

func TestTheNearestPriceListOfThePartitionIsAsked(t *testing.T) {
	for region, endpoint := range map[string]string{
		"us-east-1": "us-east-1", "us-west-2": "us-east-1", "ca-central-1": "us-east-1", "sa-east-1": "us-east-1",
		"mx-central-1": "us-east-1",
		"eu-central-1": "eu-central-1", "eu-north-1": "eu-central-1", "me-south-1": "eu-central-1",
		"af-south-1": "eu-central-1", "il-central-1": "eu-central-1",
		"ap-south-1": "ap-south-1", "ap-northeast-1": "ap-south-1", "cn-north-1": "cn-northwest-1",
		"us-gov-west-1": "", "us-iso-east-1": "", "us-isob-east-1": "", "eu-isoe-west-1": "", "eusc-de-east-1": "",
	} {
		if got := Endpoint(region); got != endpoint {
			t.Errorf("about %s %q is asked, wanted %q", region, got, endpoint)
		}
	}
	if Currency("cn-north-1") != "CNY" || Currency("eu-west-1") != "USD" {
		t.Error("the currencies of spot prices")
	}
}
