package aws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// All that one call makes has the same tags. So those of a batch hold what is each
// member's own, in the batch's order, from the launch on:
//
//	forgeyard-fleet:batch        the batch's key, which is the call's client token
//	forgeyard-fleet:member-tags  the names of the tags that are a member's own
//	forgeyard-fleet:members-00   KEY VALUE VALUE…,KEY VALUE VALUE…, and so on in -01, …
const (
	tagBatch      = settings.TagPrefix + "batch"
	tagMemberTags = settings.TagPrefix + "member-tags"
	tagMembers    = settings.TagPrefix + "members-"
)

// What the API takes.
const (
	tagsOfAResource = 50
	longestTag      = 256
)

// noMember is a number that no member has.
const noMember = -1

// batchTags are the tags of all that a batch makes. The error says what can't be said
// by them.
func (p *cloud) batchTags(asked batchRequest, alike request) (map[string]string, error) {
	names := map[string]bool{}
	for _, member := range asked.Members {
		for name, value := range member.Tags {
			if other, there := asked.Members[0].Tags[name]; !there || other != value {
				names[name] = true
			}
		}
	}
	alike.Tags = maps.Clone(asked.Members[0].Tags)
	maps.DeleteFunc(alike.Tags, func(name, _ string) bool { return names[name] })
	all := p.tagsOf(&alike)
	delete(all, tagKey)
	own := slices.Sorted(maps.Keys(names))
	all[tagBatch], all[tagMemberTags] = asked.Key, strings.Join(own, " ")
	chunk, n := "", 0
	for _, member := range asked.Members {
		words := []string{member.Key}
		for _, name := range own {
			words = append(words, member.Tags[name])
		}
		text := strings.Join(words, " ")
		if len(strings.FieldsFunc(text, func(r rune) bool {
			return r == ' ' || r == ','
		})) != len(words) || len(text) > longestTag {
			return nil, fmt.Errorf(
				"the tags of %s can't be told with those of its batch: each of %s needs a value without a space or a comma, and "+
					"together they have at most %d characters",
				member.Key, strings.Join(own, ", "), longestTag)
		}
		if chunk != "" && len(chunk)+1+len(text) > longestTag {
			chunk, n = "", n+1
		}
		chunk = strings.TrimPrefix(chunk+","+text, ",")
		all[fmt.Sprintf("%s%02d", tagMembers, n)] = chunk
	}
	if len(all) > tagsOfAResource {
		return nil, fmt.Errorf(
			"a batch of %d has %d tags, and the API takes %d: lower batch in the fleet's block, or have fewer tags in its "+
				"instance block",
			len(asked.Members), len(all), tagsOfAResource)
	}
	return all, nil
}

// batch is the key of the batch; empty: it was made by a call of its own.
func (l labels) batch() string { return l[tagBatch] }

// token is the client token of the call that made it.
func (l labels) token() string { return cmp.Or(l.batch(), l.key()) }

// told are what the tags of a batch say of each member.
func (l labels) told() []string {
	var chunks []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if strings.HasPrefix(name, tagMembers) {
			chunks = append(chunks, l[name])
		}
	}
	return strings.Split(strings.Join(chunks, ","), ",")
}

// member are the tags as they would be if the member had been made by itself. For a
// number that isn't in the batch they have no key, so the resource has no owner.
func (l labels) member(n int) labels {
	one := maps.Clone(l)
	delete(one, tagKey) // what somebody wrote there since
	told, names := l.told(), strings.Fields(l[tagMemberTags])
	if n < 0 || n >= len(told) {
		return one
	}
	words := strings.Fields(told[n])
	if len(words) != len(names)+1 {
		return one
	}
	one[tagKey] = words[0]
	for at, name := range names {
		one[name] = words[at+1]
	}
	return one
}

// has says whether the key is of one of the batch's members.
func (l labels) has(key string) bool {
	return slices.ContainsFunc(l.told(), func(text string) bool {
		first, _, _ := strings.Cut(text, " ")
		return first == key
	})
}

// labelsOf are the tags of a machine, of a batch those of the member that it is.
func labelsOf(one types.Instance) labels {
	l := read(one.Tags)
	if l.batch() == "" {
		return l
	}
	if one.AmiLaunchIndex == nil {
		return l.member(noMember)
	}
	return l.member(int(sdk.ToInt32(one.AmiLaunchIndex)))
}
