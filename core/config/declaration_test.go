package config

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// localSchemas is a plugin with what the examples of the reference use of it. It
// lists offers, so that the examples' policy doesn't make placement.regions a must, and
// verifies identities, which is what makes admission.identity required by default.
type localSchemas struct{}

func (localSchemas) Schemas(plugin string) (fleet.PluginSchemas, error) {
	if plugin != "local" {
		return fleet.PluginSchemas{}, errors.New("it is not installed")
	}
	return fleet.PluginSchemas{
		Name:     "local",
		Version:  "0.1.0",
		Market:   true,
		Identity: true,
		Provider: fleet.PluginSchema{
			Attributes: []fleet.PluginAttribute{{Name: "root", Type: fleet.PluginType{Kind: fleet.KindString}}},
		},
		Instance: fleet.PluginSchema{
			Attributes: []fleet.PluginAttribute{{Name: "nice", Type: fleet.PluginType{Kind: fleet.KindInt}}},
		},
	}, nil
}

// sample is the file that all examples make together.
func sample() string {
	var text strings.Builder
	for _, block := range Reference() {
		text.WriteString(block.Example)
	}
	return text.String()
}

func loadSample(text string, variables ...string) (*Loaded, diagnostic.List) {
	return Load([]source.File{{Name: "sample.hcl", Bytes: []byte(text)}}, Variables{Assignments: variables},
		localSchemas{})
}

// forAttributes calls do for every attribute of the reference with a fresh copy
// of the sample and the body in it that the attribute belongs to.
func forAttributes(
	t *testing.T,
	do func(t *testing.T, file *hclwrite.File, in *hclwrite.Body, block ReferenceBlock, attribute ReferenceAttribute),
) {
	t.Helper()
	for _, block := range Reference() {
		if block.Body != FixedBody {
			continue
		}
		for _, attribute := range block.Attributes {
			t.Run(block.Path+"."+attribute.Name, func(t *testing.T) {
				file, problems := hclwrite.ParseConfig([]byte(sample()), "sample.hcl", hcl.InitialPos)
				if problems.HasErrors() {
					t.Fatal(problems)
				}
				bodies := []*hclwrite.Body{file.Body()}
				for step := range strings.SplitSeq(block.Path, ".") {
					var inner []*hclwrite.Body
					for _, body := range bodies {
						for _, child := range body.Blocks() {
							if child.Type() == step {
								inner = append(inner, child.Body())
							}
						}
					}
					bodies = inner
				}
				i := slices.IndexFunc(bodies, func(b *hclwrite.Body) bool { return b.GetAttribute(attribute.Name) != nil })
				if i < 0 {
					t.Fatalf("no example of %s uses it", block.Path)
				}
				in := bodies[i]
				do(t, file, in, block, attribute)
			})
		}
	}
}

// write sets an attribute to an expression.
func write(t *testing.T, in *hclwrite.Body, name, expression string) {
	t.Helper()
	parsed, problems := hclwrite.ParseConfig([]byte("x = "+expression+"\n"), "", hcl.InitialPos)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	in.SetAttributeRaw(name, parsed.Body().GetAttribute("x").Expr().BuildTokens(nil))
}

func TestSampleHasEveryAttributeAndRequiredMeansRequired(t *testing.T) {
	forAttributes(
		t,
		func(t *testing.T, file *hclwrite.File, in *hclwrite.Body, block ReferenceBlock, attribute ReferenceAttribute) {
			in.RemoveAttribute(attribute.Name)
			var given []string
			if block.Path == "variable" && attribute.Name == "default" {
				given = append(given, "most=3")
			}
			if block.Path == "fleet.cost" && attribute.Name == "hourly" { // and what only goes with it
				in.RemoveAttribute("max_hourly")
				in.RemoveAttribute("max_daily")
			}
			text := string(file.Bytes())
			if attribute.Name == "for_each" { // and what only goes with it
				text = strings.NewReplacer("each.key", `"docs"`, `fleet.team["docs"]`, "fleet.team").Replace(text)
			}
			_, found := loadSample(text, given...)
			if found.HasErrors() != attribute.Required {
				t.Errorf("without it: errors %v, and the reference says required %v", found, attribute.Required)
			}
		},
	)
}

