package provider

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

type noteBlock struct {
	Size int    `fleet:"size,required,immutable" doc:"Gigabytes."`
	Kind string `fleet:"kind" default:"ssd"`
}

type fullBlock struct {
	Region  string            `fleet:"region,required" doc:"Where."`
	Secret  string            `fleet:"secret,sensitive"`
	Fast    bool              `fleet:"fast" default:"true"`
	CPUs    int               `fleet:"cpus,immutable" default:"4"`
	Bytes   int64             `fleet:"bytes"`
	Ratio   float64           `fleet:"ratio" default:"0.5"`
	Boot    time.Duration     `fleet:"boot" default:"5m"`
	Zones   []string          `fleet:"zones" default:"[\"a\",\"b\"]"`
	Labels  map[string]string `fleet:"labels"`
	Network struct {
		Name string `fleet:"name,required"`
		MTU  int    `fleet:"mtu" default:"1500"`
	} `fleet:"network"`
	Old     string      `fleet:"old" deprecated:"Use region."`
	Disk    *noteBlock  `fleet:"disk,block" doc:"The disk."`
	Extra   []noteBlock `fleet:"extra,block"`
	Ignored chan int    `fleet:"-"`
	_       func()
}

func TestTagsBecomeTheSchema(t *testing.T) {
	block, err := compileBlock[fullBlock]()
	if err != nil {
		t.Fatal(err)
	}
	note := `{"version": 1, "attributes": [
		{"name": "size", "type": {"kind": "KIND_INT"}, "doc": "Gigabytes.", "required": true, "immutable": true},
		{"name": "kind", "type": {"kind": "KIND_STRING"}, "defaultJson": "\"ssd\""}]}`
	want := &providerpb.Schema{}
	if err := protojson.Unmarshal([]byte(`{"version": 1, "attributes": [
		{"name": "region", "type": {"kind": "KIND_STRING"}, "doc": "Where.", "required": true},
		{"name": "secret", "type": {"kind": "KIND_STRING"}, "sensitive": true},
		{"name": "fast", "type": {"kind": "KIND_BOOL"}, "defaultJson": "true"},
		{"name": "cpus", "type": {"kind": "KIND_INT"}, "immutable": true, "defaultJson": "4"},
		{"name": "bytes", "type": {"kind": "KIND_INT"}},
		{"name": "ratio", "type": {"kind": "KIND_NUMBER"}, "defaultJson": "0.5"},
		{"name": "boot", "type": {"kind": "KIND_DURATION"}, "defaultJson": "\"5m\""},
		{"name": "zones", "type": {"kind": "KIND_LIST", "element": {"kind": "KIND_STRING"}}, "defaultJson": "[\"a\",\"b\"]"},
		{"name": "labels", "type": {"kind": "KIND_MAP", "element": {"kind": "KIND_STRING"}}},
		{"name": "network", "type": {"kind": "KIND_OBJECT", "attributes": [
			{"name": "name", "type": {"kind": "KIND_STRING"}, "required": true},
			{"name": "mtu", "type": {"kind": "KIND_INT"}, "defaultJson": "1500"}]}},
		{"name": "old", "type": {"kind": "KIND_STRING"}, "deprecated": "Use region."}],
		"blocks": [
			{"name": "disk", "doc": "The disk.", "schema": `+note+`},
			{"name": "extra", "repeated": true, "schema": `+note+`}]}`), want); err != nil {
		t.Fatal(err)
	}
	if got := block.toWire(); !proto.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", protojson.Format(got), protojson.Format(want))
	}
}

type selfNesting struct {
	Inner []selfNesting `fleet:"inner,block"`
}

// An author's own test calls Check; each of these must be found by it.
func TestBadTagsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no tag": {checkBlock[struct{ Size int }](), "no fleet tag"},
		"a name with capitals": {checkBlock[struct {
			Size int `fleet:"Size"`
		}](), `name "Size"`},
		"an empty name": {checkBlock[struct {
			Size int `fleet:",required"`
		}](), `name ""`},
		"an unknown option": {checkBlock[struct {
			Size int `fleet:"size,requird"`
		}](), `unknown option "requird"`},
		"an empty option": {checkBlock[struct {
			Size int `fleet:"size,,required"`
		}](), "an option is empty"},
		"the same name twice": {checkBlock[struct {
			A int `fleet:"size"`
			B int `fleet:"size"`
		}](), "taken by field A"},
		"required with a default": {checkBlock[struct {
			Size int `fleet:"size,required" default:"1"`
		}](), "can't have a default"},
		"a secret with a default": {checkBlock[struct {
			Key string `fleet:"key,sensitive" default:"x"`
		}](), "secret can't have a default"},
		"a default of another type": {checkBlock[struct {
			Size int `fleet:"size" default:"big"`
		}](), "not valid JSON"},
		"a default that doesn't fit": {checkBlock[struct {
			Size int `fleet:"size" default:"1.5"`
		}](), "A whole number is wanted"},
		"a default that isn't a duration": {checkBlock[struct {
			Boot time.Duration `fleet:"boot" default:"5 minutes"`
		}](), "A duration"},
		"a type that can't cross": {checkBlock[struct {
			C chan int `fleet:"c"`
		}](), "can't be an attribute"},
		"an unsigned number": {checkBlock[struct {
			Size uint `fleet:"size"`
		}](), "can't be an attribute"},
		"a map with int keys": {checkBlock[struct {
			M map[int]string `fleet:"m"`
		}](), "string keys"},
		"a block that isn't a struct": {checkBlock[struct {
			B []string `fleet:"b,block"`
		}](), "*T or []T"},
		"a block by value": {checkBlock[struct {
			B noteBlock `fleet:"b,block"`
		}](), "*T or []T"},
		"an immutable block": {checkBlock[struct {
			B *noteBlock `fleet:"b,block,immutable"`
		}](), "belong to the block's attributes"},
		"a block within an object": {checkBlock[struct {
			O struct {
				B *noteBlock `fleet:"b,block"`
			} `fleet:"o"`
		}](), "can't have blocks"},
		"a fault in a nested block": {checkBlock[struct {
			B []struct{ X int } `fleet:"b,block"`
		}](), "field X"},
		"a struct within itself": {checkBlock[selfNesting](), "contains itself"},
		"no struct":              {checkBlock[string](), "not a struct"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
				t.Errorf("got %v, wanted an error that says %q", test.err, test.want)
			}
		})
	}
}

func checkBlock[T any]() error {
	return Plugin[struct{}, T]{
		Name: "acme", Version: "1.0.0",
		New: func(context.Context, struct{}, Environment) (Provider[T], error) { return nil, nil },
	}.Check()
}

func TestCheckNamesEveryFaultAtOnce(t *testing.T) {
	err := Plugin[string, struct{ X int }]{Name: "Acme", Parallel: -1}.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`name "Acme"`, "version is empty", "field New is nil", "negative", "provider block",
		"instance block", "field X"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}

func TestAttestationsAreDeclaredOnceAndKnown(t *testing.T) {
	declared := func(words ...string) error {
		plugin := Plugin[struct{}, struct{}]{Name: "acme", Version: "1", Attestations: words}
		plugin.New = func(context.Context, struct{}, Environment) (Provider[struct{}], error) { return nil, nil }
		return plugin.Check()
	}
	if err := declared(AttestKVM, AttestGPU); err != nil {
		t.Error(err)
	}
	for _, words := range [][]string{{"tpm"}, {"kvm", "kvm"}, {""}} {
		if err := declared(words...); err == nil || !strings.Contains(err.Error(), "Attestations has") {
			t.Errorf("%q: %v", words, err)
		}
	}
}
