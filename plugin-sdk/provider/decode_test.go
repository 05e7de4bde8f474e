package provider

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func mustCompile[T any](t testing.TB) *blockType {
	t.Helper()
	block, err := compileBlock[T]()
	if err != nil {
		t.Fatal(err)
	}
	return block
}

func TestDecodeFillsTheStructAndItsDefaults(t *testing.T) {
	got, found := decodeBlock[fullBlock](mustCompile[fullBlock](t), []byte(`{
		"region": "eu", "secret": null, "cpus": 8, "bytes": 1e3, "boot": "90s",
		"labels": {"team": "ci"}, "network": {"name": "lan", "mtu": null},
		"disk": {"size": 10}, "extra": [{"size": 1, "kind": "hdd"}, {"size": 2}]}`))
	if len(found) > 0 {
		t.Fatalf("complaints: %v", found)
	}
	want := fullBlock{
		Region: "eu", Fast: true, CPUs: 8, Bytes: 1000, Ratio: 0.5, Boot: 90 * time.Second,
		Zones: []string{"a", "b"}, Labels: map[string]string{"team": "ci"},
		Disk:  &noteBlock{Size: 10, Kind: "ssd"},
		Extra: []noteBlock{{Size: 1, Kind: "hdd"}, {Size: 2, Kind: "ssd"}},
	}
	want.Network.Name, want.Network.MTU = "lan", 1500
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeComplainsWithThePathOfTheFault(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want []string // every complaint, in order
	}{
		"an unknown attribute": {`{"region": "eu", "regoin": "x"}`,
			[]string{`regoin: Unsupported argument: "regoin" is not expected here.`}},
		"unknown attributes in order": {`{"region": "eu", "b": 1, "a": 1}`,
			[]string{`a: Unsupported`, `b: Unsupported`}},
		"a missing attribute":             {`{}`, []string{`region: Missing attribute`}},
		"an empty body is an empty block": {``, []string{`region: Missing attribute`}},
		"a number for a string":           {`{"region": 7}`, []string{`region: Wrong type: A string is wanted, not 7.`}},
		"a fraction for a whole number": {`{"region": "eu", "cpus": 1.5}`,
			[]string{`cpus: Wrong type: A whole number is wanted, not 1.5.`}},
		"a whole number beyond 64 bits": {`{"region": "eu", "cpus": 1e30}`, []string{`cpus: Wrong type`}},
		"an absurd exponent":            {`{"region": "eu", "cpus": 1e999999999}`, []string{`cpus: Wrong type`}},
		"a number beyond a float":       {`{"region": "eu", "ratio": 1e999}`, []string{`ratio: Wrong type`}},
		"a text for a bool":             {`{"region": "eu", "fast": "yes"}`, []string{`fast: Wrong type`}},
		"a number for a duration": {`{"region": "eu", "boot": 90}`,
			[]string{`boot: Wrong type: A duration such as "90s"`}},
		"a map for a list":  {`{"region": "eu", "zones": {}}`, []string{`zones: Wrong type: A list`}},
		"a wrong element":   {`{"region": "eu", "zones": ["a", 1]}`, []string{`zones[1]: Wrong type`}},
		"a null element":    {`{"region": "eu", "zones": [null]}`, []string{`zones[0]: Missing value`}},
		"a wrong map value": {`{"region": "eu", "labels": {"team": 1}}`, []string{`labels.team: Wrong type`}},
		"an unknown object attribute": {`{"region": "eu", "network": {"name": "x", "mut": 1}}`,
			[]string{`network.mut: Unsupported argument`}},
		"a missing object attribute": {`{"region": "eu", "network": {}}`, []string{`network.name: Missing attribute`}},
		"a fault in a block":         {`{"region": "eu", "disk": {"size": "x"}}`, []string{`disk.size: Wrong type`}},
		"a fault in a repeated block": {`{"region": "eu", "extra": [{"size": 1}, {"sise": 1}]}`,
			[]string{`extra[1].size: Missing`, `extra[1].sise: Unsupported`}},
		"a text for a block": {`{"region": "eu", "disk": "x"}`, []string{`disk: Wrong type: A block`}},
		"one block for a list of them": {`{"region": "eu", "extra": {"size": 1}}`,
			[]string{`extra: Wrong type: A list of blocks`}},
		"a list for the body":         {`[]`, []string{`Wrong type: A block`}},
		"text that is not valid JSON": {`{"region": }`, []string{`The block is not valid JSON`}},
		"something after the end":     {`{} {}`, []string{`The block is not valid JSON`}},
		"a deprecated attribute as a hint": {`{"region": "eu", "old": "x"}`,
			[]string{`old: "old" is deprecated: Use region.`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := decodeBlock[fullBlock](mustCompile[fullBlock](t), []byte(test.body))
			if len(found) != len(test.want) {
				t.Fatalf("got %v, wanted %v", found, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(found[i].Error(), want) {
					t.Errorf("got %q, wanted %q", found[i].Error(), want)
				}
			}
		})
	}
}

func TestComplaintsDoNotQuoteSecrets(t *testing.T) {
	type secrets struct {
		Key  int            `fleet:"key,sensitive"`
		Keys map[string]int `fleet:"keys,sensitive"`
	}
	block := mustCompile[secrets](t)
	for _, body := range []string{`{"key": "hunter2"}`, `{"keys": {"a": "hunter2"}}`, `{"key": "hunter2`} {
		_, found := decodeBlock[secrets](block, []byte(body))
		if len(found) != 1 || strings.Contains(found[0].Error(), "hunter2") {
			t.Errorf("%s: got %v", body, found)
		}
	}
}

type requiredBlocks struct {
	One  *noteBlock  `fleet:"one,block,required"`
	Many []noteBlock `fleet:"many,block,required"`
}

func TestRequiredBlocksAreMissed(t *testing.T) {
	for _, body := range []string{`{}`, `{"one": null, "many": []}`} {
		_, found := decodeBlock[requiredBlocks](mustCompile[requiredBlocks](t), []byte(body))
		if len(found) != 2 || found[0].Summary != "Missing block" || found[1].Summary != "Missing block" {
			t.Errorf("%s: got %v", body, found)
		}
	}
}

type ruledBlock struct {
	Nice int `fleet:"nice"`
}

func (b ruledBlock) Validate() []Diagnostic {
	if b.Nice > 19 {
		return []Diagnostic{{Summary: "Too nice", Path: At("nice")}}
	}
	return nil
}

func TestStructsOwnRulesAreAskedOnceTheTypesAreRight(t *testing.T) {
	block := mustCompile[ruledBlock](t)
	for body, want := range map[string]string{
		`{"nice": 3}`:   "",
		`{"nice": 20}`:  "nice: Too nice",
		`{"nice": "x"}`: `nice: Wrong type: A whole number is wanted, not "x".`,
	} {
		_, found := decodeBlock[ruledBlock](block, []byte(body))
		got := ""
		if len(found) > 0 {
			got = found[0].Error()
		}
		if got != want || len(found) > 1 {
			t.Errorf("%s: got %v, wanted %q", body, found, want)
		}
	}
}

func TestPathsDoNotShareTheirSteps(t *testing.T) {
	base := At("a").Attr("b")
	first, second := base.Index(1), base.Index(2)
	if first.String() != "a.b[1]" || second.String() != "a.b[2]" {
		t.Errorf("got %s and %s", first, second)
	}
}

// FuzzDecode: no body may panic; what is accepted must be JSON, must decode the
// same twice, and every path in a complaint must print.
func FuzzDecode(f *testing.F) {
	block, err := compileBlock[fullBlock]()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"region":"eu","disk":{"size":1},"extra":[{"size":1}]}`,
		`{"region":"eu","network":{"name":"x","mtu":1e2},"labels":{"":"x"}}`,
		`{"region":"eu","cpus":-0,"ratio":1e-300,"boot":"1h1m"}`, `{"region":"eu","extra":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		first, found := decodeBlock[fullBlock](block, body)
		for _, complaint := range found {
			_ = complaint.Error()
		}
		if hasErrors(found) {
			return
		}
		if len(body) > 0 && !json.Valid(body) {
			t.Errorf("accepted %q", body)
		}
		second, _ := decodeBlock[fullBlock](block, body)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("decoded to %+v and to %+v", first, second)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	block := mustCompile[fullBlock](b)
	body := []byte(
		`{"region":"eu","cpus":8,"boot":"90s","labels":{"team":"ci"},"network":{"name":"lan"},"disk":{"size":10},"extra":[{"size":1},{"size":2}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, found := decodeBlock[fullBlock](block, body); len(found) > 0 {
			b.Fatal(found)
		}
	}
}
