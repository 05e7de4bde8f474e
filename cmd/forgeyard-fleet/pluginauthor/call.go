package pluginauthor

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// callFlags are what one call is made with.
type callFlags struct {
	file, key, id, installation string
	create, force, wait         bool
}

// pluginCalls are the calls by name.
var pluginCalls = map[string]func(pluginCall, context.Context) error{
	"inspect": pluginCall.inspect, "offers": pluginCall.offers, "check": pluginCall.check,
	"provision": pluginCall.provision, "terminate": pluginCall.terminate,
}

func (s Session) CallCommand() *cobra.Command {
	var o callFlags
	c := &cobra.Command{
		Use:   "call BINARY inspect|offers|check|provision|terminate --config FILE",
		Short: "Make one call of a plugin, to debug it",
		Long: "Start a built plugin, configure it with FILE (as for plugin test), make one call and print the answers as " +
			"JSON, one\n" +
			"line each. provision makes a real instance and needs --allow-create; terminate removes one by --key, --id or\n" +
			"both. With --wait the plugin is started and nothing is asked of it until you press Enter, so that you " +
			"can attach\n" +
			"a debugger.",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if o.file == "" {
				return errors.New("--config FILE is required: a file with the provider block to use")
			}
			return s.callPlugin(c.Context(), args[0], args[1], o)
		},
	}
	c.Flags().StringVar(&o.file, "config", "", "file with the provider, instance and test blocks")
	c.Flags().StringVar(&o.key, "key", "", "key of the instance; default for provision: a new one")
	c.Flags().StringVar(&o.id, "id", "", "id of the resource to remove")
	c.Flags().StringVar(&o.installation, "installation", "debug", "name of the installation whose resources are meant")
	c.Flags().BoolVar(&o.create, "allow-create", false, "let provision make a real instance")
	c.Flags().BoolVar(&o.force, "force", false, "terminate: skip the graceful stop")
	c.Flags().BoolVar(&o.wait, "wait", false, "wait for Enter before anything is asked of the plugin")
	return c
}

// callPlugin makes one call of a plugin.
func (s Session) callPlugin(ctx context.Context, binary, name string, o callFlags) (err error) {
	call, known := pluginCalls[name]
	switch {
	case !known:
		return fmt.Errorf("unknown call %q; valid: inspect, offers, check, provision, terminate", name)
	case name == "provision" && !o.create:
		return errors.New("provision makes a real instance; pass --allow-create if that is meant")
	case name == "terminate" && o.key == "" && o.id == "":
		return errors.New("terminate needs --key KEY, --id ID or both: a new instance has both in the answer of provision")
	}
	under, info, options, err := s.open(ctx, binary, o.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.close()) }()
	running, err := under.Start(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Stop()) }()
	if o.wait {
		s.waitForDebugger(running)
	}
	made := pluginCall{
		flags: o, info: info, options: options.WithDefaults(), connection: running.Connection(), out: s.Page.Out,
	}
	if err = made.configure(ctx); err == nil {
		err = call(made, ctx)
	}
	for _, line := range running.Said() {
		fmt.Fprintln(s.Err, terminal.Printable(line.Text))
	}
	return withClass(err)
}

// withClass says what class a plugin gave an error.
func withClass(err error) error {
	for _, detail := range status.Convert(err).Details() {
		if told, ok := detail.(*providerpb.Error); ok {
			return fmt.Errorf("the plugin answers with %v: %s", told.GetClass(), terminal.Printable(told.GetMessage()))
		}
	}
	return err
}

// waitForDebugger says which process the plugin is, and waits for a line.
func (s Session) waitForDebugger(running conformance.Running) {
	if process, ok := running.(*benchProcess); ok {
		fmt.Fprintf(s.Err, "The plugin is process %s. Attach a debugger, for example:\n\n  dlv attach %[1]s\n\n"+
			"Then press Enter.\n", process.process.PID())
	}
	_, _ = bufio.NewReader(s.In).ReadString('\n') // the end of the input counts as Enter
}

// pluginCall is one call with what it needs.
type pluginCall struct {
	flags      callFlags
	info       pluginhost.Info
	options    conformance.Options
	connection grpc.ClientConnInterface
	out        io.Writer
}

func (c pluginCall) provider() providerpb.ProviderClient {
	return providerpb.NewProviderClient(c.connection)
}

func (c pluginCall) configure(ctx context.Context) error {
	response, err := c.provider().Configure(ctx, &providerpb.ConfigureRequest{
		ProviderJson: c.options.Provider, Installation: c.flags.installation, StateDir: c.options.StateDir,
	})
	if err != nil {
		return fmt.Errorf("configure the plugin: %w", err)
	}
	for _, d := range response.GetDiagnostics() {
		if d.GetSeverity() != providerpb.Diagnostic_SEVERITY_WARNING {
			return fmt.Errorf("the plugin refuses the provider block: %s: %s", d.GetSummary(), d.GetDetail())
		}
	}
	return nil
}

