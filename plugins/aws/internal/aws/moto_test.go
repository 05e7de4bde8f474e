package aws

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// moto is an account as moto (https://github.com/getmoto/moto, 5.2 or later) plays
// it, in a process of its own: a third reading of the API, by people who know
// neither this plugin nor its simulator. docs/plugins/aws.md lists where moto is
// known to deviate from EC2, and so what isn't tried here.
type moto struct {
	endpoint             string
	image, subnet, group string

	down atomic.Bool
	// lost, if set, decides what becomes of the next launch: true is that it has its
	// effect, and either way there is no answer.
	lost atomic.Pointer[bool]
}

var motoListens = regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)

// newMoto starts moto. It is optional everywhere, in CI too: nothing here depends on
// what Python packages a machine has.
func newMoto(t *testing.T) *moto {
	t.Helper()
	if !*whole {
		t.Skip("SKIP: moto answers slowly; make test tries it, and so does -whole")
	}
	program, err := exec.LookPath("moto_server")
	if err != nil {
		t.Skip("SKIP: moto_server isn't on the PATH (pip install 'moto[server]>=5.2')")
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, program, "-H", "127.0.0.1", "-p", "0")
	// Its own SDK trips over settings that are there for the plugin's.
	others := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "AWS_") })
	server.Env = append(others, "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=1", "MOTO_ENABLE_AMI_VALIDATION=1",
		"PYTHONUNBUFFERED=1")
	said, saying := io.Pipe()
	server.Stdout, server.Stderr = saying, saying
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Wait(); over.Store(true); saying.Close() }()
	t.Cleanup(func() { end(); <-ended })
	m := &moto{}
	lines := bufio.NewReader(said)
	for m.endpoint == "" {
		line, err := lines.ReadString('\n')
		if found := motoListens.FindStringSubmatch(line); found != nil {
			m.endpoint = found[1]
		} else if err != nil {
			t.Fatal("moto_server ended without listening")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return m
}

// RoundTrip reaches moto, but in an outage, and loses answers as it is told.
func (m *moto) RoundTrip(request *http.Request) (*http.Response, error) {
	if m.down.Load() {
		return nil, errors.New("the network is unreachable")
	}
	content, err := contentOf(request)
	if err != nil {
		return nil, err
	}
	if m.lost.Load() != nil && strings.Contains(content, "Action=RunInstances") {
		if effect := m.lost.Swap(nil); !*effect {
			return nil, errors.New("the connection was cut")
		}
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		answer.Body.Close()
		return nil, errors.New("the connection was cut after the effect")
	}
	return http.DefaultTransport.RoundTrip(request)
}

func (m *moto) surroundings() surroundings { return surroundings{transport: m, now: time.Now} }

func (m *moto) start(t *testing.T) *cloud {
	t.Helper()
	config := settings.Config{Region: "us-east-1", Endpoint: m.endpoint, CallTimeout: time.Minute}
	made, err := m.surroundings().newCloud(t.Context(), config,
		provider.Environment{Installation: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*cloud)
}

// findNetwork finds what a fresh account of moto has.
func (m *moto) findNetwork(t *testing.T, api *ec2.Client) {
	t.Helper()
	images, err := api.DescribeImages(t.Context(),
		&ec2.DescribeImagesInput{Filters: []types.Filter{{Name: sdk.String("architecture"), Values: []string{"x86_64"}}}})
	if err != nil {
		t.Fatal(err)
	}
	subnets, err := api.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	groups, err := api.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	linux := slices.IndexFunc(images.Images, func(one types.Image) bool {
		return one.Platform == "" && one.RootDeviceType == types.DeviceTypeEbs
	})
	if linux < 0 || len(subnets.Subnets) == 0 || len(groups.SecurityGroups) == 0 {
		t.Fatal("moto's account has no image for Linux, no subnet or no security group")
	}
	m.image, m.subnet, m.group = *images.Images[linux].ImageId, *subnets.Subnets[0].SubnetId,
		*groups.SecurityGroups[0].GroupId
}

func (m *moto) asked(key string) request {
	one := asked()
	one.Key, one.Image = key, m.image
	one.Tags["forgeyard-key"] = key
	// Moto wants to be told a size that EC2 takes from the image.
	one.Instance = settings.Instance{Types: []string{"c5.large"}, Subnets: []string{m.subnet}, Groups: []string{m.group},
		Tenancy: "default",
		Root:    &settings.RootVolume{Size: 16, Type: "gp3"}}
	return one
}

// end terminates a key until it is gone.
func (m *moto) end(t *testing.T, p *cloud, id, key string) {
	t.Helper()
	for range 10 {
		state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if state == provider.Gone {
			return
		}
	}
	t.Fatalf("%s is never gone", id)
}

// machinesOf are the machines with a key that aren't terminated.
func machinesOf(t *testing.T, p *cloud, key string) []provider.Resource {
	t.Helper()
	all, _ := list(t.Context(), t, p)
	return slices.DeleteFunc(all, func(one provider.Resource) bool { return one.Key != key })
}

// What the plugin does against its own simulator it does against moto, as far as
// moto can. One server serves all: it takes seconds to start.
func TestAgainstMoto(t *testing.T) {
	m := newMoto(t)
	isolate(t)
	p := m.start(t)
	m.findNetwork(t, p.api)
	t.Run("it keeps the rules of the contract", m.keepsTheRules)
	t.Run("a machine is as it was asked for", func(t *testing.T) { m.isAsAskedFor(t, p) })
	t.Run("a lost answer makes exactly one machine", func(t *testing.T) { m.losesAnswers(t, p) })
	t.Run("a refusal is proof that nothing exists", func(t *testing.T) { m.refuses(t, p) })
	t.Run("a copy is reported and survives", func(t *testing.T) {
		aCopyIsReportedAndSurvives(t, p, m.asked("01jm0000000000000000000004"))
	})
	t.Run("another installation's machine is neither listed nor touched", func(t *testing.T) {
		anothersIsNeitherListedNorTouched(t, p, m.asked("01jm0000000000000000000005"))
	})
}

func (m *moto) keepsTheRules(t *testing.T) {
	tested := unlimited(plugin("0.1.0", m.surroundings()))
	tested.ListSettle = 100 * time.Millisecond
	providertest.Run(t, tested, providertest.Options{
		Provider: map[string]any{"region": "us-east-1", "endpoint": m.endpoint},
		Instance: map[string]any{"instance_types": []any{"c5.large"}, "subnets": []any{m.subnet},
			"security_groups": []any{m.group},
			"root_volume":     map[string]any{"size": 16}},
		Image: m.image, OS: "linux", Arch: "x86_64", AllowCreate: true,
		Outage: func(context.Context) (func(context.Context) error, error) {
			m.down.Store(true)
			return func(context.Context) error { m.down.Store(false); return nil }, nil
		},
	})
}

func (m *moto) isAsAskedFor(t *testing.T, p *cloud) {
	const key = "01jm0000000000000000000001"
	made, err := p.Provision(t.Context(), m.asked(key))
	if err != nil {
		t.Fatal(err)
	}
	seen, err := p.instances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{made.ID}})
	if err != nil || len(seen) != 1 {
		t.Fatalf("%v, %v", seen, err)
	}
	one := seen[0]
	if sdk.ToString(one.ClientToken) != key || one.KeyName != nil || sdk.ToString(one.SubnetId) != m.subnet ||
		one.InstanceType != "c5.large" {
		t.Errorf("its token is %q, its key pair %v, its subnet %s, its type %s", sdk.ToString(one.ClientToken), one.KeyName,
			sdk.ToString(one.SubnetId), one.InstanceType)
	}
	if got := one.MetadataOptions; got == nil || got.HttpTokens != types.HttpTokensStateRequired ||
		sdk.ToInt32(got.HttpPutResponseHopLimit) != 1 {
		t.Errorf("its metadata service is %+v", got)
	}
	volumes, err := p.volumes(t.Context(), &ec2.DescribeVolumesInput{Filters: p.ours(key)})
	if err != nil || len(volumes) != 1 || holderOf(volumes[0]) != made.ID ||
		read(volumes[0].Tags)["forgeyard-proof"] == "" || !sdk.ToBool(volumes[0].Encrypted) {
		t.Errorf("its volumes are %+v, %v", volumes, err)
	}
	m.end(t, p, made.ID, key)
}

