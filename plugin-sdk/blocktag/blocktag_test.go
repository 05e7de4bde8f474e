package blocktag_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/blocktag"
)

type disk struct {
	Size int `fleet:"size,required,immutable" doc:"Gigabytes."`
}

type machine struct {
	Label  string `fleet:"-" label:"NAME"`
	Region string `fleet:"region" default:"eu" deprecated:"Use zone."`
	Token  string `fleet:"token,sensitive"`
	Boot   *disk  `fleet:"boot,block,required" doc:"The first."`
	More   []disk `fleet:"more,block"`
	_      func()
}

func TestFieldsSayWhatTheTagsSay(t *testing.T) {
	fields, err := blocktag.Fields(reflect.TypeFor[machine]())
	if err != nil {
		t.Fatal(err)
	}
	want := []blocktag.Field{
		{Index: 1, Name: "region", HasDefault: true, Default: "eu", Deprecated: "Use zone."},
		{Index: 2, Name: "token", Sensitive: true},
		{Index: 3, Name: "boot", Block: true, Required: true, Doc: "The first."},
		{Index: 4, Name: "more", Block: true, Repeated: true},
	}
	if len(fields) != len(want) {
		t.Fatalf("got %d fields, want %d", len(fields), len(want))
	}
	for i, field := range fields {
		field.Struct = reflect.StructField{}
		if !reflect.DeepEqual(field, want[i]) {
			t.Errorf("got  %+v\nwant %+v", field, want[i])
		}
	}
}

func TestFieldsNameEveryWrongField(t *testing.T) {
	fields, err := blocktag.Fields(reflect.TypeFor[struct {
		Untagged int
		Size     int  `fleet:"size,huge"`
		Disk     disk `fleet:"disk,block"`
		Fine     int  `fleet:"fine"`
		Again    int  `fleet:"fine"`
	}]())
	for _, want := range []string{"field Untagged", "field Size", "field Disk", "field Again"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if len(fields) != 1 || fields[0].Name != "fine" {
		t.Errorf("the right one should be given all the same: %+v", fields)
	}
	if _, err := blocktag.Fields(reflect.TypeFor[int]()); err == nil {
		t.Error("a number has no fields")
	}
}

func TestOptionsThatContradictAreRefused(t *testing.T) {
	_, err := blocktag.Fields(reflect.TypeFor[struct {
		Needed int    `fleet:"needed,required" default:"1"`
		Secret string `fleet:"secret,sensitive" default:"x"`
		Fixed  *disk  `fleet:"fixed,block,immutable"`
		Hidden []disk `fleet:"hidden,block,sensitive"`
		Usual  *disk  `fleet:"usual,block" default:"x"`
		Gap    int    `fleet:"gap,,required"`
		Upper  int    `fleet:"Upper"`
	}]())
	for _, want := range []string{"field Needed", "field Secret", "field Fixed", "field Hidden", "field Usual",
		"field Gap", "field Upper"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
