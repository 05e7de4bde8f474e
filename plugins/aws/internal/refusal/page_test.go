package refusal

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestThePageHasTheTableOfRefusals(t *testing.T) {
	content, err := os.ReadFile("../../../../docs/plugins/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	var order []provider.Class
	codes := map[provider.Class][]string{}
	for _, one := range Table {
		if codes[one.Class] == nil {
			order = append(order, one.Class)
		}
		codes[one.Class] = append(codes[one.Class], "`"+one.Code+"`")
	}
	want := "| what AWS says | what the manager does |\n|---|---|\n"
	for _, class := range order {
		want += fmt.Sprintf("| %s | %s |\n", strings.Join(codes[class], ", "), Does(class))
	}
	want = "<!-- refusals:begin -->\n\n" + want + "\n<!-- refusals:end -->"
	if !strings.Contains(string(content), want) {
		t.Errorf("docs/plugins/aws.md lacks this part:\n%s", want)
	}
}
