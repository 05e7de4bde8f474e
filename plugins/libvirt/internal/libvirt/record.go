package libvirt

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// The namespaces of what a domain's metadata has of ours: one element each. The
// daemon keeps an element by its namespace and may give it back under a prefix of
// its own, so nothing here goes by prefixes.
const (
	recordSpace      = "urn:forgeyard-fleet:instance"
	startedSpace     = "urn:forgeyard-fleet:started"
	terminatingSpace = "urn:forgeyard-fleet:terminating"
)

// record is whose a domain is: written with its definition and never changed.
type record struct {
	XMLName      xml.Name  `xml:"urn:forgeyard-fleet:instance instance"`
	Installation string    `xml:"installation,attr"`
	Key          string    `xml:"key,attr"`
	Fleet        string    `xml:"fleet,attr"`
	Image        string    `xml:"image,attr"`
	Digest       string    `xml:"digest,attr"`
	GPU          bool      `xml:"gpu,attr"` // one was handed to it
	Created      time.Time `xml:"created,attr"`
	Tags         []tag     `xml:"tag"`
}

type tag struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// mark is one of the two that say how far a domain got.
type mark struct {
	Since time.Time `xml:"since,attr"`
}

// metadata is what a domain's metadata says to us. What others wrote is nothing.
type metadata struct {
	record      *record
	started     bool
	terminating time.Time // zero: it isn't
}

func sortedTags(tags map[string]string) []tag {
	var all []tag
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		all = append(all, tag{name, tags[name]})
	}
	return all
}

func (r record) tags() map[string]string {
	tags := map[string]string{}
	for _, t := range r.Tags {
		tags[t.Name] = t.Value
	}
	return tags
}

// encode is the element as it goes into a definition.
func (r record) encode() (string, error) {
	text, err := xml.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode the metadata of %s: %w", r.Key, err)
	}
	return string(text), nil
}

// encodeMark is a mark as the daemon wants to be given it: without the namespace,
// which it puts there itself.
func encodeMark(name string, since time.Time) string {
	return fmt.Sprintf(`<%s since=%q/>`, name, since.UTC().Format(time.RFC3339Nano))
}

// readMetadata finds our elements in the content of a domain's metadata.
func readMetadata(content string) (metadata, error) {
	var found metadata
	decoder := xml.NewDecoder(strings.NewReader(content))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return metadata{}, fmt.Errorf("its metadata can't be read: %w", err)
		}
		element, begins := token.(xml.StartElement)
		if !begins {
			continue
		}
		switch element.Name.Space {
		case recordSpace:
			found.record = &record{}
			err = decoder.DecodeElement(found.record, &element)
		case startedSpace:
			found.started = true
			err = decoder.Skip()
		case terminatingSpace:
			var m mark
			err = decoder.DecodeElement(&m, &element)
			found.terminating = m.Since
		default:
			err = decoder.Skip()
		}
		if err != nil {
			return metadata{}, fmt.Errorf("its metadata can't be read: %w", err)
		}
	}
}
