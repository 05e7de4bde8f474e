package reason

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestEveryReasonIsComparableAndSurvivesJSON(t *testing.T) {
	seen := map[Code]bool{}
	for _, g := range Groups() {
		for _, d := range g.Examples {
			r := Of(d)
			t.Run(string(r.Code()), func(t *testing.T) {
				if seen[r.Code()] {
					t.Error("it is listed twice")
				}
				seen[r.Code()] = true
				if !reflect.TypeOf(d).Comparable() {
					t.Fatal("its type isn't comparable")
				}
				written, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				var read Reason
				if err := json.Unmarshal(written, &read); err != nil {
					t.Fatal(err)
				}
				if read != r {
					t.Errorf("%s became %#v", written, read.Params)
				}
			})
		}
	}
}

var badPhrase = regexp.MustCompile(`^[A-Z][a-z]|\.$|%!|  |\n|forgeyard-fleet|\b(anew|nobody|whoever|in vain)\b`)

func TestTextsArePhrasesInPlainEnglish(t *testing.T) {
	for _, g := range Groups() {
		for _, d := range g.Examples {
			if said := d.Text(); said == "" || badPhrase.MatchString(said) {
				t.Errorf("%s: %q", Of(d).Code(), said)
			}
			zero := reflect.Zero(reflect.TypeOf(d)).Interface().(Detail)
			if said := zero.Text(); strings.Contains(said, "%!") {
				t.Errorf("%s without parameters: %q", Of(d).Code(), said)
			}
		}
	}
}

func TestWhatAnotherVersionWroteStaysAsItIs(t *testing.T) {
	for name, written := range map[string]string{
		"an unknown code":      `{"code":"phase_of_the_moon","params":{"phase":"full"},"text":"the moon is full"}`,
		"an unknown parameter": `{"code":"stored_text","params":{"words":"a","lines":2},"text":"a"}`,
		"no parameters":        `{"code":"phase_of_the_moon","text":"the moon is full"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var r Reason
			if err := json.Unmarshal([]byte(written), &r); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != written {
				t.Errorf("%s became %s", written, again)
			}
			if r.Text() == "" || r.Code() == "" {
				t.Errorf("code %q, text %q", r.Code(), r.Text())
			}
		})
	}
}

func TestReasonThatWasStoredAsATextIsRead(t *testing.T) {
	for written, want := range map[string]Reason{`"it failed."`: Plain("it failed."), `""`: {}} {
		var r Reason
		if err := json.Unmarshal([]byte(written), &r); err != nil || r != want {
			t.Errorf("%s became %#v, %v", written, r.Params, err)
		}
	}
}

func TestNoReasonIsNull(t *testing.T) {
	var holder struct {
		Reason Reason `json:"reason"`
		Other  Reason `json:"other,omitzero"`
	}
	written, err := json.Marshal(holder)
	if err != nil || string(written) != `{"reason":null}` {
		t.Errorf("%s, %v", written, err)
	}
	if err := json.Unmarshal(written, &holder); err != nil || !holder.Reason.IsZero() {
		t.Errorf("%v, %v", holder.Reason, err)
	}
	if holder.Reason.Code() != "" || holder.Reason.Text() != "" || holder.Reason.Commands() != nil {
		t.Error("no reason has a code, a text or a command")
	}
}

func TestKindsOfReasonsAreToldApart(t *testing.T) {
	r := Of(StoredText{"a"})
	if d, ok := As[StoredText](r); !ok || d.Words != "a" {
		t.Errorf("As gives %v, %v", d, ok)
	}
	if Is[Unknown](r) || !Is[StoredText](r) || Is[StoredText](Reason{}) {
		t.Error("Is takes one kind for another")
	}
	if CodeOf[StoredText]() != "stored_text" || r.Code() != "stored_text" {
		t.Errorf("codes %q and %q", CodeOf[StoredText](), r.Code())
	}
}

func TestListsShowTheFirstAndCountTheRest(t *testing.T) {
	l := ListOf("a", "b", "c", "d", "e", "f")
	if l != ListOf("a", "b", "c", "d", "e", "f") || l == ListOf("a", "b", "c", "d", "e") {
		t.Error("lists don't compare by what they say")
	}
	got := strings.Join(l.parts(func(s string) string { return s }), " ")
	if got != "a b c d 2 more" || l.Len() != 6 {
		t.Errorf("%q of %d", got, l.Len())
	}
}

// Codes are stored and documented: a new name for a type must not change them.
func TestCodesAreTheTypesNamesInSnakeCase(t *testing.T) {
	for name, want := range map[string]string{"Note": "note", "LimitedByMax": "limited_by_max", "AChange": "a_change"} {
		if got := snakeCase(name); got != want {
			t.Errorf("%s has the code %q, want %q", name, got, want)
		}
	}
	if got := Of(LimitedByMax{}).Code(); got != "limited_by_max" {
		t.Errorf("a reason has the code %q", got)
	}
}

func TestSameCauseLooksThroughWhatItLedTo(t *testing.T) {
	cause := Of(ProviderError{Message: "refused"})
	for _, r := range []Reason{
		Of(FailuresInRow{Failures: 1, Last: cause}), Of(ProviderDown{Because: cause}), Of(OffersUnknown{Because: cause}),
		cause,
	} {
		if !SameCause(r, cause) {
			t.Errorf("%s isn't about its cause", r.Code())
		}
	}
	if SameCause(Of(LimitedByMax{Max: 4}), cause) {
		t.Error("a limit is about a failure")
	}
}
