package plainjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

type job struct {
	Count      int            `json:"count"`
	Small      int8           `json:"small"`
	Priority   *int           `json:"priority,omitempty"`
	Wait       float64        `json:"wait"`
	Size       uint16         `json:"size"`
	Names      []string       `json:"names"`
	Named      map[string]int `json:"named"`
	Hidden     int            `json:"-"`
	Unnamed    bool
	ObservedAt time.Time `json:"observed_at"`
	Raw        []byte    `json:"raw"`
	Any        any       `json:"any"`
}

// own reads itself by the type below it, as groups of jobs do.
type own struct {
	Inner job `json:"inner"`
}

func (o *own) UnmarshalJSON(content []byte) error {
	type plain own
	if err := json.Unmarshal(content, (*plain)(o)); err != nil {
		return fmt.Errorf("own: %w", err)
	}
	if o.Inner.Count > 100 {
		return errors.New("that is more than anybody reads")
	}
	return nil
}

type embedded struct{ Revision int64 }

type answer struct {
	embedded
	Queued []job             `json:"queued"`
	Own    []own             `json:"own"`
	Secret map[string]string `json:"secret"`
}

// An operator once had to know Go to see what was wrong with a scheduler's answer:
// "json: cannot unmarshal string into Go struct field Queued.queued.count of type int".
func TestWhatIsWrongIsToldByItsPlaceWhatIsExpectedAndWhatCame(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"nothing": {" ", "it is empty, and JSON is expected"},
		"a page": {"\n<!doctype html><html>",
			"it is a page of HTML or XML, and JSON is expected; does something else answer at this address?"},
		"half an answer": {`{"queued": [{"count": 1`, "it ends in the middle of a value, after 23 bytes"},
		"no JSON": {"{\"queued\":\n  [{\"count\": NaN}]}",
			"it is not valid JSON: something else is expected at line 2, column 14, and 'N' is there"},
		"two answers": {`{} {}`, "something follows the end of its JSON, at line 1, column 4"},
		"too deep": {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
			"it is nested too deeply, at line 1, column 10001"},
		"a control character": {"{\x01}",
			"it is not valid JSON: something else is expected at line 1, column 2, and a character is there that " +
				"can't be shown"},
		"a list for the whole": {`[]`, "an object is expected, and it is a list"},
		"a text for the whole": {`"x"`, "an object is expected, and it is a text"},
		"a number as a text": {`{"queued": [{}, {"count": "7"}]}`,
			`queued[1].count: a whole number is expected, and it is the text "7"`},
		"half a job": {`{"queued": [{"count": 1.5}]}`,
			`queued[0].count: a whole number is expected, and it is the number 1.5`},
		"more than a number holds": {`{"queued": [{"small": 128}]}`,
			`queued[0].small: a whole number from -128 to 127 is expected, and it is the number 128`},
		"less than none": {`{"queued": [{"size": -1}]}`,
			`queued[0].size: a whole number from 0 to 65535 is expected, and it is the number -1`},
		"beyond all numbers": {`{"queued": [{"wait": 1e400}]}`,
			`queued[0].wait: a number is expected, and it is the number 1e400`},
		"in what may be left out": {`{"queued": [{"priority": {}}]}`,
			`queued[0].priority: a whole number is expected, and it is an object`},
		"an object for a list": {`{"queued": {}}`, `queued: a list is expected, and it is an object`},
		"a number among texts": {`{"queued": [{"names": ["a", 5]}]}`,
			`queued[0].names[1]: a text is expected, and it is a number`},
		"in a map": {`{"queued": [{"named": {"gpu": true}}]}`,
			`queued[0].named["gpu"]: a whole number is expected, and it is true`},
		"in other letters": {`{"Queued": [{"COUNT": []}]}`,
			`queued[0].count: a whole number is expected, and it is a list`},
		"in a member without a name": {`{"queued": [{"Unnamed": "yes"}]}`,
			`queued[0].Unnamed: true or false is expected, and it is the text "yes"`},
		"in an embedded struct": {`{"Revision": "x"}`,
			`Revision: a whole number is expected, and it is the text "x"`},
		"a day for a time": {`{"queued": [{"observed_at": "today"}]}`,
			`queued[0].observed_at: a time such as 2027-01-10T08:00:00Z is expected, and it is the text "today"`},
		"a number for a time": {`{"queued": [{"observed_at": 5}]}`,
			`queued[0].observed_at: a time such as 2027-01-10T08:00:00Z is expected, and it is the number 5`},
		"a number for bytes": {`{"queued": [{"raw": 5}]}`,
			`queued[0].raw: a text in base64 is expected, and it is a number`},
		"in a type that reads itself": {`{"own": [{"inner": {"count": "1"}}]}`,
			`own[0].inner.count: a whole number is expected, and it is the text "1"`},
		"what a type itself doesn't take": {`{"own": [{"inner": {"count": 101}}]}`, `that is more than anybody reads`},
		"a long text": {`{"queued": [{"count": "` + strings.Repeat("x", 90) + `"}]}`,
			`queued[0].count: a whole number is expected, and it is the text "` + strings.Repeat("x", 39) + `…`},
		"a terminal's trap": {`{"queued": [{"count": "a\u001b[31m\nb"}]}`,
			`queued[0].count: a whole number is expected, and it is the text "a\x1b[31m\nb"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := plainjson.Read([]byte(test.content), new(answer))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestNothingOfATextIsToldWhereASecretMayBe(t *testing.T) {
	for _, content := range []string{`{"secret": "s3cr3t"}`, `{"secret": {"TOKEN": 73577357}}`, `{"secret": ["s3cr3t"]}`,
		`{"secret": {"a": {"b": "s3cr3t"}}}`} {
		err := plainjson.Read([]byte(content), new(answer))
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "7357") ||
			!strings.HasPrefix(err.Error(), "secret") {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, content := range []string{`{"queued": [{"count": "7"}]}`, `{"own": [{"inner": {"observed_at": 1}}]}`, `<html>`,
		`{"secret": {"a": 1}}`, `{"queued": [null, {"named": {"": []}}]}`} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var one, other answer
		err := plainjson.Read(content, &one)
		plain := json.Unmarshal(content, &other)
		if (err == nil) != (plain == nil) {
			t.Fatalf("it says %v, and encoding/json %v", err, plain)
		}
		if err == nil && !reflect.DeepEqual(one, other) {
			t.Fatalf("read %+v, want %+v", one, other)
		}
		if err != nil && strings.Contains(err.Error(), "Go ") {
			t.Fatalf("the library's words: %v", err)
		}
	})
}
