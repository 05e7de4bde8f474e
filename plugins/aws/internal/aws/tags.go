package aws

import (
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// The tags that the plugin writes beside the host's, on the machine and on all
// that is made with it.
const (
	tagInstallation = settings.TagPrefix + "installation"
	tagKey          = settings.TagPrefix + "key"
	tagFleet        = settings.TagPrefix + "fleet"
	tagDigest       = settings.TagPrefix + "digest"
)

// tagsOf are all tags of what a request makes: the fleet's own, under the host's,
// under ours.
func (p *cloud) tagsOf(request *provider.ProvisionRequest[settings.Instance]) map[string]string {
	all := map[string]string{"Name": request.Name}
	maps.Copy(all, request.Instance.Tags)
	maps.Copy(all, request.Tags)
	all[tagInstallation], all[tagKey], all[tagFleet], all[tagDigest] = p.installation, request.Key, request.Fleet,
		request.InstanceDigest
	return all
}

// written are tags in one order, so that a request that comes again is the same.
func written(tags map[string]string) []types.Tag {
	var all []types.Tag
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		all = append(all, types.Tag{Key: sdk.String(name), Value: sdk.String(tags[name])})
	}
	return all
}

// labels are the tags of a thing as they were read.
type labels map[string]string

func read(tags []types.Tag) labels {
	all := labels{}
	for _, one := range tags {
		all[sdk.ToString(one.Key)] = sdk.ToString(one.Value)
	}
	return all
}

func (l labels) key() string          { return l[tagKey] }
func (l labels) installation() string { return l[tagInstallation] }

// host are the tags without the plugin's own.
func (l labels) host() map[string]string {
	rest := maps.Clone(map[string]string(l))
	maps.DeleteFunc(rest, func(name, _ string) bool { return strings.HasPrefix(name, settings.TagPrefix) })
	return rest
}

// have says whether all of the host's tags are there.
func (l labels) have(tags map[string]string) bool {
	for name, value := range tags {
		if l[name] != value {
			return false
		}
	}
	return true
}

// ours narrows a list to the installation, and to keys where there are some.
func (p *cloud) ours(keys ...string) []types.Filter {
	filters := []types.Filter{{Name: sdk.String("tag:" + tagInstallation), Values: []string{literal(p.installation)}}}
	if len(keys) > 0 {
		filters = append(filters, types.Filter{Name: sdk.String("tag:" + tagKey), Values: keys})
	}
	return filters
}

// literal keeps a filter from taking a name for a pattern.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(text)
}
