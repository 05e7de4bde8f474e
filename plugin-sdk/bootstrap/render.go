package bootstrap

import (
	"fmt"
	"slices"
	"strings"
)

// KindFile is the plain document as a JSON file that the agent reads by
// --bootstrap.
const KindFile = "file"

// Kinds lists the kinds that Render can write.
var Kinds = []string{KindFile}

// Render writes the document in the form that its kind asks for. The same
// document gives the same bytes.
func Render(document Document) ([]byte, error) {
	if !slices.Contains(Kinds, document.Kind) {
		return nil, fmt.Errorf("bootstrap kind %q is not supported yet; supported: %s",
			document.Kind, strings.Join(Kinds, ", "))
	}
	return document.encode()
}
