package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// checkAttested refuses a fleet whose class asks for what its provider's plugin never
// vouches for: its instances would be made, and none of them admitted.
func (l *loader) checkAttested(block *body, f fleet.RunnerFleet) {
	plugin := l.plugins[f.Provider.Plugin()]
	if plugin == nil {
		return
	}
	for _, word := range f.Class.Attested() {
		if slices.Contains(plugin.Attestations, word) {
			continue
		}
		attests := "It attests nothing."
		if len(plugin.Attestations) > 0 {
			attests = "It attests only: " + strings.Join(plugin.Attestations, ", ") + "."
		}
		l.Fail(block.at("provider"), block.where,
			fmt.Sprintf("The plugin %q can't attest %s", f.Provider.Plugin(), word),
			fmt.Sprintf("%s requires it (%s), and no host's own statement counts for it: no instance would be admitted. %s "+
				"Choose a provider that attests %s, or a class that doesn't require it.",
				classText(f.Class), l.classAt(f.Class.Name), attests, word))
	}
}

func classText(c fleet.CapacityClass) string { return fmt.Sprintf("capacity_class %q", c.Name) }

// classAt is where a class is written: "fleet.hcl:12".
func (l *loader) classAt(name string) string {
	at, found := l.classHeaders[name]
	if !found {
		return "in another file"
	}
	return fmt.Sprintf("%s:%d", at.Filename, at.Start.Line)
}

// Unattestable is the diagnostic of an instance block that can't have an attestation; none
// where the fleet's class doesn't require it.
func (l *Loaded) Unattestable(
	f fleet.RunnerFleet, attestation, reason string, path []fleet.PathStep,
) []fleet.PluginDiagnostic {
	if !slices.Contains(f.Class.Attested(), attestation) {
		return nil
	}
	at := l.classHeaders[f.Class.Name]
	return []fleet.PluginDiagnostic{{
		Summary: fmt.Sprintf("These instances can't be attested %s", attestation),
		Detail: fmt.Sprintf("%s. %s requires it (%s:%d), and no host's own statement counts for it: no instance would be "+
			"admitted.", strings.TrimSuffix(reason, "."), classText(f.Class), at.Filename, at.Start.Line),
		Path: path,
	}}
}