func TestDefaultIsWhatLeavingOutMeans(t *testing.T) {
	forAttributes(
		t,
		func(t *testing.T, file *hclwrite.File, in *hclwrite.Body, _ ReferenceBlock, attribute ReferenceAttribute) {
			if attribute.Default == "" {
				return
			}
			in.RemoveAttribute(attribute.Name)
			without, found := loadSample(string(file.Bytes()))
			if found.HasErrors() {
				t.Fatal(found)
			}
			write(t, in, attribute.Name, attribute.Default)
			with, found := loadSample(string(file.Bytes()))
			if found.HasErrors() {
				t.Fatal(found)
			}
			if changes := Diff(without.Definition, with.Definition); len(changes) > 0 {
				t.Errorf("writing the default %s changes: %v", attribute.Default, changes)
			}
		},
	)
}

func TestValueOfAnotherTypeIsRefused(t *testing.T) {
	others := map[ReferenceType]string{
		TextValue:          `["a"]`,
		BoolValue:          `"perhaps"`,
		CountValue:         `1.5`,
		CPUValue:           `"much"`,
		SizeValue:          `4`,
		DurationValue:      `4`,
		TextListValue:      `"a"`,
		TextMapValue:       `"a"`,
		CountMapValue:      `{ a = "b" }`,
		MoneyValue:         `4`,
		MomentValue:        `"tomorrow"`,
		SecretValue:        `"hunter2"`,
		EachValue:          `["docs", "web"]`,
		SchedulerReference: `image.workstation`,
		TypeValue:          `"a"`,
		ConditionValue:     `"perhaps"`,
		ClassReference:     `"small"`,
		ImageReference:     `capacity_class.small`,
		PluginReference:    `image.workstation`,
		FleetReference:     `image.workstation`,
		AnyValue:           "var.most", // not a plain value
	}
	forAttributes(
		t,
		func(t *testing.T, file *hclwrite.File, in *hclwrite.Body, _ ReferenceBlock, attribute ReferenceAttribute) {
			other, known := others[attribute.Type]
			if !known {
				t.Fatalf("the test has no wrong value for the type %q", attribute.Type)
			}
			write(t, in, attribute.Name, other)
			if _, found := loadSample(string(file.Bytes())); !found.HasErrors() {
				t.Errorf("%s is taken for the type %q", other, attribute.Type)
			}
		},
	)
}

func TestUndeclaredAttributeIsRefused(t *testing.T) {
	forAttributes(
		t,
		func(t *testing.T, file *hclwrite.File, in *hclwrite.Body, block ReferenceBlock, attribute ReferenceAttribute) {
			write(t, in, attribute.Name+"_of_no_use", `"x"`)
			_, found := loadSample(string(file.Bytes()))
			if !slices.ContainsFunc(
				found,
				func(d diagnostic.Diagnostic) bool { return strings.Contains(d.Summary, attribute.Name+"_of_no_use") },
			) {
				t.Errorf("%s took an attribute that the reference doesn't have: %v", block.Path, found)
			}
		},
	)
}

func TestBlockIsRequiredOrRepeatedAsDeclared(t *testing.T) {
	for _, block := range Reference() {
		if strings.Contains(block.Path, ".") {
			continue
		}
		without := strings.Replace(sample(), block.Example, "", 1)
		if _, found := loadSample(without); block.Required && !found.HasErrors() {
			t.Errorf("%s is called required, and no one misses it", block.Path)
		}
		if len(block.Labels) == 0 && block.Body == FixedBody {
			_, found := loadSample(
				sample() + strings.NewReplacer("legacy", "other", `["docs"]`, `["web"]`).Replace(block.Example),
			)
			if found.HasErrors() == block.Repeated {
				t.Errorf("a second %s: %v, and the reference says repeated %v", block.Path, found, block.Repeated)
			}
		}
	}
}

// A provider of the plugin local was taken for a local value.
func TestLocalReferenceSuggestsProvider(t *testing.T) {
	text := strings.Replace(sample(), "provider       = provider.local.here", "provider       = local.here", 1)
	_, found := loadSample(text)
	if len(found) != 1 || found[0].Summary != `Unknown local value "here"` ||
		found[0].Detail != "Did you mean provider.local.here?" {
		t.Errorf("%v", found)
	}
}

