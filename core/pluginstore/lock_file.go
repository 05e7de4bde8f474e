package pluginstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// maxLockBytes is far above any real lock.
const maxLockBytes = 1 << 20

// ReadLock reads a project's lock file. A project without one has an empty
// lock: every plugin is then reported as not locked.
func ReadLock(path string) (Lock, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Lock{}, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxLockBytes) {
		err = errors.New("it is not a lock file")
	}
	if err != nil {
		return Lock{}, fmt.Errorf("read the plugin lock %s: %w", path, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return Lock{}, fmt.Errorf("read the plugin lock: %w", err)
	}
	lock, err := ParseLock(content)
	if err != nil {
		return Lock{}, fmt.Errorf("read the plugin lock %s: %w", path, err)
	}
	return lock, nil
}

// WriteLock replaces the lock file in one step: after a crash there is the old
// one or the new one. The same content isn't written again.
func WriteLock(path string, lock Lock) error {
	if err := lock.Validate(); err != nil {
		return fmt.Errorf("write the plugin lock %s: %w", path, err)
	}
	content := lock.Bytes()
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, content) {
		return nil
	}
	if err := ReplaceFile(path, filepath.Dir(path), content, 0o644); err != nil {
		return fmt.Errorf("write the plugin lock %s: %w", path, err)
	}
	return nil
}

// ChangeLock reads a lock file, changes it and writes it, while no other command
// does: each keeps what the others wrote. It is held in the store, beside which
// none of them works, so that no file is left in the project.
func (s *Store) ChangeLock(ctx context.Context, path string, change func(Lock) (Lock, error)) error {
	unlock, err := s.lock(ctx, "project")
	if err != nil {
		return err
	}
	defer unlock()
	lock, err := ReadLock(path)
	if err != nil {
		return err
	}
	if lock, err = change(lock); err != nil {
		return fmt.Errorf("write the plugin lock %s: %w", path, err)
	}
	return WriteLock(path, lock)
}

var (
	pluginLine    = regexp.MustCompile(`^plugin "([^"]*)" \{$`)
	attributeLine = regexp.MustCompile(`^ {2}([a-z]+) *= (?:"([^"]*)"|([0-9]{1,4}))$`)
	binaryLine    = regexp.MustCompile(`^ {4}([a-z0-9_]+) *= "([^"]*)"$`)
)

// ParseLock reads the normal form and nothing else: a lock is written by one
// command, so every other form is an edit, a conflict or damage. The form is
// plain enough to be read line by line, without a parser that recurses.
func ParseLock(content []byte) (Lock, error) {
	parser := lockParser{lines: strings.Split(string(content), "\n")}
	if err := parser.parse(); err != nil {
		return Lock{}, err
	}
	if err := parser.lock.Validate(); err != nil {
		return Lock{}, fmt.Errorf("%w; %s", err, restoreAdvice)
	}
	if line := firstDifference(content, parser.lock.Bytes()); line > 0 {
		return Lock{}, notNormal(line)
	}
	return parser.lock, nil
}

const restoreAdvice = "take the file back from version control, or delete it and run: forgeyard-fleet plugin install"

func notNormal(line int) error {
	return fmt.Errorf("line %d is not as \"forgeyard-fleet plugin install\" writes it; %s", line, restoreAdvice)
}

type lockParser struct {
	lines []string
	at    int
	lock  Lock
}

func (p *lockParser) parse() error {
	for i, line := range p.lines {
		if strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, ">>>>>>>") {
			return fmt.Errorf("line %d is a merge conflict; take either side whole and run: forgeyard-fleet plugin install", i+1)
		}
	}
	if p.next() != strings.TrimSuffix(lockHeader, "\n") {
		return notNormal(1)
	}
	for p.at < len(p.lines) {
		if p.at == len(p.lines)-1 && p.lines[p.at] == "" {
			return nil
		}
		if p.next() != "" {
			return notNormal(p.at)
		}
		if err := p.plugin(); err != nil {
			return err
		}
	}
	return nil
}

func (p *lockParser) plugin() error {
	head := pluginLine.FindStringSubmatch(p.next())
	if head == nil {
		return notNormal(p.at)
	}
	plugin := LockedPlugin{Name: head[1], Binaries: map[string]string{}}
	for {
		line := p.next()
		if line == "  binaries = {" {
			break
		}
		part := attributeLine.FindStringSubmatch(line)
		if part == nil || !plugin.set(part[1], part[2], part[3]) {
			return notNormal(p.at)
		}
	}
	for {
		line := p.next()
		if line == "  }" {
			break
		}
		part := binaryLine.FindStringSubmatch(line)
		if part == nil {
			return notNormal(p.at)
		}
		plugin.Binaries[part[1]] = part[2]
	}
	if p.next() != "}" {
		return notNormal(p.at)
	}
	p.lock.Plugins = append(p.lock.Plugins, plugin)
	return nil
}

// next is the next line; past the end it is one that fits nowhere.
func (p *lockParser) next() string {
	p.at++
	if p.at > len(p.lines) {
		return "\x00"
	}
	return p.lines[p.at-1]
}

// set fills one attribute. False: there is none of that name.
func (p *LockedPlugin) set(name, text, number string) bool {
	switch name {
	case "source":
		p.Source = text
	case "version":
		p.Version = text
	case "constraint":
		p.Constraint = text
	case "protocol":
		p.Protocol, _ = strconv.Atoi(number)
	case "index":
		p.Index = text
	case "signer":
		p.Signer = text
	default:
		return false
	}
	return true
}

// firstDifference is the first line that differs; 0: none.
func firstDifference(got, want []byte) int {
	if bytes.Equal(got, want) {
		return 0
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i, line := range gotLines {
		if i >= len(wantLines) || !bytes.Equal(line, wantLines[i]) {
			return i + 1
		}
	}
	return len(gotLines) + 1
}
