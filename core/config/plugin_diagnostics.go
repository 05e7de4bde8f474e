package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// ProviderDiagnostics puts a plugin's diagnostics of a provider block on the lines
// that they are about.
func (l *Loaded) ProviderDiagnostics(address fleet.ProviderAddress, found []fleet.PluginDiagnostic) diagnostic.List {
	return l.place(l.providers[address], "provider."+string(address), found)
}

// InstanceDiagnostics does the same for the instance block of a fleet.
func (l *Loaded) InstanceDiagnostics(address fleet.FleetAddress, found []fleet.PluginDiagnostic) diagnostic.List {
	return l.place(l.instances[address], string(address), found)
}

// SchedulerDiagnostics does the same for what is found out about a scheduler
// block after it was read.
func (l *Loaded) SchedulerDiagnostics(address fleet.SchedulerAddress, found []fleet.PluginDiagnostic) diagnostic.List {
	return l.place(l.schedulers[address], "scheduler."+string(address), found)
}

func (l *Loaded) place(body blockSource, address string, found []fleet.PluginDiagnostic) diagnostic.List {
	report := l.document.SameTexts()
	if body.where == "" {
		body.where = address
	}
	for _, one := range found {
		severity := diagnostic.Error
		if one.Warning {
			severity = diagnostic.Warning
		}
		at := body.header
		if body.syntax != nil {
			at = rangeInBody(body.syntax, body.header, one.Path)
		}
		report.Add(severity, at, body.where, one.Summary, one.Detail)
	}
	return report.Sorted()
}

// rangeInBody follows a path as far as the text shows it: an attribute that
// isn't written is a matter of its block's header.
func rangeInBody(body *hclsyntax.Body, header hcl.Range, path []fleet.PathStep) hcl.Range {
	if len(path) == 0 {
		return header
	}
	name, rest := path[0].Name, path[1:]
	if attribute := body.Attributes[name]; attribute != nil && name != "" {
		if len(rest) == 0 {
			return attribute.Range()
		}
		return rangeInExpression(attribute.Expr, rest)
	}
	var blocks []*hclsyntax.Block
	for _, block := range body.Blocks {
		if block.Type == name {
			blocks = append(blocks, block)
		}
	}
	index := int64(0)
	if len(rest) > 0 && rest[0].Name == "" {
		index, rest = rest[0].Index, rest[1:]
	}
	if index < 0 || index >= int64(len(blocks)) {
		return header
	}
	block := blocks[index]
	return rangeInBody(block.Body, block.DefRange(), rest)
}

func rangeInExpression(expr hclsyntax.Expression, path []fleet.PathStep) hcl.Range {
	for _, step := range path {
		inner := expr
		if step.Name != "" {
			inner = expression.KeyValue(expr, step.Name)
		} else if step.Index >= 0 && step.Index <= 1<<30 {
			inner = expression.Element(expr, int(step.Index))
		}
		if inner == expr {
			break
		}
		expr = inner
	}
	return expr.Range()
}
