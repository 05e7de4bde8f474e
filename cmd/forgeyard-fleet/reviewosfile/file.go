package reviewosfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
)

// File is a ReviewOS fleet file: its pools, and the queues of each.
type File struct {
	Pools []Pool
}

// Pool is a pool with its queues, and the repositories that may use it.
type Pool struct {
	Name         string
	Description  string
	SignedSteps  bool
	Queues       []Queue
	Repositories []string
	// describes and signs say that the file speaks of the description and of signed
	// steps: what it doesn't speak of is left as it is.
	describes, signs bool
}

// Queue is a queue of a pool; Reason says why it is paused.
type Queue struct {
	Name   string
	Paused bool
	Reason string
	// states says that the file speaks of the state.
	states bool
}

// mostFleetFile bounds a file, in bytes.
const mostFleetFile = 1 << 20

// Read reads a fleet file. Every mistake of it is one line with its
// place.
func Read(path string) (File, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > mostFleetFile {
		err = fmt.Errorf("it has %d bytes, and %d is the most that is read", info.Size(), mostFleetFile)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path)
	}
	if err != nil {
		return File{}, fmt.Errorf("read the fleet file %s: %w", path, err)
	}
	return parse(path, content)
}

func parse(path string, content []byte) (File, error) {
	var document, another yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&document)
	if err == nil {
		if err = decoder.Decode(&another); err == nil {
			return File{}, fmt.Errorf(
				"%s:%d:1: a second document begins here, which nothing would read; put all pools below one \"pools:\"",
				path,
				max(1, another.Line),
			)
		}
	}
	if !errors.Is(err, io.EOF) {
		return File{}, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	r := &reader{path: path}
	var file File
	if len(document.Content) == 0 {
		r.fail(&document, "the file is empty; it begins with \"pools:\"")
	} else {
		r.object(document.Content[0], "the file", map[string]func(*yaml.Node){
			"pools": func(n *yaml.Node) {
				r.each(n, "pools", func(n *yaml.Node) { file.Pools = append(file.Pools, r.pool(n)) })
			},
		})
	}
	r.unique(file)
	return file, errors.Join(r.mistakes...)
}

// reader collects the mistakes of a file.
type reader struct {
	path     string
	mistakes []error
}

func (r *reader) fail(at *yaml.Node, format string, args ...any) {
	r.mistakes = append(
		r.mistakes,
		fmt.Errorf("%s:%d:%d: %s", r.path, max(1, at.Line), max(1, at.Column), fmt.Sprintf(format, args...)),
	)
}

func (r *reader) pool(at *yaml.Node) (p Pool) {
	r.object(at, "a pool", map[string]func(*yaml.Node){
		"name":                 func(n *yaml.Node) { p.Name = r.text(n, "name") },
		"description":          func(n *yaml.Node) { p.Description, p.describes = r.text(n, "description"), true },
		"require_signed_steps": func(n *yaml.Node) { p.SignedSteps, p.signs = r.truth(n, "require_signed_steps"), true },
		"queues": func(n *yaml.Node) {
			r.each(n, "queues", func(n *yaml.Node) { p.Queues = append(p.Queues, r.queue(n)) })
		},
		"repositories": func(n *yaml.Node) {
			r.each(n, "repositories", func(n *yaml.Node) { p.Repositories = append(p.Repositories, r.repository(n)) })
		},
	})
	if p.Name == "" && at.Kind == yaml.MappingNode {
		r.fail(at, "a pool needs a name, as in \"name: Deployment\"")
	}
	return p
}

