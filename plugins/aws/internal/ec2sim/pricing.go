package ec2sim

import (
	"time"
)

// priceFilter is one condition of GetProducts; a product must meet all.
type priceFilter struct {
	Type, Field, Value string
}

// product is one line of the price list, as it is within the list's text.
type product struct {
	Product struct {
		Family     string            `json:"productFamily"`
		Attributes map[string]string `json:"attributes"`
		SKU        string            `json:"sku"`
	} `json:"product"`
	Service string         `json:"serviceCode"`
	Terms   map[string]any `json:"terms"`
	Version string         `json:"version"`
	Date    string         `json:"publicationDate"`
}

// getProducts gives the prices on demand of Linux in this region, each product
// a text of JSON within the JSON, as the API does.
func (s *Simulator) getProducts(now time.Time, body []byte) (any, *apiError) {
	var request struct {
		Service   string `json:"ServiceCode"`
		Filters   []priceFilter
		Format    string `json:"FormatVersion"`
		NextToken string
		Most      int `json:"MaxResults"`
	}
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	if request.Service != "AmazonEC2" {
		return nil, refuse(400, "NotFoundException", "The service code %q was not found", request.Service)
	}
	var lines []string
	for index := range instanceTypes {
		one := s.price(&instanceTypes[index], now)
		fits, refusal := one.meets(request.Filters)
		if refusal != nil {
			return nil, refusal
		}
		if fits {
			lines = append(lines, string(encodeJSON(one)))
		}
	}
	shown, token, refusal := jsonPage(s, "GetProducts", listRequest{NextToken: request.NextToken, Most: request.Most},
		lines)
	if refusal != nil {
		return nil, refusal
	}
	answer := map[string]any{"FormatVersion": "aws_v1", "PriceList": shown}
	if token != "" {
		answer["NextToken"] = token
	}
	return answer, nil
}

func (p product) meets(filters []priceFilter) (bool, *apiError) {
	for _, filter := range filters {
		if filter.Type != "TERM_MATCH" {
			return false,
				refuse(400, "InvalidParameterException", "The filter type %q is none that the simulator has; use TERM_MATCH",
					filter.Type)
		}
		value, ok := p.Product.Attributes[filter.Field]
		if !ok {
			return false, refuse(400, "InvalidParameterException", "The product has no attribute %q", filter.Field)
		}
		if value != filter.Value {
			return false, nil
		}
	}
	return true, nil
}

func (s *Simulator) price(kind *instanceType, now time.Time) product {
	var one product
	sku := "SIM" + kind.Name
	tenancy, family := "Shared", "Compute Instance"
	switch {
	case kind.mac():
		tenancy, family = "Host", "Dedicated Host"
	case kind.metal():
		family = "Compute Instance (bare metal)"
	}
	one.Product.Family, one.Product.SKU, one.Service = family, sku, "AmazonEC2"
	one.Product.Attributes = map[string]string{
		"servicecode": "AmazonEC2", "regionCode": s.options.Region, "instanceType": kind.Name, "operatingSystem": "Linux",
		"tenancy": tenancy, "preInstalledSw": "NA", "capacitystatus": "Used", "licenseModel": "No License required",
		"marketoption": "OnDemand", "operation": "RunInstances", "productFamily": family,
	}
	term, rate := sku+".JRTCKXETXF", sku+".JRTCKXETXF.6YS6EN2CT7"
	one.Terms = map[string]any{"OnDemand": map[string]any{term: map[string]any{
		"sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": "2026-11-01T00:00:00Z",
		"termAttributes": map[string]string{},
		"priceDimensions": map[string]any{rate: map[string]any{
			"rateCode": rate, "unit": "Hrs", "beginRange": "0", "endRange": "Inf", "appliesTo": []string{},
			"description":  "$" + kind.OnDemand + " per On Demand Linux " + kind.Name + " Instance Hour",
			"pricePerUnit": map[string]string{"USD": kind.OnDemand},
		}},
	}}}
	one.Version, one.Date = "20261101000000", now.UTC().Truncate(24*time.Hour).Format(time.RFC3339)
	return one
}
