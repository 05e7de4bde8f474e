package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// allowing serves a plugin that writes its policy so; nil: it can't.
func allowing(t *testing.T, policy func(testConfig, []testInstance, string) (string, error)) started {
	p := testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
		t.Error("a policy needs no provider")
		return nil, errors.New("none")
	})
	p.Policy = policy
	return startUnconfigured(t, p)
}

func TestAPolicyIsWrittenOfDecodedBlocksBeforeThereIsAProvider(t *testing.T) {
	host := allowing(t, func(_ testConfig, instances []testInstance, installation string) (string, error) {
		var cpus []int
		for _, one := range instances {
			cpus = append(cpus, one.CPUs)
		}
		return fmt.Sprint(installation, cpus), nil
	})
	info, err := host.GetInfo(t.Context(), &providerpb.GetInfoRequest{})
	if err != nil || !slices.Equal(info.Services, []string{providerpb.PermissionsService}) {
		t.Errorf("the services are %v, %v", info.GetServices(), err)
	}
	request := &providerpb.PolicyRequest{Installation: "inst",
		InstanceJson: map[string][]byte{"b": []byte(`{"cpus": 8}`), "a": []byte(`{"cpus": 2}`)}}
	if got, err := host.permissions.Policy(t.Context(), request); err != nil || got.Document != "inst[2 8]" {
		t.Errorf("got %q, %v", got.GetDocument(), err)
	}
	request.InstanceJson["c"] = []byte(`{"cpus": "many"}`)
	if _, err := host.permissions.Policy(t.Context(), request); status.Code(err) != codes.InvalidArgument {
		t.Errorf("of a bad block: %v", err)
	}
}

func TestAPolicyThatIsNoneIsNeverHandedOn(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		err  error
		code codes.Code
	}{
		"it is empty":           {"", nil, codes.Internal},
		"it has no end":         {strings.Repeat("x", providerpb.MaxPolicyBytes+1), nil, codes.Internal},
		"the author can't tell": {"", errors.New("unknown region"), codes.InvalidArgument},
	} {
		host := allowing(t, func(testConfig, []testInstance, string) (string, error) { return c.text, c.err })
		if _, err := host.permissions.Policy(t.Context(), &providerpb.PolicyRequest{}); status.Code(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := allowing(t, nil).permissions.Policy(t.Context(), &providerpb.PolicyRequest{}); status.Code(
		err) != codes.Unimplemented {
		t.Errorf("a plugin that can't say answers %v", err)
	}
}
