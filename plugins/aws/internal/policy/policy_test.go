package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

func plain() settings.Instance {
	return settings.Instance{Types: []string{"c7i.large"}, Subnets: []string{"subnet-0a", "subnet-0b"},
		Groups: []string{"sg-0a"}, Tenancy: "default"}
}

// written is the policy as a reader of JSON has it.
func written(t *testing.T, config settings.Config, instances ...settings.Instance) map[string]statement {
	t.Helper()
	text, err := Document(config, instances, "demo")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Version   string
		Statement []statement
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || document.Version != "2012-10-17" {
		t.Fatalf("%v\n%s", err, text)
	}
	found := map[string]statement{}
	for _, one := range document.Statement {
		if len(one.Action) == 0 || one.Effect != "Allow" {
			t.Errorf("the statement %s is empty", one.Sid)
		}
		found[one.Sid] = one
	}
	return found
}

func TestThePolicyOfAPlainBlockIsAsItWasLookedAt(t *testing.T) {
	text, err := Document(settings.Config{Region: "eu-central-1"}, []settings.Instance{plain()}, "demo")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "plain.json")
	want, err := os.ReadFile(path)
	if err != nil || text != string(want) {
		t.Errorf("the policy is\n%s\nand %s has\n%s%v", text, path, want, err)
	}
}

// What isn't about one of ours can't be changed, and what isn't of the block can't be
// used.
func TestWhatChangesAnythingIsBoundToTheInstallation(t *testing.T) {
	hosts := plain()
	hosts.Tenancy = "host"
	all := written(t, settings.Config{Region: "eu-central-1"}, plain(), hosts)
	for sid, key := range map[string]string{launch: "aws:RequestTag", tag: "aws:RequestTag", end: "aws:ResourceTag",
		onHosts: "aws:ResourceTag", allocate: "aws:RequestTag", tagHosts: "aws:RequestTag", claimHosts: "aws:ResourceTag"} {
		if got := all[sid].Condition["StringEquals"][key+"/forgeyard-fleet:installation"]; got != "demo" {
			t.Errorf("%s is bound by %v", sid, all[sid].Condition)
		}
	}
	if all[tag].Condition["StringEquals"]["ec2:CreateAction"] != "RunInstances" ||
		all[tagHosts].Condition["StringEquals"]["ec2:CreateAction"] != "AllocateHosts" {
		t.Errorf("tags may be written at any time: %v, %v", all[tag].Condition, all[tagHosts].Condition)
	}
	if all[claimHosts].Condition["StringEqualsIfExists"]["aws:RequestTag/forgeyard-fleet:installation"] != "demo" {
		t.Errorf("a host may be given to another installation: %v", all[claimHosts].Condition)
	}
	for sid, one := range all {
		for _, action := range one.Action {
			_, verb, _ := strings.Cut(action, ":")
			reads := strings.HasPrefix(verb, "Describe") || strings.HasPrefix(verb, "Get")
			if strings.Contains(action, "*") || !reads && slices.Contains(one.Resource, "*") {
				t.Errorf("%s allows %s on %v", sid, action, one.Resource)
			}
		}
	}
}

// A volume and an interface have none, and come with the machine.
func TestOnlyTheTypesOfTheBlocksCanBeLaunched(t *testing.T) {
	other := plain()
	other.Types = []string{"m7g.large", "c7i.large"}
	got := written(t, settings.Config{Region: "eu-central-1"}, plain(), other)[launch]
	if types := got.Condition["StringEqualsIfExists"]["ec2:InstanceType"]; !reflect.DeepEqual(types,
		[]any{"c7i.large", "m7g.large"}) {
		t.Errorf("launches are of the types %v", types)
	}
}

