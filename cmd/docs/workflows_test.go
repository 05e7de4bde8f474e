package docs

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What a forge runs is what a person runs: .ci/run, and nothing that only a workflow
// file says.
func TestForgeWorkflowsRunTheScript(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	github, gitea := read(t, ".github/workflows/ci.yml"), read(t, ".gitea/workflows/ci.yml")
	if github != gitea {
		t.Error("the workflows of GitHub and Gitea differ")
	}
	if err := yaml.Unmarshal([]byte(github), &workflow); err != nil {
		t.Fatal(err)
	}
	for name, job := range workflow.Jobs {
		var commands []string
		for _, step := range job.Steps {
			commands = append(commands, step.Run)
		}
		if !slices.Contains(commands, ".ci/run") {
			t.Errorf("the job %s doesn't run .ci/run: %q", name, commands)
		}
	}
	if len(workflow.Jobs) == 0 {
		t.Error("the workflow has no job")
	}
}
