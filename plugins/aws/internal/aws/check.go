package aws

import (
	"context"
	"errors"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// Check asks whether the account has the image, the subnets and the launch template that
// a block names, and whether they fit together. It is how a plan finds what a launch
// would be refused for.
func (p *cloud) Check(
	ctx context.Context, request provider.CheckRequest[settings.Instance],
) (found []provider.Diagnostic, err error) {
	complain := func(err error, summary string, at provider.Path) error {
		if refused, classed := errors.AsType[*provider.Error](err); classed && refused.Class != provider.Invalid {
			return err // it can't be told now
		}
		found = append(found, provider.Diagnostic{Summary: summary, Detail: err.Error(), Path: at})
		return nil
	}
	if err := p.checkImage(ctx, request); err != nil {
		if err := complain(err, "The image can't be used", nil); err != nil {
			return nil, err
		}
	}
	if _, err := p.zonesOf(ctx, request.Instance.Subnets); err != nil {
		if err := complain(err, "A subnet can't be used", provider.At("subnets")); err != nil {
			return nil, err
		}
	}
	if request.Instance.Template != nil {
		if _, err := p.templateOf(ctx, *request.Instance.Template); err != nil {
			if err := complain(err, "The launch template can't be used", provider.At("launch_template")); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (p *cloud) checkImage(ctx context.Context, request provider.CheckRequest[settings.Instance]) error {
	if err := settings.CheckImage(request.Image); err != nil {
		return err
	}
	image, err := p.imageOf(ctx, request.Image)
	if err != nil {
		return err
	}
	return image.fits(request.Image, request.Platform)
}
