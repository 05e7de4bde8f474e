package bootstrap

import (
	"encoding/json"
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
	if err := document.Check(); err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render the bootstrap document: %w", err)
	}
	return append(content, '\n'), nil
}
