package plans

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// A plan file is one line of words, "forgeyard-fleet-plan FORMAT DIGEST", and the
// JSON of a SavedPlan, of which the digest is. The digest finds damage; it is no
// signature, and nothing in the file is believed that an apply can't check.
const (
	planFileMark = "forgeyard-fleet-plan "
	// maxPlanFile is far beyond what the largest submission gives.
	maxPlanFile = 256 << 20
)

// Bytes is the plan as a file's content.
func (p SavedPlan) Bytes() ([]byte, error) {
	if err := p.plain(); err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	return sealPlan(body), nil
}

func sealPlan(body []byte) []byte {
	return append(fmt.Appendf(nil, "%s%d %s\n", planFileMark, Format, fleet.DigestBytes(body)), body...)
}

// Parse reads a plan file's content.
func Parse(content []byte) (SavedPlan, error) {
	head, body, _ := bytes.Cut(content, []byte("\n"))
	words, marked := bytes.CutPrefix(head, []byte(planFileMark))
	if !marked {
		return SavedPlan{}, errors.New("not a plan file; make one with: forgeyard-fleet plan --out FILE")
	}
	number, digest, _ := bytes.Cut(words, []byte(" "))
	format, err := strconv.Atoi(string(number))
	if err == nil && format != Format {
		return SavedPlan{}, fmt.Errorf(
			"it is in plan format %d, and this version reads %d; use the version that made it, or plan again",
			format,
			Format,
		)
	}
	damaged := errors.New("it is damaged or cut off; take it from where it was made again, or plan again")
	if err != nil || string(digest) != fleet.DigestBytes(body) {
		return SavedPlan{}, damaged
	}
	var p SavedPlan
	if json.Unmarshal(body, &p) != nil || !p.whole() {
		return SavedPlan{}, damaged
	}
	if err := p.plain(); err != nil {
		return SavedPlan{}, err
	}
	return p, nil
}

// plain refuses a plan in whose text, apart from the files that it applies, there
// are characters that steer a terminal: they could erase what is shown of the
// plan, or show something else, before the eyes of the person who is to approve it.
func (p SavedPlan) plain() error {
	p.Submission.Lock = "" // a file, too; the contents of the others are in base64
	p.Plan.Warnings = slices.Clone(p.Plan.Warnings)
	for n := range p.Plan.Warnings {
		p.Plan.Warnings[n].Snippet = config.Snippet{} // a line of a file, which is shown as such
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		return err
	}
	if place, found := steering(whole, "the plan"); found {
		return fmt.Errorf(
			"it contains terminal control characters (in %.100q), which no plan needs: check who made or changed the file, "+
				"and plan again",
			place,
		)
	}
	return nil
}

// steering finds a string or a key with control characters other than line ends
// and tabs, and says where.
func steering(value any, place string) (string, bool) {
	switch value := value.(type) {
	case string:
		return place, strings.ContainsFunc(value, steers)
	case []any:
		for _, one := range value {
			if at, found := steering(one, place); found {
				return at, true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if strings.ContainsFunc(key, steers) {
				return place, true
			}
			if at, found := steering(value[key], key); found {
				return at, true
			}
		}
	}
	return "", false
}

// steers says of a character that a terminal may do something by it. Controls are
// C0, DEL and C1.
func steers(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

// whole says whether everything is there that an apply relies on, and whether
// what the plan shows is what it asks to be applied.
func (p SavedPlan) whole() bool {
	saved := p.Plan.Approval.Saved
	return saved != nil && saved.ID != "" && saved.Changes == changesDigest(p.Plan.Changes) &&
		p.Plan.Approval.Format == Format &&
		p.Plan.Installation != "" &&
		len(p.Submission.Sources) > 0
}

// ReadFile reads a plan file.
func ReadFile(path string) (SavedPlan, error) {
	file, err := os.Open(path)
	if err != nil {
		return SavedPlan{}, fmt.Errorf("read the plan: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxPlanFile+1))
	if err == nil && len(content) > maxPlanFile {
		err = errors.New("it is too large to be a plan file")
	}
	var p SavedPlan
	if err == nil {
		p, err = Parse(content)
	}
	if err != nil {
		return SavedPlan{}, fmt.Errorf("read the plan %s: %w", path, err)
	}
	return p, nil
}

// WriteFile writes a plan file that only its owner may read. After a crash there
// is the old file or the new one. Anything but a plan file stays as it is.
func WriteFile(path string, p SavedPlan) error {
	if err := mayOverwrite(path); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	content, err := p.Bytes()
	if err != nil {
		return err
	}
	if err := pluginstore.ReplaceFile(path, filepath.Dir(path), content, 0o600); err != nil {
		return fmt.Errorf("save the plan as %s: %w", path, err)
	}
	return nil
}

// mayOverwrite refuses a path of an existing file that isn't a plan file.
func mayOverwrite(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	foreign := fmt.Errorf("%s exists and is not a plan file; nothing was written: name another file", path)
	if !info.Mode().IsRegular() {
		return foreign
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	mark := make([]byte, len(planFileMark))
	if _, err := io.ReadFull(file, mark); err != nil || string(mark) != planFileMark {
		return foreign
	}
	return nil
}
