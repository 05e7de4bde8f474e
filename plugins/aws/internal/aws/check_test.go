package aws

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

func TestCheckFindsWhatTheAccountLacks(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	linux := provider.Platform{OS: "linux", Arch: "x86_64"}
	for name, test := range map[string]struct {
		image    string
		platform provider.Platform
		change   func(*settings.Instance)
		want     string // the summary, a path and a piece of the detail; empty: nothing is wrong
	}{
		"everything is there": {image, linux, func(*settings.Instance) {}, ""},
		"an unknown image": {"ami-0b000000000000009", linux, func(*settings.Instance) {},
			"The image can't be used ami-0b"},
		"no image": {"ubuntu", linux, func(*settings.Instance) {}, "The image can't be used ubuntu"},
		"an image of another": {image, provider.Platform{OS: "linux", Arch: "arm64"}, func(*settings.Instance) {},
			"The image can't be used x86_64"},
		"an unknown subnet": {image, linux, func(i *settings.Instance) {
			i.Subnets = []string{"subnet-0b000000000000009"}
		}, "A subnet can't be used subnets subnet-0b"},
		"an unknown template": {image, linux, func(i *settings.Instance) {
			i.Template = &settings.LaunchTemplate{Name: "none", Version: 1}
		}, "The launch template can't be used launch_template none"},
		"two of them are wrong": {"ami-0b000000000000009", linux, func(i *settings.Instance) {
			i.Subnets = []string{"subnet-0b000000000000009"}
		}, "The image can't be used A subnet can't be used"},
	} {
		t.Run(name, func(t *testing.T) {
			instance := block()
			test.change(&instance)
			found, err := p.Check(t.Context(), provider.CheckRequest[settings.Instance]{
				Instance: instance, Image: test.image, Platform: test.platform,
			})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for _, one := range found {
				said.WriteString(one.Summary + " " + one.Path.String() + " " + one.Detail + "\n")
			}
			if test.want == "" && len(found) > 0 {
				t.Fatalf("it complains: %s", said.String())
			}
			for _, word := range strings.Fields(test.want) {
				if !strings.Contains(said.String(), word) {
					t.Errorf("%q is not in: %s", word, said.String())
				}
			}
		})
	}
	l.down.Store(true)
	unread := block()
	unread.Subnets = []string{"subnet-0c000000000000009"}
	if found, err := p.Check(t.Context(), provider.CheckRequest[settings.Instance]{
		Instance: unread, Image: image, Platform: linux,
	}); err == nil {
		t.Errorf("without a network it says %v", found)
	}
}
