package ec2sim

import (
	"net/url"
	"reflect"
	"testing"
)

func TestListsAreReadInTheOrderOfTheirNumbers(t *testing.T) {
	request, refusal := parseForm("Id.10=c&Id.2=b&Id.1=a&Filter.1.Name=tag%3Afleet&Filter.1.Value.1=x&Filter.1.Value.2=y")
	if refusal != nil {
		t.Fatal(refusal)
	}
	if got, want := request.texts("Id"), []string{"a", "b", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the list is %q, want %q", got, want)
	}
	filters := request.structures("Filter")
	if len(filters) != 1 || filters[0]["Name"] != "tag:fleet" ||
		!reflect.DeepEqual(filters[0].texts("Value"), []string{"x", "y"}) {
		t.Errorf("the filters are %v", filters)
	}
}

func TestANameThatComesTwiceIsRefused(t *testing.T) {
	if _, refusal := parseForm("Action=a&Action=b"); refusal == nil || refusal.code != "MalformedQueryString" {
		t.Errorf("the refusal is %v", refusal)
	}
}

// FuzzForm holds that no body makes the parser or a launch panic, and that what
// is read can be written and read again.
func FuzzForm(f *testing.F) {
	f.Add("Action=RunInstances&Version=2016-11-15&MinCount=1&MaxCount=1&ImageId=ami-0a000000000000001&InstanceType=c7i.large")
	f.Add("TagSpecification.1.Tag.999999999999999999999.Key=a&TagSpecification.1.ResourceType=instance")
	f.Add("Filter.0.Name=x&Filter.-1.Value.1=&%zz")
	f.Fuzz(func(t *testing.T, body string) {
		request, refusal := parseForm(body)
		if refusal != nil {
			return
		}
		again := url.Values{}
		for name, value := range request {
			again.Set(name, value)
		}
		twice, refusal := parseForm(again.Encode())
		if refusal != nil || !reflect.DeepEqual(twice, request) || twice.canonical() != request.canonical() {
			t.Fatalf("%q is read as %v, and after writing as %v (%v)", body, request, twice, refusal)
		}
		if counts := request["MaxCount"]; len(counts) > 2 {
			return // A thousand instances tell nothing that ninety don't.
		}
		simulator := New(Options{})
		for _, found := range ec2Operations {
			found.run(simulator, simulator.now(), request)
		}
	})
}
