package settings

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// The page is beside the other plugins' and is checked here, where it takes no
// compilation of the SDK.
func TestThePageSaysOfEachAttributeWhatTheSchemaSays(t *testing.T) {
	content, err := os.ReadFile("../../../../docs/plugins/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	for part, of := range map[string]reflect.Type{
		"provider": reflect.TypeFor[Config](), "assume_role": reflect.TypeFor[AssumeRole](),
		"instance": reflect.TypeFor[Instance](), "root_volume": reflect.TypeFor[RootVolume](),
		"launch_template": reflect.TypeFor[LaunchTemplate](),
	} {
		want := "<!-- " + part + ":begin -->\n\n" + table(of) + "\n<!-- " + part + ":end -->"
		if !strings.Contains(string(content), want) {
			t.Errorf("docs/plugins/aws.md lacks this part:\n%s", want)
		}
	}
}

// table is one line for each field.
func table(of reflect.Type) string {
	text := "| attribute | default | what it is |\n|---|---|---|\n"
	for n := range of.NumField() {
		tag := of.Field(n).Tag
		name, options, _ := strings.Cut(tag.Get("fleet"), ",")
		missing := tag.Get("default")
		if strings.Contains(options, "required") {
			missing = "required"
		}
		text += fmt.Sprintf("| `%s` | %s | %s |\n", name, missing, tag.Get("doc"))
	}
	return text
}
