//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// The test binary is also the plugin and, for the tests that kill a host, the
// host: TestMain looks at the environment. The plugin is built on bare go-plugin,
// so that it can misbehave in every way in which one can.

const (
	modeVariable = "PLUGINHOST_TEST_MODE"
	hostVariable = "PLUGINHOST_TEST_HOST"
)

// store is a copy of the test binary as a plugin store would hold it.
var store struct{ path, digest string }

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(providerpb.MagicCookieKey) != "":
		servePlugin(os.Getenv(modeVariable))
		return
	case os.Getenv(hostVariable) != "":
		runHost(os.Getenv(hostVariable))
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ph")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	store.path = filepath.Join(dir, "forgeyard-plugin-test")
	if store.digest, err = install(self, store.path); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println("a goroutine outlives its process:", err)
		return 1
	}
	return code
}

func servePlugin(mode string) {
	switch mode {
	case "crash at start":
		fmt.Fprintln(os.Stderr, `{"@level":"error","@message":"the region is wrong","region":"mars"}`)
		fmt.Fprintln(os.Stderr, "cannot continue")
		os.Exit(3)
	case "silent":
		fmt.Fprintln(os.Stderr, "waiting for the moon")
		io.Copy(io.Discard, os.Stdin)
		return
	case "noise":
		fmt.Print("library v1 loaded\n", strings.Repeat("x", 200<<10), "\n\x1b[0m")
	case "panicking log lines":
		for _, line := range []string{`{"@message":1}`, `{"@message":"a","@level":2}`, `{"@message":"a","@timestamp":{}}`,
			`null`, `{`, strings.Repeat("y", 200<<10), "\xff\x1b[2J"} {
			fmt.Fprintln(os.Stderr, line)
		}
	case "bad handshake":
		fmt.Println("1|99|unix|/nowhere|grpc|")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	if !misbehave(mode) {
		return
	}
	var server *grpc.Server
	realStdout := os.Stdout
	if rewrite := handshakes[mode]; rewrite != nil {
		os.Stdout = rewritten(realStdout, rewrite)
	}
	if mode != "ignores the end" {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			server.Stop()
		}()
	}
	if mode == "stays" {
		defer time.Sleep(time.Hour)
	}
	p := &testPlugin{mode: mode, stdout: realStdout}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   providerpb.MagicCookieKey,
			MagicCookieValue: providerpb.MagicCookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{
			providerpb.ProtocolVersion: {providerpb.PluginName: p},
		},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			server = grpc.NewServer(append(options, grpc.MaxRecvMsgSize(providerpb.MaxMessageBytes))...)
			return server
		},
	})
}

// testPlugin does what the names and keys of a request say. It is written on the wire types
// alone: the SDK would keep a plugin from most of it.
type testPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	providerpb.UnimplementedProviderServer
	mode   string
	stdout *os.File
	leaked string // what a body told it to leak wherever it can
	notary testNotary
}

func (p *testPlugin) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	providerpb.RegisterProviderServer(server, p)
	providerpb.RegisterMarketServer(server, testMarket{})
	providerpb.RegisterPermissionsServer(server, testLawyer{})
	providerpb.RegisterIdentityVerifierServer(server, &p.notary)
	providerpb.RegisterBatchProvisionerServer(server, testBatches{})
	if p.mode == "announces" {
		providerpb.RegisterEventsServer(server, announcer{})
	}
	return nil
}

func (p *testPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return providerpb.NewProviderClient(conn), nil
}

func testInfo() *providerpb.GetInfoResponse {
	text := &providerpb.Type{Kind: providerpb.Type_KIND_STRING}
	return &providerpb.GetInfoResponse{
		Name:    "test",
		Version: "1.2.3",
		Sdk:     "none",
		ProviderSchema: &providerpb.Schema{
			Attributes: []*providerpb.Attribute{{Name: "region", Type: text, Required: true, Doc: "Where."}},
		},
		InstanceSchema: &providerpb.Schema{
			Attributes: []*providerpb.Attribute{
				{Name: "size", Type: &providerpb.Type{Kind: providerpb.Type_KIND_INT}, Immutable: true, DefaultJson: "2"},
				{Name: "labels", Type: &providerpb.Type{Kind: providerpb.Type_KIND_MAP, Element: text}},
			},
			Blocks: []*providerpb.Block{
				{
					Name:     "disk",
					Repeated: true,
					Schema:   &providerpb.Schema{Attributes: []*providerpb.Attribute{{Name: "path", Type: text}}},
				},
			},
		},
		Idempotency: providerpb.Idempotency_IDEMPOTENCY_BY_TAG,
		Ownership:   providerpb.Ownership_OWNERSHIP_NAMED,
		ListSettle:  durationpb.New(3 * time.Second),
		MaxBatch:    50,

		IdentityNeeds: "region",
	}
}

func (p *testPlugin) GetInfo(context.Context, *providerpb.GetInfoRequest) (*providerpb.GetInfoResponse, error) {
	if p.mode == "noise" {
		fmt.Fprintln(p.stdout, strings.Repeat("z", 480<<10))
	}
	return testInfo(), nil
}

