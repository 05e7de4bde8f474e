package bootstrap

import (
	"fmt"
	"strings"
)

// KindFile is the plain document as a JSON file that the agent reads by
// --bootstrap: for hosts that have the agent already.
const KindFile = "file"

// Kinds lists the kinds that Render can write.
var Kinds = []string{KindFile, KindCloudInit}

// Render writes the document in the form that its kind asks for. The same
// document gives the same bytes.
func Render(document Document) ([]byte, error) {
	switch document.Kind {
	case KindFile:
		return document.encode()
	case KindCloudInit:
		return cloudInit(document)
	}
	return nil, fmt.Errorf("bootstrap kind %q is not supported yet; supported: %s", document.Kind,
		strings.Join(Kinds, ", "))
}
