package reason

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// Model is a forecast's model, and how far it can be relied on.
type Model struct {
	Name    string `json:"model"`
	Version int    `json:"version"`
	// Confidence is between 0 and 1, and Level its word; "": it isn't known.
	Confidence float64 `json:"confidence,omitempty"`
	Level      string  `json:"level,omitempty"`
}

func (m Model) text() string {
	if m.Level == "" {
		return fmt.Sprintf("%s version %d", m.Name, m.Version)
	}
	return fmt.Sprintf("%s version %d, confidence %s, %.2f", m.Name, m.Version, m.Level, m.Confidence)
}

// ForecastNeeds: the fleet's model expects that so many runners will be needed.
type ForecastNeeds struct {
	Runners int     `json:"runners"`
	By      Instant `json:"by"`
	// Covered says that so many are wanted already.
	Covered bool  `json:"covered,omitempty"`
	Model   Model `json:"model"`
}

// Text implements Detail.
func (d ForecastNeeds) Text() string {
	covered := ""
	if d.Covered {
		covered = ", covered already"
	}
	return fmt.Sprintf("%s needed by %s%s (%s)", text.Plural(d.Runners, "runner"), text.Clock(d.By.Time()),
		covered, d.Model.text())
}

// ForecastUnused: the fleet's forecast has no effect.
type ForecastUnused struct {
	Because Reason `json:"because"`
	Model   Model  `json:"model"`
}

// Text implements Detail.
func (d ForecastUnused) Text() string {
	return fmt.Sprintf("the forecast has no effect: %s (%s)", d.Because.Text(), d.Model.text())
}

// ForecastNotMade: no manager has made the forecast yet.
type ForecastNotMade struct{}

// Text implements Detail.
func (ForecastNotMade) Text() string { return "not made yet, a running manager makes it" }

// ForecastTooEarly: the model has seen too little of the fleet's demand.
type ForecastTooEarly struct {
	Seen  Duration `json:"seen"`
	Needs Duration `json:"needs"`
}

// Text implements Detail.
func (d ForecastTooEarly) Text() string {
	return fmt.Sprintf("it has seen %s of demand and needs %s", span(d.Seen), span(d.Needs))
}

// ForecastUntested: too little of the last day was seen to tell how good the model is.
type ForecastUntested struct {
	Tested Duration `json:"tested"`
}

// Text implements Detail.
func (d ForecastUntested) Text() string {
	return fmt.Sprintf("only %s of the last day could be compared", span(d.Tested))
}

// ForecastInaccurate: the model was too far off in the last days.
type ForecastInaccurate struct{}

// Text implements Detail.
func (ForecastInaccurate) Text() string { return "it has been too inaccurate in the last days" }

// ForecastHourNew: the model has not seen this hour before.
type ForecastHourNew struct{}

// Text implements Detail.
func (ForecastHourNew) Text() string { return "it has not seen this hour before" }

// ForecastModelUnknown: this version has no such model.
type ForecastModelUnknown struct{}

// Text implements Detail.
func (ForecastModelUnknown) Text() string { return "there is no such model" }

// ForecastHistoryUnreadable: the recorded demand can't be read from the store.
type ForecastHistoryUnreadable struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d ForecastHistoryUnreadable) Text() string {
	return "the recorded demand can't be read: " + text.Clause(d.Message)
}

// span is a time in the unit that suits it: "2 days".
func span(d Duration) string {
	switch long := time.Duration(d); {
	case long < time.Hour:
		return text.Plural(int(long.Minutes()), "minute")
	case long < 48*time.Hour:
		return text.Plural(int(long.Hours()), "hour")
	default:
		return text.Plural(int(long.Hours()/24), "day")
	}
}

var forecastReasons = []Detail{
	ForecastNeeds{Runners: 6, By: exampleInstant, Model: Model{"seasonal", 1, 0.91, "high"}},
	ForecastUnused{Of(ForecastInaccurate{}), Model{"seasonal", 1, 0.42, "low"}},
	ForecastNotMade{},
	ForecastTooEarly{Duration(30 * time.Hour), Duration(48 * time.Hour)},
	ForecastUntested{Duration(5 * time.Hour)},
	ForecastInaccurate{},
	ForecastHourNew{},
	ForecastModelUnknown{},
	ForecastHistoryUnreadable{"the disk is full"},
}
