package reason

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRememberedConversionsStayRightAndBounded(t *testing.T) {
	for n := range 2*memoEntries + 1 {
		for range 2 { // the second time from memory
			want := Of(RaisedToMin{Min: n})
			content, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got Reason
			if err := json.Unmarshal(content, &got); err != nil || got != want {
				t.Fatalf("%s is read as %+v, %v; want %+v", content, got, err, want)
			}
		}
	}
	long := Of(StoredText{Words: strings.Repeat("x", memoBytes)})
	if _, err := json.Marshal(long); err != nil {
		t.Fatal(err)
	}
	if _, kept := conversions.jsonOf(long.Params); kept {
		t.Error("a long reason is remembered")
	}
	if len(conversions.read) > memoEntries || len(conversions.wrote) > memoEntries {
		t.Errorf("%d and %d conversions are remembered", len(conversions.read), len(conversions.wrote))
	}
}
