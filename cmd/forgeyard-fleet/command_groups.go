package main

import (
	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/internal/usage"
)

// commandGroup is a heading of the help with its commands, in the order of the help.
type commandGroup struct {
	id, title string
	commands  []*cobra.Command
}

// administer is the id of the group that has the help command, too.
const administer = "administer"

func (a *app) groups() []commandGroup {
	return []commandGroup{
		{"start", "Get started:", []*cobra.Command{
			a.initCommand(), a.validateCommand(), a.fmtCommand(), a.planCommand(), a.applyCommand(), a.simulateCommand(),
		}},
		{"see", "See the state and its reasons:", []*cobra.Command{
			a.statusCommand(), a.listCommand(), a.explainCommand(), a.eventsCommand(), a.showCommand(),
		}},
		{
			"change",
			"Change what is running:",
			[]*cobra.Command{
				a.scaleCommand(),
				a.pinCommand(),
				a.freezeCommand(),
				a.quarantineCommand(),
				a.costOverrideCommand(),
				a.drainCommand(),
				a.instanceCommand(),
				a.imageCommand(),
				a.reservationCommand(),
			},
		},
		{"plugins", "Provider plugins:", []*cobra.Command{a.pluginCommand()}},
		{administer, "Administer:", []*cobra.Command{
			a.serveCommand(), a.tokenCommand(), a.keyCommand(), a.reviewosCommand(), a.versionCommand(), a.completionCommand(),
		}},
	}
}

// addCommands adds every command to the root, under the heading of its group.
func (a *app) addCommands(root *cobra.Command) {
	for _, g := range a.groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID(administer)
}

// destroyHint names both ways to remove fleets.
const destroyHint = "To remove every fleet that the files don't mention, delete the blocks and run:\n  " +
	"forgeyard-fleet apply " +
	"--prune\nTo remove one fleet, replace its block and run forgeyard-fleet apply:\n  removed {\n    from = " +
	"fleet.NAME\n  }"

// terraformHints are for users who know Terraform or OpenTofu.
var terraformHints = usage.Hints{
	Commands: map[string]string{
		"destroy": destroyHint,
		"state":   "To see what was applied and what exists, run:\n  forgeyard-fleet status\n  forgeyard-fleet instance list",
		"taint":   "To replace an instance after its job, run:\n  forgeyard-fleet instance replace INSTANCE",
		"refresh": "The manager inspects the providers by itself. To see the result, run:\n  forgeyard-fleet status",
		"output":  "To read results in a program, run:\n  forgeyard-fleet status --json",
		"import": "Resources without a record can't become runners. To see them, run:\n  forgeyard-fleet instance list " +
			"--unrecorded",
	},
	Flags: map[string]string{
		"out": "A plan is saved by plan, and apply takes its file:\n  forgeyard-fleet plan --out FILE\n  " +
			"forgeyard-fleet apply FILE",
		"target": "A plan covers all fleet files. To leave one fleet as it is, freeze it first:\n  forgeyard-fleet " +
			"freeze FLEET",
		"destroy": destroyHint,
		"refresh": "The manager inspects the providers by itself.",
		"replace": "To replace an instance after its job, run:\n  forgeyard-fleet instance replace INSTANCE",
	},
}
