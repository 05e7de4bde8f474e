package fleet

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// SecretReference says where a secret is: "env:NAME" is a variable of the
// manager's environment, "file:/path" a file on its machine. The secret itself
// is never part of a definition; only what is handed to a plugin or scheduler
// has it, and that is stored nowhere.
//
// Its JSON, by itself and inside a plugin's body, is {"$secret": "env:NAME"}.
// Digests are over that, so a rotated secret changes no definition.
type SecretReference string

// SecretMarker is the one key of a reference's JSON object. No map of a plugin's
// body may have a key of that name.
const SecretMarker = "$secret"

var environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Valid says what is wrong with a reference in a sentence's end; nil: nothing.
func (r SecretReference) Valid() error {
	kind, place, _ := strings.Cut(string(r), ":")
	switch {
	case kind == "env" && environmentName.MatchString(place):
		return nil
	case kind == "env":
		return fmt.Errorf("after env: comes the name of an environment variable, such as env:API_TOKEN")
	case kind == "file" && filepath.IsAbs(place) && !strings.ContainsRune(place, 0):
		return nil
	case kind == "file":
		return fmt.Errorf("after file: comes an absolute path, such as file:/etc/forgeyard/token")
	default:
		return fmt.Errorf("a reference is env:NAME or file:/absolute/path")
	}
}

// Environment is the name of the environment variable; false: it is none.
func (r SecretReference) Environment() (string, bool) { return strings.CutPrefix(string(r), "env:") }

// File is the path of the file; false: it is none.
func (r SecretReference) File() (string, bool) { return strings.CutPrefix(string(r), "file:") }

// MarshalJSON writes the marked form.
func (r SecretReference) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{SecretMarker: string(r)})
}

// UnmarshalJSON reads the marked form.
func (r *SecretReference) UnmarshalJSON(text []byte) error {
	var marked map[string]string
	if err := json.Unmarshal(text, &marked); err != nil {
		return fmt.Errorf("read a secret reference: %w", err)
	}
	*r = SecretReference(marked[SecretMarker])
	return nil
}
