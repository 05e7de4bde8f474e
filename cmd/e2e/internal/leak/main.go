// Command forgeyard-plugin-leak is the worst a plugin can do by carelessness:
// it shows the secrets that it was given wherever it can say something. It is for
// tests alone. An instance is a file in FOLDER/hosts, and no agent ever runs.
//
// FOLDER/mode says what goes wrong besides; FOLDER/received has what it really
// got, and FOLDER/leaked one line for each time that it misbehaved.
package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Config is the provider block.
type Config struct {
	Folder string `fleet:"folder,required" doc:"Where it keeps its hosts and what it got."`
	Token  string `fleet:"token,required,sensitive" doc:"A secret of one line."`
	Key    string `fleet:"key,sensitive" doc:"A secret of several lines."`
}

// Instance is empty.
type Instance struct{}

// Validate warns with the secrets.
func (c Config) Validate() []provider.Diagnostic {
	if c.mode() == "refuse" {
		return []provider.Diagnostic{{Summary: c.leak("refuse"), Detail: c.leak("refuse"), Path: provider.At("token")}}
	}
	return []provider.Diagnostic{
		{Warning: true, Summary: c.leak("validate"), Detail: c.leak("validate"), Path: provider.At("token")},
	}
}

func (c Config) mode() string {
	text, _ := os.ReadFile(filepath.Join(c.Folder, "mode")) // none: nothing goes wrong
	return strings.TrimSpace(string(text))
}

// leak shows the secrets in the forms in which programs print them, after a mark
// by which the text is recognized.
func (c Config) leak(mark string) string {
	c.note("leaked", mark)
	text := "mark-" + strings.ReplaceAll(mark, " ", "-")
	for _, one := range []string{c.Token, c.Key} {
		encoded, _ := json.Marshal(one) // a string can always be encoded
		text += fmt.Sprintf(
			" %s %q %s %s %s %s Basic %s %s",
			one,
			one,
			encoded,
			url.QueryEscape(one),
			url.PathEscape(one),
			hex.EncodeToString([]byte(one)),
			base64.StdEncoding.EncodeToString([]byte("user:"+one)),
			base64.RawURLEncoding.EncodeToString([]byte(one)),
		)
	}
	return text
}

// note writes a line of what happened into a file of the folder.
func (c Config) note(name, line string) {
	file, err := os.OpenFile(filepath.Join(c.Folder, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintln(file, line)
}

type leaking struct {
	Config
	log *slog.Logger
}

func newProvider(_ context.Context, c Config, environment provider.Environment) (provider.Provider[Instance], error) {
	c.note("received", c.Token+"\n"+c.Key)
	text := c.leak("log")
	environment.Logger.Info(text, "token", c.Token, "body", map[string]string{"key": c.Key})
	fmt.Fprintln(os.Stderr, text)
	fmt.Println(text)
	_, _ = syscall.Write(1, []byte(text+"\n")) // past what go-plugin put in the place of os.Stdout
	if c.mode() == "configure" {
		return nil, provider.Diagnostic{Summary: c.leak("configure"), Detail: c.Token, Path: provider.At("token")}
	}
	environment.SetAccount("leak")
	return leaking{c, environment.Logger}, os.MkdirAll(filepath.Join(c.Folder, "hosts"), 0o700)
}

func (s leaking) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		entries, err := os.ReadDir(filepath.Join(s.Folder, "hosts"))
		if s.mode() == "inspect" {
			err = errors.New(s.leak("inspect"))
		}
		if err != nil {
			yield(provider.Resource{}, err)
			return
		}
		for _, entry := range entries {
			if !yield(s.resource(entry.Name()), nil) {
				return
			}
		}
	}
}

func (s leaking) Provision(_ context.Context, request provider.ProvisionRequest[Instance]) (provider.Resource, error) {
	s.note("received", request.Bootstrap.Token)
	s.log.Warn("provision", "bootstrap", request.Bootstrap.Token, "token", s.Token)
	switch s.mode() {
	case "provision":
		return provider.Resource{}, provider.NotCreated(
			provider.Transient,
			errors.New(s.leak("provision")+" "+request.Bootstrap.Token),
		)
	case "panic":
		panic(s.leak("panic"))
	case "crash":
		text := s.leak("crash")
		done := make(chan struct{})
		go func() {
			defer close(done)
			panic(text)
		}()
		<-done
	}
	if err := os.WriteFile(filepath.Join(s.Folder, "hosts", request.Key), nil, 0o600); err != nil {
		return provider.Resource{}, err
	}
	return s.resource(request.Key), nil
}

// resource shows the secrets in all that a resource has for a person to read, and
// in the mode "identity" in its id.
func (s leaking) resource(key string) provider.Resource {
	text := s.leak("resource")
	r := provider.Resource{
		ID: key, Key: key, State: provider.Running, Detail: text, Zone: text, MachineType: s.Token, Image: s.Token,
		Addresses: []string{s.Token}, Tags: map[string]string{"token": s.Token, s.Token: text},
	}
	if s.mode() == "identity" {
		s.note("leaked", "identity")
		r.ID += s.Token
	}
	return r
}

func (s leaking) Terminate(_ context.Context, ref provider.Ref) (provider.TerminateState, error) {
	err := os.Remove(filepath.Join(s.Folder, "hosts", ref.Key))
	if err != nil && !os.IsNotExist(err) {
		return provider.TerminateUnknown, errors.New(s.leak("terminate"))
	}
	return provider.Gone, nil
}

func main() {
	provider.Serve(provider.Plugin[Config, Instance]{
		Name:        "leak",
		Version:     "0.1.0",
		Idempotency: provider.IdempotentByTag,
		Ownership:   provider.OwnershipNamed,
		New:         newProvider,
	})
}
