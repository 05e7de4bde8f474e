package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

func TestInstallingKeepsWhatOtherMachinesLockedForTheSameVersion(t *testing.T) {
	locked := func(version, platform string) pluginstore.LockedPlugin {
		return pluginstore.LockedPlugin{
			Name:     "local",
			Source:   pluginstore.SourceDev,
			Version:  version,
			Protocol: 1,
			Binaries: map[string]string{platform: "sha256:" + platform},
		}
	}
	before := locked("0.1.0", "darwin_arm64")
	got := withOtherPlatforms(locked("0.1.0", "linux_amd64"), before).Binaries
	want := map[string]string{"darwin_arm64": "sha256:darwin_arm64", "linux_amd64": "sha256:linux_amd64"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("same version (-want +got):\n%s", diff)
	}
	if got := withOtherPlatforms(locked("0.2.0", "linux_amd64"), before).Binaries; len(got) != 1 {
		t.Errorf("another version keeps %v", got)
	}
}