func (r *reader) queue(at *yaml.Node) (q Queue) {
	r.object(at, "a queue", map[string]func(*yaml.Node){
		"name":   func(n *yaml.Node) { q.Name = r.text(n, "name") },
		"reason": func(n *yaml.Node) { q.Reason = r.text(n, "reason") },
		"state": func(n *yaml.Node) {
			state := r.text(n, "state")
			if q.states = true; state != reviewos.QueueActive && state != reviewos.QueuePaused {
				r.fail(n, "state is %.40q; it is active or paused", state)
			}
			q.Paused = state == reviewos.QueuePaused
		},
	})
	switch {
	case at.Kind != yaml.MappingNode:
	case q.Name == "":
		r.fail(at, "a queue needs a name, as in \"name: linux-x64\"")
	case q.Paused && q.Reason == "":
		r.fail(
			at,
			"the queue %.60q is paused without a reason; add one for later readers, as in \"reason: waiting for the "+
				"new mac mini\"",
			q.Name,
		)
	case !q.Paused && q.Reason != "":
		r.fail(at, "the queue %.60q has a reason and isn't paused; remove it, or write \"state: paused\"", q.Name)
	}
	return q
}

func (r *reader) repository(n *yaml.Node) string {
	text := r.text(n, "a repository")
	if owner, name, _ := strings.Cut(text, "/"); text != "" && (owner == "" || name == "" || strings.Contains(name, "/")) {
		r.fail(n, "%.60q is not a repository; write its owner and its name, as in acme/api", text)
	}
	return text
}

// object reads the keys of a mapping. An unknown one is a mistake: it would
// do nothing, and somebody meant something by it.
func (r *reader) object(at *yaml.Node, what string, keys map[string]func(*yaml.Node)) {
	if at.Kind != yaml.MappingNode {
		r.fail(at, "%s must be keys with values", what)
		return
	}
	seen := map[string]bool{}
	for n := 0; n+1 < len(at.Content); n += 2 {
		key, value := at.Content[n], at.Content[n+1]
		read, known := keys[key.Value]
		switch {
		case !known:
			r.fail(key, "%s has no key %.40q%s", what, key.Value, nearest(key.Value, keys))
		case seen[key.Value]:
			r.fail(key, "%q is listed twice", key.Value)
		default:
			seen[key.Value] = true
			read(value)
		}
	}
}

// nearest suggests the key that somebody may have meant.
func nearest(wrong string, keys map[string]func(*yaml.Node)) string {
	var known []string
	for key := range keys {
		known = append(known, key)
	}
	slices.Sort(known)
	best, least := "", 3
	for _, key := range known {
		if d := levenshtein.Distance(wrong, key, nil); d < least {
			best, least = key, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; it has " + strings.Join(known, ", ")
}

func (r *reader) each(at *yaml.Node, what string, read func(*yaml.Node)) {
	if at.Kind != yaml.SequenceNode {
		r.fail(at, "%s must be a list, each line of which begins with \"- \"", what)
		return
	}
	for _, n := range at.Content {
		read(n)
	}
}

func (r *reader) text(at *yaml.Node, what string) string {
	if at.Kind != yaml.ScalarNode || at.Tag == "!!null" || strings.TrimSpace(at.Value) == "" || len(at.Value) > 1000 {
		r.fail(at, "%s must be a text of 1 to 1000 bytes", what)
		return ""
	}
	return at.Value
}

func (r *reader) truth(at *yaml.Node, what string) (value bool) {
	if at.Kind != yaml.ScalarNode || at.Tag != "!!bool" || at.Decode(&value) != nil {
		r.fail(at, "%s must be true or false", what)
	}
	return value
}

// unique refuses names that are listed twice: no two pools share one, and no two
// queues of the file, since a queue's name is all that its metrics have.
func (r *reader) unique(file File) {
	pools, queues := map[string]bool{}, map[string]bool{}
	for _, p := range file.Pools {
		if p.Name != "" && pools[p.Name] {
			r.mistakes = append(r.mistakes, fmt.Errorf("%s: the pool %.60q is listed twice", r.path, p.Name))
		}
		pools[p.Name] = true
		for _, q := range p.Queues {
			if q.Name != "" && queues[q.Name] {
				r.mistakes = append(r.mistakes, fmt.Errorf("%s: the queue %.60q is listed twice", r.path, q.Name))
			}
			queues[q.Name] = true
		}
	}
}