// Validate complains with every variable of the environment, and about a body
// that says so.
func (p *testPlugin) Validate(_ context.Context, r *providerpb.ValidateRequest) (*providerpb.ValidateResponse, error) {
	response := &providerpb.ValidateResponse{Instances: map[string]*providerpb.DiagnosticList{
		"not in the request": {Items: []*providerpb.Diagnostic{{Summary: "x"}}},
	}}
	for _, variable := range os.Environ() {
		response.Provider = append(
			response.Provider,
			&providerpb.Diagnostic{Summary: variable, Severity: providerpb.Diagnostic_SEVERITY_WARNING},
		)
	}
	for name, body := range r.GetInstanceJson() {
		list := &providerpb.DiagnosticList{}
		if strings.Contains(string(body), "bad") {
			list.Items = append(
				list.Items,
				&providerpb.Diagnostic{Summary: "the disk is bad", Path: []*providerpb.Diagnostic_Step{
					{Step: &providerpb.Diagnostic_Step_Name{Name: "disk"}}, {Step: &providerpb.Diagnostic_Step_Index{Index: 1}},
				}},
			)
		}
		response.Instances[name] = list
	}
	return response, nil
}

// Configure starts a child where it is told to, and answers with its pid.
func (p *testPlugin) Configure(
	_ context.Context,
	r *providerpb.ConfigureRequest,
) (*providerpb.ConfigureResponse, error) {
	if after, ok := strings.CutPrefix(string(r.GetProviderJson()), leakPrefix); ok {
		return p.configureToSpill(strings.TrimSuffix(after, `"}`))
	}
	if p.notary.learn(r.GetProviderJson()) {
		return &providerpb.ConfigureResponse{}, nil
	}
	switch string(r.GetProviderJson()) {
	case `"children"`:
		child := exec.Command("sleep", "1000")
		child.Stderr = standardError
		if err := child.Start(); err != nil {
			return nil, err
		}
		return &providerpb.ConfigureResponse{Account: strconv.Itoa(child.Process.Pid)}, nil
	case `"runaway"`:
		return p.runaway()
	case `"streams"`:
		return &providerpb.ConfigureResponse{Account: streamsAndGroup()}, nil
	case `"refused"`:
		return &providerpb.ConfigureResponse{Diagnostics: []*providerpb.Diagnostic{{Summary: "no such region"}}}, nil
	case `"auth"`:
		return nil, withDetail(
			codes.Unauthenticated,
			&providerpb.Error{Class: providerpb.Error_CLASS_AUTH, Message: "the key has expired"},
		)
	}
	return &providerpb.ConfigureResponse{Account: "account of " + r.GetInstallation()}, nil
}

func withDetail(code codes.Code, detail *providerpb.Error) error {
	s, err := status.New(code, detail.GetMessage()).WithDetails(detail)
	if err != nil {
		return err
	}
	return s.Err()
}

// Inspect shows one resource for each key and does what odd keys say.
func (p *testPlugin) Inspect(
	r *providerpb.InspectRequest,
	stream grpc.ServerStreamingServer[providerpb.InspectResponse],
) error {
	if len(r.GetKeys()) == 0 {
		return stream.Send(
			&providerpb.InspectResponse{
				Resources: []*providerpb.Resource{{Id: "i-1", Key: "k1", State: providerpb.Resource_STATE_RUNNING}},
			},
		)
	}
	for _, key := range r.GetKeys() {
		page := &providerpb.InspectResponse{}
		switch key {
		case "leak", "leak the id", "leak the owner":
			page.Resources = []*providerpb.Resource{p.leakedResource(key)}
		case "absent":
			page.AbsentKeys = []string{key, "never asked"}
		case "in flight":
			page.InFlightKeys = []string{key}
			page.AbsentKeys = []string{key}
		case "fail":
			return withDetail(
				codes.Unavailable,
				&providerpb.Error{
					Class:      providerpb.Error_CLASS_RATE_LIMIT,
					Message:    "slow down",
					RetryAfter: durationpb.New(9 * time.Second),
				},
			)
		case "end when time is up":
			<-stream.Context().Done()
			return nil
		case "cut":
			os.Exit(7)
		case "many", "large", "too large":
			page = floodPages[key]()
		case "without end", "empty without end":
			for {
				if err := stream.Send(floodPages[key]()); err != nil {
					return err
				}
			}
		default:
			page.Resources = []*providerpb.Resource{{Id: "i-" + key, Key: key, State: 77}}
		}
		if err := stream.Send(page); err != nil {
			return err
		}
	}
	return nil
}

