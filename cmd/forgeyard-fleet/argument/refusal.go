package argument

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/api"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// A manager refuses a value with the names of its routes: body.permissions, path.id.
// The user knows the flags and arguments of the command.

// requestMember is the annotation of a flag whose values go into members of the
// request that no rule finds it by.
const requestMember = "forgeyard_request_member"

// SentAs says which members of the request a flag's value goes into.
func SentAs(c *cobra.Command, flag string, members ...string) {
	_ = c.Flags().SetAnnotation(flag, requestMember, members) // it is there: the command made it
}

// AsTyped rewrites a refusal of single values with the flags and arguments of the command
// that sent them. Other errors stay as they are, and so does a refusal of values that
// weren't typed, such as the contents of files.
func AsTyped(c *cobra.Command, err error) error {
	refusal, ok := errors.AsType[*api.Problem](err)
	if !ok || c == nil {
		return directoryMeant(c, err)
	}
	var said []string
	for _, f := range refusal.Fields {
		location, message := f.Location, f.Message
		if member, absent := absentMember(message); absent {
			location, message = location+"."+member, "is required"
		}
		word, meaning := TypedAs(c, location)
		if word == "" {
			return err
		}
		said = append(said, fmt.Sprintf("%s: %s%s", word, inPlainWords(message), meaning))
	}
	if len(said) == 0 {
		return err
	}
	return errors.New(strings.Join(said, "; "))
}

// absentMember is the member that a request lacks, which is told of the whole.
func absentMember(message string) (string, bool) {
	rest, begins := strings.CutPrefix(message, "expected required property ")
	member, ends := strings.CutSuffix(rest, " to be present")
	return member, begins && ends
}

// TypedAs is the flag, or the argument in capitals, whose value a member of a request
// has, and what the flag is for; "": none.
func TypedAs(c *cobra.Command, location string) (word, meaning string) {
	part, member, _ := strings.Cut(location, ".")
	member, _, _ = strings.Cut(member, ".")
	member, _, _ = strings.Cut(member, "[")
	// What a path names is an argument, unless the command was given none.
	if f := flagOf(c, member); f != nil && (part != "path" || c.Flags().NArg() == 0) {
		_, text := pflag.UnquoteUsage(f)
		return "--" + f.Name, " (" + text + ")"
	}
	for _, argument := range argumentsOf(c) {
		if part == "path" || slices.Contains(strings.Split(argument, "|"), strings.ToUpper(member)) {
			return argument, ""
		}
	}
	return "", ""
}

// flagOf is the flag of a member: the one that says so, or the one of its name, in the
// singular and without a unit.
func flagOf(c *cobra.Command, member string) (found *pflag.Flag) {
	if member == "" {
		return nil
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[requestMember], member) {
			found = f
		}
	})
	name := strings.ReplaceAll(strings.TrimSuffix(member, "_seconds"), "_", "-")
	for _, name := range []string{name, strings.TrimSuffix(name, "s")} {
		if found == nil {
			found = c.Flags().Lookup(name)
		}
	}
	return found
}

// inPlainWords is the message of a schema check without the schema's vocabulary.
func inPlainWords(message string) string {
	for begins, says := range map[string]string{
		"expected array length >= ": "needs at least %s", "expected array length <= ": "must be at most %s",
		"expected length >= ": "must be at least %s characters", "expected length <= ": "must be at most %s characters",
		"expected number >= ": "must be at least %s", "expected number <= ": "must be at most %s",
	} {
		if limit, ok := strings.CutPrefix(message, begins); ok {
			return fmt.Sprintf(says, limit)
		}
	}
	return message
}

// directoryMeant explains --dir if a command was given a directory of fleet files as its
// argument, as plan and apply take it. Other errors stay as they are.
func directoryMeant(c *cobra.Command, err error) error {
	var absent *NoFleetError
	var missing *access.NotFoundError
	found := errors.Is(err, config.ErrNoSources) || errors.Is(err, workspace.ErrNothingApplied) ||
		errors.As(err, &absent) ||
		errors.As(err, &missing)
	if !found || c == nil {
		return err
	}
	for _, argument := range c.Flags().Args() {
		if about, failed := os.Stat(argument); failed != nil || !about.IsDir() {
			continue
		}
		if takes := argumentsOf(c); len(takes) > 0 && !strings.Contains(takes[0], "DIR") {
			name := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
			return fmt.Errorf(
				"%s is a directory, but %s takes a %s. To name the directory of the fleet files, use --dir %[1]s",
				argument,
				name,
				takes[0],
			)
		}
	}
	return err
}

// argumentsOf are the arguments of a command, and the values of flags, as its usage
// names them: in capitals.
func argumentsOf(c *cobra.Command) (all []string) {
	for word := range strings.FieldsSeq(strings.NewReplacer("[", " ", "]", " ").Replace(c.Use)) {
		if word != strings.ToLower(word) && word == strings.ToUpper(word) {
			all = append(all, word)
		}
	}
	return all
}
