// Package seed makes the small disk that a new machine boots with: what cloud-init
// calls NoCloud, with the first-boot document in it. It makes bytes and stores
// nothing: the token in them is secret.
package seed

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// Label is by what a guest finds the disk.
const Label = "cidata"

// DocumentName is the file with the plain document, for images that have the agent
// and no cloud-init.
const DocumentName = "bootstrap.json"

// Image is the disk for one machine. The same input gives the same bytes.
func Image(document bootstrap.Document, instance, hostName string) ([]byte, error) {
	rendered, err := bootstrap.Render(document)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(hostName, "\"\\\n") {
		return nil, fmt.Errorf("%q can't be the name of a machine", hostName)
	}
	files := []file{{"meta-data", []byte(fmt.Sprintf("instance-id: %q\nlocal-hostname: %q\n", instance, hostName))}}
	switch document.Kind {
	case bootstrap.KindCloudInit:
		files = append(files, file{"user-data", rendered})
	case bootstrap.KindFile:
		files = append(files, file{"user-data", []byte("#cloud-config\n{}\n")}, file{DocumentName, rendered})
	default:
		return nil, fmt.Errorf("a machine can't be given a document of the kind %q", document.Kind)
	}
	return iso9660(Label, files)
}
