package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// LookupEnv finds an environment variable, as os.LookupEnv does.
type LookupEnv func(name string) (string, bool)

// FileReader reads the file of a reference and refuses one that others can
// read. ReadFile is the one that isn't a test's.
type FileReader func(path string) ([]byte, error)

// Resolver finds the secrets that references name. Code that works with secrets gets
// one value of it.
type Resolver struct {
	LookupEnv LookupEnv
	ReadFile  FileReader
}

// FromEnvironment finds secrets in that environment and in this machine's files.
func FromEnvironment(lookup LookupEnv) Resolver { return Resolver{lookup, ReadFile} }

// Error is a reference that leads to nothing. It names the place in the body and
// the reference, and never a value.
type Error struct {
	// Path leads to the attribute in the body; empty for Value.
	Path      []fleet.PathStep
	Reference fleet.SecretReference
	// Reason is the end of a sentence that begins with the reference.
	Reason string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("secret(%q) %s", string(e.Reference), e.Reason)
	if len(e.Path) > 0 {
		text = fleet.PathText(e.Path) + ": " + text
	}
	return text
}

// Diagnostic is the error as a complaint about a body, which config puts on the
// line of the attribute.
func (e *Error) Diagnostic() fleet.PluginDiagnostic {
	return fleet.PluginDiagnostic{
		Summary: "The secret can't be read",
		Detail:  fmt.Sprintf("secret(%q) %s.", string(e.Reference), e.Reason),
		Path:    e.Path,
	}
}

// Diagnostics are all Errors within err.
func Diagnostics(err error) []fleet.PluginDiagnostic {
	var found []fleet.PluginDiagnostic
	var one *Error
	switch joined := err.(type) {
	case interface{ Unwrap() []error }:
		for _, inner := range joined.Unwrap() {
			found = append(found, Diagnostics(inner)...)
		}
	default:
		if errors.As(err, &one) {
			found = append(found, one.Diagnostic())
		}
	}
	return found
}

// DiagnosticsAt are Diagnostics of a Value that is an attribute.
func DiagnosticsAt(err error, attribute string) []fleet.PluginDiagnostic {
	found := Diagnostics(err)
	for i := range found {
		found[i].Path = []fleet.PathStep{{Name: attribute}}
	}
	return found
}

// Resolved is a body with its secrets in it: to be used, and to be forgotten.
type Resolved struct {
	Body json.RawMessage
	// Secrets are the values that took the place of references, so that code which
	// gets the body can hide them where the receiver repeats them.
	Secrets []string
}

// String keeps the secrets out of logs and messages.
func (r Resolved) String() string { return fmt.Sprintf("a body with %d secrets", len(r.Secrets)) }

// GoString keeps them out of %#v as well.
func (r Resolved) GoString() string { return r.String() }

// Resolve gives a plugin's body with every reference replaced by its secret. All
// references that lead to nothing come back at once, joined, each an *Error.
func (r Resolver) Resolve(ctx context.Context, body json.RawMessage) (Resolved, error) {
	var resolved any
	var secrets []string
	err := walk(ctx, body, func(value any) { resolved = value }, func(reference fleet.SecretReference) (string, string) {
		value, reason := r.read(reference)
		secrets = append(secrets, value)
		return value, reason
	})
	if err != nil {
		return Resolved{}, err
	}
	if resolved == nil {
		return Resolved{Body: slices.Clone(body)}, nil // no reference, and the same bytes
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(resolved); err != nil {
		return Resolved{}, errors.New("write the body with its secrets: invalid JSON")
	}
	return Resolved{Body: bytes.TrimSuffix(text.Bytes(), []byte("\n")), Secrets: secrets}, nil
}

// Check says which references of a body lead to nothing, as Resolve would: at
// plan time, so that nothing is applied that can't be configured.
func (r Resolver) Check(ctx context.Context, body json.RawMessage) error {
	return walk(ctx, body, func(any) {}, func(reference fleet.SecretReference) (string, string) {
		_, reason := r.read(reference)
		return "", reason
	})
}

// Value is the secret of one reference, such as a scheduler's token.
func (r Resolver) Value(ctx context.Context, reference fleet.SecretReference) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("read secret(%q): %w", string(reference), err)
	}
	value, reason := r.read(reference)
	if reason != "" {
		return "", &Error{Reference: reference, Reason: reason}
	}
	return value, nil
}

// read gives a secret, or the reason why there is none.
func (r Resolver) read(reference fleet.SecretReference) (value, reason string) {
	if err := reference.Valid(); err != nil {
		return "", "is not a reference: " + err.Error()
	}
	if name, ok := reference.Environment(); ok {
		value, set := r.LookupEnv(name)
		switch {
		case !set:
			return "", fmt.Sprintf("is not set: the manager's environment has no variable %s", name)
		case value == "":
			return "", fmt.Sprintf("is empty: set the variable %s in the manager's environment", name)
		}
		return value, ""
	}
	path, _ := reference.File()
	content, err := r.ReadFile(path)
	if err != nil {
		return "", "can't be read: " + err.Error()
	}
	// Editors and echo end a file with a line break, which no token has.
	value = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if value == "" {
		return "", "is empty: write the secret into the file"
	}
	return value, ""
}

// walk visits the references of a body. Replaced gets the body with what resolve
// gave, and isn't called for a body without references.
func walk(
	ctx context.Context,
	body json.RawMessage,
	replaced func(any),
	resolve func(fleet.SecretReference) (value, reason string),
) error {
	if !bytes.Contains(body, []byte(fleet.SecretMarker)) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // an int64 has more digits than a float64
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("look for secrets in a body: invalid JSON: %w", err)
	}
	w := walker{ctx: ctx, resolve: resolve}
	value = w.visit(nil, value)
	if len(w.failures) > 0 {
		return errors.Join(w.failures...)
	}
	replaced(value)
	return nil
}

type walker struct {
	ctx      context.Context
	resolve  func(fleet.SecretReference) (value, reason string)
	failures []error
}

func (w *walker) visit(path []fleet.PathStep, value any) any {
	if err := w.ctx.Err(); err != nil {
		if len(w.failures) == 0 {
			w.failures = append(w.failures, fmt.Errorf("read secrets: %w", err))
		}
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		if reference, ok := value[fleet.SecretMarker].(string); ok && len(value) == 1 {
			secret, reason := w.resolve(fleet.SecretReference(reference))
			if reason != "" {
				w.failures = append(
					w.failures,
					&Error{Path: slices.Clone(path), Reference: fleet.SecretReference(reference), Reason: reason},
				)
			}
			return secret
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			value[key] = w.visit(append(path, fleet.PathStep{Name: key}), value[key])
		}
	case []any:
		for i := range value {
			value[i] = w.visit(append(path, fleet.PathStep{Index: int64(i)}), value[i])
		}
	}
	return value
}
