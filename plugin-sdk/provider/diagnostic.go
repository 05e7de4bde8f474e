package provider

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Diagnostic is a complaint about a block of the fleet file. The host adds file
// and line from Path.
type Diagnostic struct {
	// Summary is one short sentence; Detail says what to do about it.
	Summary string
	Detail  string
	// Path leads to the value: At("disk").Index(0).Attr("size_gb"). Empty: the block.
	Path Path
	// Warning doesn't stop anything.
	Warning bool
}

// Error lets New return a Diagnostic.
func (d Diagnostic) Error() string {
	text := d.Summary
	if len(d.Path) > 0 {
		text = d.Path.String() + ": " + text
	}
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return text
}

// Path leads into a block.
type Path []Step

// Step is an attribute, block or map key by name, or an index where Name is empty.
type Step struct {
	Name  string
	Index int
}

// At begins a path at an attribute or a nested block.
func At(name string) Path { return Path{{Name: name}} }

// Attr extends the path by an attribute of a block or object, or to a map's key.
func (p Path) Attr(name string) Path { return p.with(Step{Name: name}) }

// Index extends the path by an element of a list or a repeated block.
func (p Path) Index(index int) Path { return p.with(Step{Index: index}) }

// with copies, so that two paths never share their last step.
func (p Path) with(step Step) Path {
	longer := make(Path, len(p), len(p)+1)
	copy(longer, p)
	return append(longer, step)
}

func (p Path) String() string {
	var text strings.Builder
	for i, step := range p {
		switch {
		case step.Name == "":
			fmt.Fprintf(&text, "[%d]", step.Index)
		case i == 0:
			text.WriteString(step.Name)
		default:
			text.WriteString("." + step.Name)
		}
	}
	return text.String()
}

// hasErrors says whether something more than warnings is among them.
func hasErrors(diagnostics []Diagnostic) bool {
	for _, diagnostic := range diagnostics {
		if !diagnostic.Warning {
			return true
		}
	}
	return false
}

func diagnosticsToWire(diagnostics []Diagnostic) []*providerpb.Diagnostic {
	wire := make([]*providerpb.Diagnostic, 0, len(diagnostics))
	for _, diagnostic := range diagnostics {
		one := &providerpb.Diagnostic{
			Severity: providerpb.Diagnostic_SEVERITY_ERROR,
			Summary:  diagnostic.Summary,
			Detail:   diagnostic.Detail,
		}
		if diagnostic.Warning {
			one.Severity = providerpb.Diagnostic_SEVERITY_WARNING
		}
		one.Path = pathToWire(diagnostic.Path)
		wire = append(wire, one)
	}
	return wire
}

func pathToWire(path Path) (wire []*providerpb.Diagnostic_Step) {
	for _, step := range path {
		if step.Name != "" {
			wire = append(wire, &providerpb.Diagnostic_Step{Step: &providerpb.Diagnostic_Step_Name{Name: step.Name}})
		} else {
			wire = append(wire,
				&providerpb.Diagnostic_Step{Step: &providerpb.Diagnostic_Step_Index{Index: int64(step.Index)}})
		}
	}
	return wire
}