func (m *moto) losesAnswers(t *testing.T, p *cloud) {
	for effect, key := range map[bool]string{false: "01jm0000000000000000000002", true: "01jm0000000000000000000003"} {
		m.lost.Store(&effect)
		if _, err := p.Provision(t.Context(), m.asked(key)); err == nil || provider.IsNotCreated(err) {
			t.Fatalf("the answer was lost, and Provision says %v", err)
		}
		if found := machinesOf(t, p, key); len(found) > 1 || (len(found) == 1) != effect {
			t.Fatalf("the request had an effect: %v, and there are %v", effect, found)
		}
		made, err := p.Provision(t.Context(), m.asked(key))
		if err != nil || made.Existed != effect {
			t.Fatalf("the key again: %+v, %v", made, err)
		}
		if found := machinesOf(t, p, key); len(found) != 1 || found[0].ID != made.ID {
			t.Fatalf("wanted one machine, got %v", found)
		}
		m.end(t, p, made.ID, key)
		if left := machinesOf(t, p, key); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

func (m *moto) refuses(t *testing.T, p *cloud) {
	for code, corrupt := range map[string]func(*request){
		"InvalidAMIID.NotFound":    func(r *request) { r.Image = "ami-0123456789abcdef0" },
		"InvalidSubnetID.NotFound": func(r *request) { r.Instance.Subnets = []string{"subnet-0123456789abcdef0"} },
	} {
		one := m.asked("01jm0000000000000000000006")
		corrupt(&one)
		if _, err := p.Provision(t.Context(), one); !provider.IsNotCreated(err) || classOf(err) != provider.Invalid ||
			codeOf(err) != code {
			t.Errorf("wanted %s as proof that nothing was made, got %v", code, err)
		}
	}
}