// Whatever a block declares is part of what a plan compares: a field that a
// conversion from or to the block forgets would change in silence.
func TestDiffHasEveryDeclaredAttribute(t *testing.T) {
	loaded, found := loadSample(sample())
	if found.HasErrors() {
		t.Fatal(found)
	}
	var paths []string
	for _, change := range Diff(fleet.Definition{}, loaded.Definition) {
		for _, attribute := range change.Attributes {
			paths = append(paths, strings.SplitN(change.Address, ".", 2)[0]+" "+attribute.Path)
		}
	}
	// Classes and images are compared as parts of what uses them; a plugin's
	// requirement has an address of its own.
	addresses := map[string]string{
		"capacity_class":             "fleet capacity_class.",
		"image":                      "fleet image.",
		"forgeyard.required_plugins": "plugin ",
	}
	for _, block := range Reference() {
		root, inner, _ := strings.Cut(block.Path, ".")
		if block.Body == FreeBody || slices.Contains([]string{"variable", "removed", "moved"}, root) {
			continue
		}
		prefix, known := addresses[root]
		if !known {
			prefix = root + " "
		}
		if plugin, known := addresses[block.Path]; known {
			prefix, inner = plugin, ""
		}
		for _, one := range block.Attributes {
			if one.Type == BoolValue || one.Name == "for_each" || one.Name == "refs" { // false, read before, and resolved
				continue
			}
			pattern := regexp.QuoteMeta(prefix)
			for step := range strings.SplitSeq(inner, ".") {
				if step != "" {
					pattern += step + `(\.[a-z0-9-]+)?\.`
				}
			}
			pattern = "^" + pattern + one.Name + `(\.|$)`
			if !slices.ContainsFunc(paths, regexp.MustCompile(pattern).MatchString) {
				t.Errorf("no change of the sample matches %s", pattern)
			}
		}
	}
}

func TestBlocksConvertBothWays(t *testing.T) {
	loaded, found := loadSample(sample())
	if found.HasErrors() {
		t.Fatal(found)
	}
	d := loaded.Definition
	for _, f := range d.Fleets {
		again := fleetBlockOf(f).fleet()
		again.Address, again.Class, again.Image, again.Instance, again.Immutable = f.Address, f.Class, f.Image, f.Instance,
			f.Immutable
		again.Joined, again.Market, again.Batch = f.Joined, f.Market, f.Batch
		if difference := cmp.Diff(f, again); difference != "" {
			t.Errorf("%s (-want +got):\n%s", f.Address, difference)
		}
		if difference := cmp.Diff(f.Class, classBlockOf(f.Class).class()); difference != "" {
			t.Errorf("class of %s (-want +got):\n%s", f.Address, difference)
		}
	}
	if difference := cmp.Diff(d.Policy, policyBlockOf(d.Policy).policy()); difference != "" {
		t.Errorf("policy (-want +got):\n%s", difference)
	}
	for _, scheduler := range d.Schedulers {
		for i, queue := range schedulerBlockOf(scheduler).Queues {
			if difference := cmp.Diff(scheduler.Queues[i], queue.queue(scheduler.Queues[i].Class)); difference != "" {
				t.Errorf("queue (-want +got):\n%s", difference)
			}
		}
	}
}

// A wrong tag is found when the package is tested, and not by a user.
func TestWrongTagsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		goType reflect.Type
		want   string
	}{
		"no tag": {reflect.TypeFor[struct{ Size int }](), "no fleet tag"},
		"an unknown form": {reflect.TypeFor[struct {
			Name string `fleet:"name" form:"odd"`
		}](), `unknown form "odd"`},
		"an unknown form of keys": {reflect.TypeFor[struct {
			Env map[string]string `fleet:"env" keys:"odd"`
		}](), `unknown form "odd"`},
		"an unknown sentence": {reflect.TypeFor[struct {
			Name string `fleet:"name" notyet:"soon"`
		}](), `unknown sentence "soon"`},
		"a bound that isn't a number": {reflect.TypeFor[struct {
			Size int `fleet:"size" min:"x" max:"1"`
		}](), "invalid syntax"},
		"half of the bounds": {reflect.TypeFor[struct {
			Size int `fleet:"size" min:"1"`
		}](), "invalid syntax"},
		"a type that can't be written": {reflect.TypeFor[struct {
			C chan int `fleet:"c"`
		}](), "can't be an attribute"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := compile(test.goType)
			if err == nil {
				err = made.checkSentences(nil)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// faultySchemas is a plugin that leaves out what its list is of.
type faultySchemas struct{ localSchemas }

func (f faultySchemas) Schemas(plugin string) (fleet.PluginSchemas, error) {
	found, err := f.localSchemas.Schemas(plugin)
	found.Provider.Attributes[0].Type = fleet.PluginType{Kind: fleet.KindList}
	return found, err
}

func TestPluginListWithoutElementTypeIsReported(t *testing.T) {
	text := strings.Replace(sample(), `"/var/lib/acme-ci"`, `["/var/lib/acme-ci"]`, 1)
	_, found := Load([]source.File{{Name: "sample.hcl", Bytes: []byte(text)}}, Variables{}, faultySchemas{})
	if len(found) != 1 || found[0].Summary != `"root[0]" has a type that this version doesn't know` {
		t.Errorf("%v", found)
	}
}