// show prints a message as one line of JSON, with the names of the contract.
func (c pluginCall) show(message proto.Message) error {
	line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, terminal.Printable(string(line)))
	return err
}

// showAll prints every message of a stream.
func showAll[M any](c pluginCall, stream grpc.ServerStreamingClient[M], err error) error {
	for err == nil {
		var message *M
		if message, err = stream.Recv(); err == nil {
			err = c.show(any(message).(proto.Message))
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c pluginCall) inspect(ctx context.Context) error {
	request := &providerpb.InspectRequest{}
	if c.flags.key != "" {
		request.Keys = []string{c.flags.key}
	}
	stream, err := c.provider().Inspect(ctx, request)
	return showAll(c, stream, err)
}

// serves refuses a call of an optional service that the plugin doesn't have.
func (c pluginCall) serves(service string) error {
	if !c.info.Serves(service) {
		return fmt.Errorf("the plugin doesn't serve %q; it serves: %s", service, strings.Join(c.info.Services, ", "))
	}
	return nil
}

func (c pluginCall) offers(ctx context.Context) error {
	if err := c.serves(providerpb.MarketService); err != nil {
		return err
	}
	list, err := c.askOffers(ctx)
	if err != nil {
		return err
	}
	return c.show(list)
}

func (c pluginCall) askOffers(ctx context.Context) (*providerpb.OffersResponse, error) {
	return providerpb.NewMarketClient(c.connection).Offers(ctx,
		&providerpb.OffersRequest{InstanceJson: c.options.Instance})
}

func (c pluginCall) check(ctx context.Context) error {
	if err := c.serves(providerpb.CheckService); err != nil {
		return err
	}
	answer, err := providerpb.NewCheckerClient(c.connection).Check(ctx, &providerpb.CheckRequest{
		InstanceJson: c.options.Instance, Image: c.options.Image, Platform: c.platform(),
	})
	if err != nil {
		return err
	}
	return c.show(answer)
}

func (c pluginCall) platform() *providerpb.Platform {
	return &providerpb.Platform{Os: c.options.OS, Arch: c.options.Arch}
}

// provision asks for one instance, of the plugin's own offers where it has a market.
func (c pluginCall) provision(ctx context.Context) error {
	key := c.flags.key
	if key == "" {
		made, err := fleet.NewULID(time.Now(), rand.Reader)
		if err != nil {
			return err
		}
		key = made
	}
	request := &providerpb.ProvisionRequest{
		Fleet: "debug", InstanceJson: c.options.Instance, InstanceDigest: "debug", Image: c.options.Image,
		Platform: c.platform(), Items: []*providerpb.ProvisionRequest_Item{c.item(key)},
	}
	if c.info.Serves(providerpb.MarketService) {
		list, err := c.askOffers(ctx)
		if err != nil {
			return fmt.Errorf("ask for offers: %w", err)
		}
		request.Offers = list.GetOffers()
	}
	stream, err := c.provider().Provision(ctx, request)
	return showAll(c, stream, err)
}

// item is the one that provision asks for. Its token is good for nothing.
func (c pluginCall) item(key string) *providerpb.ProvisionRequest_Item {
	item := &providerpb.ProvisionRequest_Item{
		Key: key, Name: "debug-" + key[max(0, len(key)-8):],
		Tags: map[string]string{
			providerpb.TagInstallation: c.flags.installation, providerpb.TagFleet: "debug",
			providerpb.TagInstance: key, providerpb.TagKey: key, providerpb.TagProof: "none",
		},
		Bootstrap: &providerpb.Bootstrap{
			Kind: "file", ManagerUrl: "https://127.0.0.1:1", Token: "debug",
			CaFingerprint: "sha256:" + strings.Repeat("0", 64), ServerName: "manager.debug.forgeyard-fleet.internal",
			AgentUrl: c.options.AgentURL, AgentSha256: c.options.AgentSHA256,
		},
	}
	if len(c.options.Assets) > 0 {
		item.Asset = c.options.Assets[0]
	}
	return item
}

func (c pluginCall) terminate(ctx context.Context) error {
	stream, err := c.provider().Terminate(ctx, &providerpb.TerminateRequest{
		Refs: []*providerpb.Ref{{Id: c.flags.id, Key: c.flags.key}}, Force: c.flags.force,
	})
	return showAll(c, stream, err)
}
