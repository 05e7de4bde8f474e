package aws

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// bootImage is what a machine boots from. An image never changes any of it.
type bootImage struct {
	root     string // the name of its root device, which the settings of the root volume go by
	platform provider.Platform
}

// imageOf looks at an image, once.
func (p *cloud) imageOf(ctx context.Context, id string) (bootImage, error) {
	p.mutex.Lock()
	image, known := p.images[id]
	p.mutex.Unlock()
	if known {
		return image, nil
	}
	seen, err := gather(ctx, p, ec2.NewDescribeImagesPaginator(p.api, &ec2.DescribeImagesInput{ImageIds: []string{id}}),
		func(page *ec2.DescribeImagesOutput) []types.Image { return page.Images }, "look at the image %s", id)
	if err != nil {
		return bootImage{}, err
	}
	if len(seen) != 1 || sdk.ToString(seen[0].RootDeviceName) == "" {
		return bootImage{},
			fmt.Errorf("the image %s isn't there, or has no root volume; use one that the account may see, with a root volume",
				id)
	}
	one := seen[0]
	image = bootImage{sdk.ToString(one.RootDeviceName), platformOf(string(one.Architecture))}
	switch {
	case one.Platform == types.PlatformValuesWindows:
		image.platform.OS = "windows"
	case image.platform.OS == "":
		image.platform.OS = "linux"
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.images[id] = image
	return image, nil
}

// fits says what is wrong with an image for a platform. The API would refuse it only
// where the type has another processor.
func (i bootImage) fits(id string, asked provider.Platform) error {
	if asked == (provider.Platform{}) || i.platform == asked {
		return nil
	}
	return fmt.Errorf(
		"the image %s is of %s on %s, and the fleet's class of %s on %s: write an image of the class's platform",
		id, i.platform.OS, i.platform.Arch, asked.OS, asked.Arch)
}

// platformOf is what runs on a processor in the vendor's words. Only Macs say what
// system that is.
func platformOf(architectures ...string) provider.Platform {
	for _, one := range architectures {
		arch, mac := strings.CutSuffix(one, "_mac")
		switch {
		case arch != "x86_64" && arch != "arm64": // i386, beside the other
		case mac:
			return provider.Platform{OS: "darwin", Arch: arch}
		default:
			return provider.Platform{Arch: arch}
		}
	}
	return provider.Platform{}
}

// runs is what a type can run; what the API doesn't say is empty.
func runs(one types.InstanceTypeInfo) provider.Platform {
	if one.ProcessorInfo == nil {
		return provider.Platform{}
	}
	var all []string
	for _, architecture := range one.ProcessorInfo.SupportedArchitectures {
		all = append(all, string(architecture))
	}
	return platformOf(all...)
}
