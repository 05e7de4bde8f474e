package plugindocs

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestEverythingThatASchemaSaysIsOnThePage(t *testing.T) {
	text := fleet.PluginType{Kind: fleet.KindString}
	page := Page(fleet.PluginSchemas{
		Name: "acme", Version: "1.2.3",
		Provider: fleet.PluginSchema{
			Attributes: []fleet.PluginAttribute{
				{Name: "region", Type: text, Required: true, Doc: "Where | when."},
				{Name: "token", Type: text, Sensitive: true, Doc: "The\ntoken."},
				{Name: "net", Type: fleet.PluginType{Kind: fleet.KindList, Element: &fleet.PluginType{
					Kind:       fleet.KindObject,
					Attributes: []fleet.PluginAttribute{{Name: "mtu", Type: fleet.PluginType{Kind: fleet.KindInt}, Default: "1500"}},
				}}},
			},
			Blocks: []fleet.PluginBlock{{Name: "disk", Repeated: true, Doc: "A disk.", Schema: fleet.PluginSchema{
				Attributes: []fleet.PluginAttribute{{Name: "size", Type: text, Immutable: true, Deprecated: "Use gb."}},
			}}},
		},
	})
	want := "# The plugin `acme`, version 1.2.3\n\n" +
		"## The block `provider \"acme\"`\n\n" +
		"| attribute | type | default | |\n|---|---|---|---|\n" +
		"| `region` | string | **required** | Where \\| when. |\n" +
		"| `token` | string |  | The token. A secret: `secret(\"env:NAME\")` or `secret(\"file:/path\")`. |\n" +
		"| `net` | list of object |  |  |\n" +
		"| `net.mtu` | int | `1500` |  |\n" +
		"| `disk` | blocks, any number |  | A disk. |\n" +
		"| `disk.size` | string |  | A change replaces instances. Deprecated: Use gb. |\n\n" +
		"## The block `instance`\n\nIt has no attributes.\n"
	if page != want {
		t.Errorf("got\n%s\nwant\n%s", page, strings.TrimSpace(want))
	}
}