func TestAPolicyHasWhatTheBlocksUseAndNoMore(t *testing.T) {
	base := settings.Config{Region: "eu-central-1"}
	with := func(change func(*settings.Instance)) settings.Instance {
		i := plain()
		change(&i)
		return i
	}
	for name, c := range map[string]struct {
		config    settings.Config
		instance  settings.Instance
		sid       string
		resources []string // nil: the statement isn't there
	}{
		"no queue":   {base, plain(), hear, nil},
		"no profile": {base, plain(), passRole, nil},
		"no key":     {base, plain(), encrypt, nil},
		"no hosts":   {base, plain(), allocate, nil},
		"Macs": {base, with(func(i *settings.Instance) {
			i.Types = []string{"mac2.metal"}
		}), allocate, []string{"arn:aws:ec2:eu-central-1:*:dedicated-host/*"}},
		"the tenancy host": {base, with(func(i *settings.Instance) {
			i.Tenancy = "host"
		}), claimHosts, []string{"arn:aws:ec2:eu-central-1:*:dedicated-host/*"}},
		"a queue": {settings.Config{Region: "eu-central-1",
			Queue: "https://sqs.eu-central-1.amazonaws.com/123456789012/fleet"}, plain(), hear,
			[]string{"arn:aws:sqs:eu-central-1:123456789012:fleet"}},
		"a profile by name": {base, with(func(i *settings.Instance) {
			i.Profile = "runner"
		}), passRole, []string{"arn:aws:iam::*:role/runner"}},
		"a profile by ARN": {base, with(func(i *settings.Instance) {
			i.Profile = "arn:aws:iam::123456789012:instance-profile/ci/runner"
		}), passRole,
			[]string{"arn:aws:iam::123456789012:role/runner"}},
		"a key by id": {base, with(func(i *settings.Instance) { i.Root = &settings.RootVolume{KMSKey: "1234abcd"} }), grant,
			[]string{"arn:aws:kms:eu-central-1:*:key/1234abcd"}},
		"a key by ARN": {base, with(func(i *settings.Instance) {
			i.Root = &settings.RootVolume{KMSKey: "arn:aws:kms:eu-central-1:1:key/k"}
		}), encrypt,
			[]string{"arn:aws:kms:eu-central-1:1:key/k"}},
		"all that a launch uses": {base, with(func(i *settings.Instance) {
			i.KeyName, i.Reservation = "ops", "cr-0a"
		}), launchWith, []string{
			"arn:aws:ec2:eu-central-1:*:capacity-reservation/cr-0a", "arn:aws:ec2:eu-central-1:*:key-pair/ops",
			"arn:aws:ec2:eu-central-1:*:security-group/sg-0a",
			"arn:aws:ec2:eu-central-1:*:subnet/subnet-0a", "arn:aws:ec2:eu-central-1:*:subnet/subnet-0b",
			"arn:aws:ec2:eu-central-1::image/*"}},
		"the account of the role": {
			settings.Config{Region: "us-gov-west-1",
				AssumeRole: &settings.AssumeRole{RoleARN: "arn:aws-us-gov:iam::123456789012:role/x"}},
			with(func(i *settings.Instance) { i.Subnets, i.Groups = []string{"subnet-0a"}, nil }), launchWith,
			[]string{"arn:aws-us-gov:ec2:us-gov-west-1:123456789012:subnet/subnet-0a",
				"arn:aws-us-gov:ec2:us-gov-west-1::image/*"}},
	} {
		if got := written(t, c.config, c.instance, c.instance)[c.sid].Resource; !slices.Equal(got, c.resources) {
			t.Errorf("%s: %s is on %v, wanted %v", name, c.sid, got, c.resources)
		}
	}
	china := written(t, settings.Config{Region: "cn-north-1"}, with(func(i *settings.Instance) {
		i.Profile = "runner"
	}))[passRole]
	if china.Condition["StringEquals"]["iam:PassedToService"] != "ec2.amazonaws.com.cn" {
		t.Errorf("in China a role is passed to %v", china.Condition)
	}
}

func TestEachActionIsInAStatementThatThereIs(t *testing.T) {
	seen := map[string]bool{}
	for _, action := range Table {
		if seen[action.Name] || action.For == "" {
			t.Errorf("%s is there twice, or for nothing", action.Name)
		}
		seen[action.Name] = true
		for _, sid := range action.in {
			if !slices.ContainsFunc(parts, func(p struct {
				sid    string
				scoped func(scope) ([]string, condition)
			}) bool {
				return p.sid == sid
			}) {
				t.Errorf("%s is in %s, which is none", action.Name, sid)
			}
		}
	}
}

func TestThePageHasTheTableOfActions(t *testing.T) {
	content, err := os.ReadFile("../../../../docs/plugins/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "<!-- actions:begin -->\n\n| action | what it is for |\n|---|---|\n"
	for _, action := range Table {
		want += "| `" + action.Name + "` | " + action.For + " |\n"
	}
	want += "\n<!-- actions:end -->"
	if !strings.Contains(string(content), want) {
		t.Errorf("docs/plugins/aws.md lacks this part:\n%s", want)
	}
}

func TestALaunchMayUseTheTemplateOfTheBlockAlone(t *testing.T) {
	for _, c := range []struct {
		of   settings.LaunchTemplate
		want string
	}{
		{settings.LaunchTemplate{ID: "lt-0a", Version: 3}, "arn:aws:ec2:eu-central-1:*:launch-template/lt-0a"},
		{settings.LaunchTemplate{Name: "builders", Version: 3}, "arn:aws:ec2:eu-central-1:*:launch-template/*"},
	} {
		with := plain()
		with.Template = &c.of
		all := written(t, settings.Config{Region: "eu-central-1"}, with)
		if got := all[launchWith].Resource; !slices.Contains(got, c.want) || len(all[templates].Action) != 1 {
			t.Errorf("wanted %s in %v, and to read it by %v", c.want, got, all[templates])
		}
	}
	all := written(t, settings.Config{Region: "eu-central-1"}, plain())
	if got := all[launchWith].Resource; len(all[templates].Action) > 0 || slices.ContainsFunc(got, func(one string) bool {
		return strings.Contains(one, "template")
	}) {
		t.Errorf("a block without a template has %v", got)
	}
}
