package ec2sim

import (
	"slices"
	"time"
)

type offeringsAnswer struct {
	header
	Offerings []offeringXML `xml:"instanceTypeOfferingSet>item"`
	NextToken string        `xml:"nextToken,omitempty"`
}

type offeringXML struct {
	number   int
	Type     string `xml:"instanceType"`
	Kind     string `xml:"locationType"`
	Location string `xml:"location"`
}

func (o offeringXML) sequence() int { return o.number }

var offeringFilters = attributes[offeringXML]{
	"instance-type": func(o offeringXML) []string { return []string{o.Type} },
	"location":      func(o offeringXML) []string { return []string{o.Location} },
}

func (s *Simulator) describeInstanceTypeOfferings(_ time.Time, request form) (answer, *apiError) {
	kind := orElse(request["LocationType"], "region")
	var all []offeringXML
	for index := range instanceTypes {
		one := &instanceTypes[index]
		if kind == "region" {
			all = append(all, offeringXML{len(all) + 1, one.Name, kind, s.options.Region})
			continue
		}
		for _, at := range s.world.zones {
			location, known := map[string]string{"availability-zone": at.Name, "availability-zone-id": at.ID}[kind]
			if !known {
				return nil, refuse(400, "InvalidParameterValue", "Value (%s) for parameter locationType is invalid.", kind)
			}
			if !one.missingIn(at) {
				all = append(all, offeringXML{len(all) + 1, one.Name, kind, location})
			}
		}
	}
	shown, token, refusal := show(s, "DescribeInstanceTypeOfferings", request, all, offeringFilters, nil, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	return &offeringsAnswer{Offerings: shown, NextToken: token}, nil
}

type spotPricesAnswer struct {
	header
	Prices    []spotPriceXML `xml:"spotPriceHistorySet>item"`
	NextToken string         `xml:"nextToken"`
}

type spotPriceXML struct {
	number  int
	Type    string `xml:"instanceType"`
	Product string `xml:"productDescription"`
	Price   string `xml:"spotPrice"`
	Time    string `xml:"timestamp"`
	Zone    string `xml:"availabilityZone"`
}

func (p spotPriceXML) sequence() int { return p.number }

var spotPriceFilters = attributes[spotPriceXML]{
	"instance-type":       func(p spotPriceXML) []string { return []string{p.Type} },
	"product-description": func(p spotPriceXML) []string { return []string{p.Product} },
	"spot-price":          func(p spotPriceXML) []string { return []string{p.Price} },
	"timestamp":           func(p spotPriceXML) []string { return []string{p.Time} },
	"availability-zone":   func(p spotPriceXML) []string { return []string{p.Zone} },
}

// describeSpotPriceHistory gives the price of each whole hour from StartTime to
// EndTime, the latest first, and the one before: a price holds until the next.
func (s *Simulator) describeSpotPriceHistory(now time.Time, request form) (answer, *apiError) {
	start, refusal := moment(request, "StartTime", now.Add(-24*time.Hour))
	if refusal != nil {
		return nil, refusal
	}
	end, refusal := moment(request, "EndTime", now)
	if refusal != nil {
		return nil, refusal
	}
	if end.After(now) {
		end = now
	}
	if start.Before(now.Add(-90 * 24 * time.Hour)) {
		start = now.Add(-90 * 24 * time.Hour) // The history goes no further back.
	}
	types, products := request.texts("InstanceType"), request.texts("ProductDescription")
	all := s.spotPrices(start, end, types)
	if len(products) > 0 && !slices.Contains(products, "Linux/UNIX") {
		all = nil
	}
	if zone := request["AvailabilityZone"]; zone != "" {
		all = slices.DeleteFunc(all, func(p spotPriceXML) bool { return p.Zone != zone })
	}
	shown, token, refusal := show(s, "DescribeSpotPriceHistory", request, all, spotPriceFilters, nil, 1, 1000)
	if refusal != nil {
		return nil, refusal
	}
	return &spotPricesAnswer{Prices: shown, NextToken: token}, nil
}

func (s *Simulator) spotPrices(start, end time.Time, types []string) []spotPriceXML {
	var all []spotPriceXML
	for hour := end.Truncate(time.Hour); ; hour = hour.Add(-time.Hour) {
		for index := range instanceTypes {
			one := &instanceTypes[index]
			if one.onDemandOnly || len(types) > 0 && !slices.Contains(types, one.Name) {
				continue
			}
			for zoneIndex, at := range s.world.zones {
				if !one.missingIn(at) {
					all = append(all,
						spotPriceXML{len(all) + 1, one.Name, "Linux/UNIX", one.spotPrice(zoneIndex, hour.UTC()), wireTime(hour), at.Name})
				}
			}
		}
		if !hour.After(start) {
			return all
		}
	}
}

// moment reads a time as the query protocol writes it.
func moment(request form, name string, missing time.Time) (time.Time, *apiError) {
	text, ok := request[name]
	if !ok {
		return missing, nil
	}
	read, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{},
			refuse(400, "InvalidParameterValue",
				"Value (%s) for parameter %s is invalid. Expected a time such as 2026-11-30T06:00:00Z.", text, name)
	}
	return read, nil
}
