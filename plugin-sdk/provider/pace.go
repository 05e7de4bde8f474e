package provider

import (
	"errors"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// InspectionPace is what a complete list costs the infrastructure's request budget. The
// zero value says nothing: the host inspects as often as it needs to.
type InspectionPace struct {
	// MinInterval is the least time between the end of one complete list and the begin of
	// the next. The host waits that long also where it is in a hurry.
	MinInterval time.Duration
	// Requests is how many API requests a complete list of 100 instances takes.
	Requests int
	// ByKey says that an Inspect of a few keys costs about one request for each of them
	// and not a complete list: the host then asks for the keys whose outcome it doesn't
	// know, between complete lists.
	ByKey bool
}

func (p InspectionPace) check() error {
	if p.MinInterval < 0 || p.Requests < 0 || p.Requests > math.MaxInt32 {
		return errors.New("neither MinInterval nor Requests of InspectionPace can be negative")
	}
	return nil
}

func (p InspectionPace) toWire() *providerpb.InspectionPace {
	if p == (InspectionPace{}) {
		return nil
	}
	return &providerpb.InspectionPace{
		MinInterval: durationpb.New(p.MinInterval), Requests: uint32(p.Requests), ByKey: p.ByKey,
	}
}