// Provision answers each item as its name says.
func (p *testPlugin) Provision(
	r *providerpb.ProvisionRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse],
) error {
	for _, item := range r.GetItems() {
		a := &providerpb.ProvisionResponse{
			Key:      item.GetKey(),
			Resource: &providerpb.Resource{Id: "i-" + item.GetKey(), Key: item.GetKey()},
		}
		switch item.GetName() {
		case "leak":
			a.Outcome, a.Resource = providerpb.ProvisionResponse_OUTCOME_NOT_CREATED, nil
			a.Error = &providerpb.Error{
				Class:     providerpb.Error_CLASS_AUTH,
				Message:   "refused " + p.leaked,
				RequestId: p.leaked,
				Zone:      item.GetBootstrap().GetToken(),
			}
		case "end with leak":
			return withDetail(
				codes.ResourceExhausted,
				&providerpb.Error{Class: providerpb.Error_CLASS_QUOTA, Message: "no quota for " + p.leaked},
			)
		case "end without class and leak":
			return status.Error(codes.ResourceExhausted, "who knows "+p.leaked)
		case "crash with leak":
			fmt.Fprintln(standardError, "panic: "+p.leaked)
			os.Exit(7)
		case "created":
			a.Outcome = providerpb.ProvisionResponse_OUTCOME_CREATED
		case "existed":
			a.Outcome, a.Resource.Key = providerpb.ProvisionResponse_OUTCOME_EXISTED, ""
		case "accepted":
			a.Outcome, a.Resource = providerpb.ProvisionResponse_OUTCOME_ACCEPTED, nil
		case "not created":
			a.Outcome, a.Resource = providerpb.ProvisionResponse_OUTCOME_NOT_CREATED, nil
			a.Error = &providerpb.Error{
				Class:     providerpb.Error_CLASS_CAPACITY,
				Message:   "none left",
				Zone:      "z1",
				RequestId: "r-9",
			}
		case "unset":
		case "from the future":
			a.Outcome = 99
		case "created without resource":
			a.Outcome, a.Resource = providerpb.ProvisionResponse_OUTCOME_CREATED, nil
		case "another key's resource":
			a.Outcome, a.Resource.Key = providerpb.ProvisionResponse_OUTCOME_CREATED, "other"
		case "not created with resource":
			a.Outcome = providerpb.ProvisionResponse_OUTCOME_NOT_CREATED
		case "missing":
			continue
		case "for another key":
			a.Key = "other"
		case "twice":
			a.Outcome = providerpb.ProvisionResponse_OUTCOME_CREATED
			if err := stream.Send(a); err != nil {
				return err
			}
			a.Outcome, a.Resource = providerpb.ProvisionResponse_OUTCOME_NOT_CREATED, nil
		case "end with class":
			return withDetail(
				codes.ResourceExhausted,
				&providerpb.Error{Class: providerpb.Error_CLASS_QUOTA, Message: "no quota"},
			)
		case "end without class":
			return status.Error(codes.ResourceExhausted, "who knows")
		case "end as aborted":
			return status.Error(codes.Aborted, "who knows")
		case "ignores its deadline":
			select {} // whatever the deadline
		case "for other keys without end":
			a.Key = "other"
			for {
				if err := stream.Send(a); err != nil {
					return err
				}
			}
		case "steer the terminal":
			a.Outcome, a.Resource = providerpb.ProvisionResponse_OUTCOME_NOT_CREATED, nil
			steering := "\x1b[2J\u202e" + strings.Repeat("x", 1<<20)
			a.Error = &providerpb.Error{
				Class:       providerpb.Error_CLASS_CAPACITY,
				Message:     steering,
				Zone:        steering,
				MachineType: steering,
				RequestId:   steering,
			}
		case "hang", "wait for the end":
			<-stream.Context().Done()
			return nil
		case "crash":
			fmt.Fprintln(standardError, "fatal error: the cloud fell down")
			os.Exit(7)
		}
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

// Terminate answers each reference as its id says.
func (p *testPlugin) Terminate(
	r *providerpb.TerminateRequest,
	stream grpc.ServerStreamingServer[providerpb.TerminateResponse],
) error {
	for _, ref := range r.GetRefs() {
		a := &providerpb.TerminateResponse{Id: ref.GetId(), Key: ref.GetKey()}
		switch ref.GetId() {
		case "gone":
			a.Outcome = providerpb.TerminateResponse_OUTCOME_GONE
		case "accepted":
			a.Outcome = providerpb.TerminateResponse_OUTCOME_ACCEPTED
		case "refused":
			a.Outcome = providerpb.TerminateResponse_OUTCOME_REFUSED
			a.Error = &providerpb.Error{Class: providerpb.Error_CLASS_CONFLICT, Message: "another key"}
		case "missing":
			continue
		case "by key":
			a.Outcome, a.Id = providerpb.TerminateResponse_OUTCOME_GONE, ""
		case "wrong key":
			a.Outcome, a.Key = providerpb.TerminateResponse_OUTCOME_GONE, "other"
		case "hang":
			<-stream.Context().Done()
			return nil
		}
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

func (p *testPlugin) Drain(_ context.Context, r *providerpb.DrainRequest) (*providerpb.DrainResponse, error) {
	return &providerpb.DrainResponse{InFlight: uint32(r.GetDeadline().AsDuration() / time.Second)}, nil
}

// standardError is the process's own, whatever took the place of os.Stderr. It is one
// for all writers: a file that is made of the descriptor and forgotten closes it.
var standardError = os.NewFile(2, "stderr")
