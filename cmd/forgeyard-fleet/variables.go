package main

import (
	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// variableFlags are --var and --var-file.
type variableFlags struct {
	assignments []string
	files       []string
}

func (v *variableFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&v.assignments, "var", nil, "set a variable, as name=value; can be repeated")
	flags.StringArrayVar(
		&v.files,
		"var-file",
		nil,
		"set variables from a file with lines of name = value; can be repeated",
	)
}

// values reads what the flags name, and the environment.
func (a *app) values(v variableFlags) (config.Variables, error) {
	variables := config.Variables{Assignments: v.assignments, Environment: a.environ()}
	for _, path := range v.files {
		file, err := config.ReadFile(path)
		if err != nil {
			return variables, err
		}
		variables.Files = append(variables.Files, file)
	}
	return variables, nil
}

// submission reads the workspace of the directory argument as it is sent to a
// manager, which reads the definition.
func (a *app) submission(args []string, v variableFlags, prune bool) (workspace.Workspace, plans.Submission, error) {
	w, err := a.workspace(args)
	if err != nil {
		return w, plans.Submission{}, err
	}
	variables, err := a.values(v)
	return w, plans.NewSubmission(w, variables, prune), err
}

// report prints warnings and returns errors.
func (a *app) report(found config.Diagnostics) error {
	if found.HasErrors() {
		return found
	}
	if len(found) > 0 {
		return found.Render(a.err, a.color())
	}
	return nil
}
