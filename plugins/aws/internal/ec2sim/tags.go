package ec2sim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// mostTags is how many tags a resource has at most.
const mostTags = 50

func readTags(request form) (map[string]string, *apiError) {
	tags := map[string]string{}
	for _, one := range request.structures("Tag") {
		key := one["Key"]
		if _, twice := tags[key]; twice {
			return nil, refuse(400, "InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		if refusal := checkTag(key, one["Value"]); refusal != nil {
			return nil, refusal
		}
		tags[key] = one["Value"]
	}
	if len(tags) > mostTags {
		return nil, refuse(400, "TagLimitExceeded", "The resource would have %d tags; it can have %d.", len(tags), mostTags)
	}
	return tags, nil
}

func checkTag(key, value string) *apiError {
	switch {
	case key == "" || len([]rune(key)) > 127:
		return refuse(400, "InvalidParameterValue", "Tag key exceeds the maximum length of 127 characters or is empty: '%s'",
			key)
	case len([]rune(value)) > 255:
		return refuse(400, "InvalidParameterValue",
			"Tag value exceeds the maximum length of 255 characters, of the key '%s'", key)
	case strings.HasPrefix(strings.ToLower(key), "aws:"):
		return refuse(400, "InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
	}
	return nil
}

func writeTags(tags map[string]string) []tagXML {
	var written []tagXML
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		written = append(written, tagXML{key, tags[key]})
	}
	return written
}

// tagged is one resource that has tags.
type tagged struct {
	number   int
	id, kind string
	tags     map[string]string
}

// allTagged gives everything that has tags and that this moment shows.
func (s *Simulator) allTagged(now time.Time) []tagged {
	var all []tagged
	for _, one := range s.world.instances {
		if one.seen(now, s.options.Delays) {
			all = append(all, tagged{one.number, one.ID, "instance", one.tags})
		}
	}
	for _, one := range s.world.volumes {
		all = append(all, tagged{one.number, one.ID, "volume", one.tags})
	}
	for _, one := range s.world.interfaces {
		all = append(all, tagged{one.number, one.ID, "network-interface", one.tags})
	}
	for _, one := range s.world.spots {
		all = append(all, tagged{one.number, one.ID, "spot-instances-request", one.tags})
	}
	for _, one := range s.world.hosts {
		all = append(all, tagged{one.number, one.ID, "dedicated-host", one.tags})
	}
	slices.SortFunc(all, func(a, b tagged) int { return a.number - b.number })
	return all
}

// taggedNamed gives the resources of a request that changes tags: all of them,
// or none where one is missing.
func (s *Simulator) taggedNamed(now time.Time, request form) ([]tagged, *apiError) {
	ids := request.texts("ResourceId")
	if len(ids) == 0 {
		return nil, refuse(400, "MissingParameter", "The request must contain the parameter ResourceId")
	}
	all := s.allTagged(now)
	var named []tagged
	for _, id := range ids {
		at := slices.IndexFunc(all, func(one tagged) bool { return one.id == id })
		if at < 0 {
			return nil, refuse(400, notFoundCode(id), "The ID '%s' does not exist", id)
		}
		named = append(named, all[at])
	}
	return named, nil
}

func notFoundCode(id string) string {
	for prefix, code := range map[string]string{
		"i-": "InvalidInstanceID.NotFound", "vol-": "InvalidVolume.NotFound", "eni-": "InvalidNetworkInterfaceID.NotFound",
		"sir-": "InvalidSpotInstanceRequestID.NotFound", "h-": "InvalidHostID.NotFound",
	} {
		if strings.HasPrefix(id, prefix) {
			return code
		}
	}
	return "InvalidID"
}

func (s *Simulator) createTags(now time.Time, request form) (answer, *apiError) {
	tags, refusal := readTags(request)
	if refusal != nil {
		return nil, refusal
	}
	if len(tags) == 0 {
		return nil, refuse(400, "MissingParameter", "The request must contain the parameter Tag")
	}
	named, refusal := s.taggedNamed(now, request)
	if refusal != nil {
		return nil, refusal
	}
	for _, one := range named {
		joined := copyTags(one.tags)
		maps.Copy(joined, tags)
		if len(joined) > mostTags {
			return nil, refuse(400, "TagLimitExceeded", "%s would have %d tags; it can have %d.", one.id, len(joined), mostTags)
		}
	}
	for _, one := range named {
		maps.Copy(one.tags, tags)
	}
	return &doneAnswer{Done: true}, nil
}

// deleteTags takes away tags by key, and by value where one is given. With no
// tag it takes all away.
func (s *Simulator) deleteTags(now time.Time, request form) (answer, *apiError) {
	named, refusal := s.taggedNamed(now, request)
	if refusal != nil {
		return nil, refusal
	}
	given := request.structures("Tag")
	for _, one := range named {
		if len(given) == 0 {
			clear(one.tags)
		}
		for _, tag := range given {
			value, only := tag["Value"]
			if held, ok := one.tags[tag["Key"]]; ok && (!only || held == value) {
				delete(one.tags, tag["Key"])
			}
		}
	}
	return &doneAnswer{Done: true}, nil
}

type tagsAnswer struct {
	header
	Tags      []tagDescriptionXML `xml:"tagSet>item"`
	NextToken string              `xml:"nextToken,omitempty"`
}

type tagDescriptionXML struct {
	number   int
	Resource string `xml:"resourceId"`
	Kind     string `xml:"resourceType"`
	Key      string `xml:"key"`
	Value    string `xml:"value"`
}

func (d tagDescriptionXML) sequence() int { return d.number }

var tagFilters = attributes[tagDescriptionXML]{
	"resource-id":   func(d tagDescriptionXML) []string { return []string{d.Resource} },
	"resource-type": func(d tagDescriptionXML) []string { return []string{d.Kind} },
	"key":           func(d tagDescriptionXML) []string { return []string{d.Key} },
	"value":         func(d tagDescriptionXML) []string { return []string{d.Value} },
}

func (s *Simulator) describeTags(now time.Time, request form) (answer, *apiError) {
	var all []tagDescriptionXML
	for _, one := range s.allTagged(now) {
		for index, tag := range writeTags(one.tags) {
			all = append(all, tagDescriptionXML{one.number*mostTags + index, one.id, one.kind, tag.Key, tag.Value})
		}
	}
	shown, token, refusal := show(s, "DescribeTags", request, all, tagFilters,
		func(d tagDescriptionXML) map[string]string {
			return map[string]string{d.Key: d.Value}
		}, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	return &tagsAnswer{Tags: shown, NextToken: token}, nil
}
