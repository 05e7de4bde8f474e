//go:build unix

package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// DefaultStartTimeout is long because the first start of a new binary can wait
// for a malware scanner (hashicorp/terraform#35891).
const DefaultStartTimeout = 30 * time.Second

// keepaliveInterval is as short as it may be. A gRPC server that sets no policy
// of its own cuts the connection of a client that pings more often than every
// five minutes, and with it every call: with 10 s, a quiet provision was cut off
// after 41 s and its outcome became unknown.
const keepaliveInterval = 5*time.Minute + 15*time.Second

// Launch is everything needed to start one plugin process.
type Launch struct {
	// Plugin is the plugin's name, for messages and the launch record.
	Plugin string
	// Provider is the provider block that the process serves, for messages;
	// empty where it serves none, as when a plugin is only asked for its schema.
	Provider fleet.ProviderAddress
	// Path is the executable in the content-addressed store.
	Path string
	// Digest is "sha256:…" from the lock file. It is compared with the very
	// bytes that are executed.
	Digest string
	// Env names further environment variables that the plugin may see.
	Env []string
	// LookupEnv reads the host's environment; nil: os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// RunDir is a private directory for sockets and launch locks. It is made
	// with mode 0700 where it is missing.
	RunDir string
	// Logger gets the plugin's log lines; nil: none.
	Logger *slog.Logger
	// StartTimeout bounds the time until the plugin answers; 0: 30 s.
	StartTimeout time.Duration
	// OnOutput gets every line that the plugin writes, as it is and with whatever
	// secrets are in it: for the conformance kit, which looks for them. It is
	// called from several goroutines. nil: output isn't observed.
	OnOutput func(pluginlog.OutputLine)
}

func (l Launch) withDefaults() Launch {
	l.StartTimeout = cmp.Or(l.StartTimeout, DefaultStartTimeout)
	if l.LookupEnv == nil {
		l.LookupEnv = os.LookupEnv
	}
	if l.Logger == nil {
		l.Logger = slog.New(slog.DiscardHandler)
	}
	l.Logger = l.Logger.With("plugin", l.Plugin)
	if l.Provider != "" {
		l.Logger = l.Logger.With("provider", string(l.Provider))
	}
	return l
}

// title names the process in every message.
func (l Launch) title() string {
	if l.Provider != "" {
		return fmt.Sprintf("provider %s (plugin %q)", l.Provider, l.Plugin)
	}
	return fmt.Sprintf("plugin %q", l.Plugin)
}

// Start launches the plugin and returns once it answers. The error of a plugin
// that ended or kept silent carries its last log lines. A *process.ExecutableError
// says that the file itself was refused and that nothing ran.
func Start(ctx context.Context, l Launch) (*Process, error) {
	l = l.withDefaults()
	file, err := process.OpenExecutable(l.Path, l.Digest)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.title(), err)
	}
	defer file.Close()
	return startVerified(ctx, l, file)
}

// startVerified owns the whole sequence from the launch directory to the first
// answer, so that no step can fail and leave a process or a file behind.
func startVerified(ctx context.Context, l Launch, file *os.File) (*Process, error) {
	dir, err := process.NewDirectory(l.RunDir, l.Plugin)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.title(), err)
	}
	redactor := &pluginlog.Redactor{}
	l.Logger = slog.New(pluginlog.NewRedactedHandler(l.Logger.Handler(), redactor))
	child := newChild(l, file, dir, pluginlog.New(l.Logger, redactor, l.OnOutput))
	client := plugin.NewClient(clientConfig(l, child, dir, redactor))

	startContext, cancel := context.WithTimeout(ctx, l.StartTimeout)
	defer cancel()
	// go-plugin's Start takes no context: ending the process ends it.
	keep := context.AfterFunc(startContext, func() { child.KillGroup("it did not start in time") })
	conn, err := connect(startContext, client)
	if !keep() && err == nil {
		err = context.Cause(startContext)
	}
	if err != nil {
		child.KillGroup("it could not be reached")
		client.Kill()
		child.AwaitOutput()
		return nil, errors.Join(startError(ctx, startContext, l, child, err), dir.Remove())
	}

	p := &Process{
		launch:   l,
		child:    child,
		dir:      dir,
		conn:     conn,
		rpc:      providerpb.NewProviderClient(conn),
		redactor: redactor,
		gone:     make(chan struct{}),

		leftBehind: make(chan struct{}),
	}
	p.closeClient = sync.OnceFunc(client.Kill)
	p.giveUp = sync.OnceFunc(func() { close(p.leftBehind) })
	go p.tend()
	return p, nil
}

func newChild(l Launch, file *os.File, dir *process.Directory, log *pluginlog.Log) *process.Child {
	command := process.Command{Plugin: l.Plugin, Path: l.Path, Env: l.Env, LookupEnv: l.LookupEnv}
	return process.NewChild(command, file, dir, log)
}

// clientConfig is the one place that configures go-plugin.
func clientConfig(
	l Launch, child *process.Child, dir *process.Directory, redactor *pluginlog.Redactor,
) *plugin.ClientConfig {
	answers := answerRedactor{redactor}
	return &plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   providerpb.MagicCookieKey,
			MagicCookieValue: providerpb.MagicCookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{
			providerpb.ProtocolVersion: {providerpb.PluginName: &plugin.NetRPCUnsupportedPlugin{}},
		},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		// Ours comes first, so that it can say what happened.
		StartTimeout: l.StartTimeout + 10*time.Second,
		// On Windows the operating system picks the port; 0, 0 would mean 10000.
		MaxPort:          1,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir.Path},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(
				grpc.MaxCallRecvMsgSize(providerpb.MaxMessageBytes),
				grpc.MaxCallSendMsgSize(providerpb.MaxMessageBytes)),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveInterval, Timeout: 20 * time.Second}),
			// Losing the connection means that the plugin is stuck: it must
			// never happen for idleness.
			grpc.WithIdleTimeout(0),
			grpc.WithUnaryInterceptor(answers.unary),
			grpc.WithChainStreamInterceptor(withoutBroker, answers.streaming),
		},
		// What a plugin prints once it serves comes over the connection.
		SyncStdout: child.Log.Printed(true),
		SyncStderr: child.Log.Printed(false),
		RunnerFunc: func(_ hclog.Logger, command *exec.Cmd, _ string) (runner.Runner, error) {
			child.SetEnv(slices.Concat(command.Env, contractEnv(dir, l.Logger)))
			return child, nil
		},
		Logger: pluginlog.LibraryLogger(l.Logger),
	}
}

// withoutBroker keeps go-plugin's broker closed, by which a plugin could open
// connections to the host: we have no use for it, and it keeps a goroutine for
// five seconds for every message that a plugin sends.
func withoutBroker(
	ctx context.Context,
	description *grpc.StreamDesc,
	conn *grpc.ClientConn,
	method string,
	open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, "/plugin.GRPCBroker/") {
		return nil, status.Error(codes.Unimplemented, "the host has no broker")
	}
	return open(ctx, description, conn, method, options...)
}

// connect does the handshake and waits until the connection stands. go-plugin
// itself reports success as soon as it knows the address. Why a connection
// didn't stand in time, as for a certificate that isn't the server's, is told.
func connect(ctx context.Context, client *plugin.Client) (*grpc.ClientConn, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	grpcClient, ok := protocol.(*plugin.GRPCClient)
	if !ok {
		return nil, fmt.Errorf("it speaks %T and not gRPC", protocol)
	}
	conn := grpcClient.Conn
	var failure error
	for {
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			return conn, nil
		case connectivity.TransientFailure: // a call that doesn't wait hears why
			if _, err := healthpb.NewHealthClient(conn).
				Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(
				err,
			) == codes.Unavailable {
				failure = err
			}
		}
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			if failure != nil {
				return nil, &connectError{failure}
			}
			return nil, context.Cause(ctx)
		}
	}
}

// connectError is why the last try to connect failed.
type connectError struct{ last error }

func (e *connectError) Error() string {
	return shownText(status.Convert(e.last).Message(), maxErrorMessage)
}

// startError says why there is no process: the caller's wish, silence, an end
// before the handshake, or what go-plugin complained about.
func startError(ctx, startContext context.Context, l Launch, child *process.Child, err error) error {
	var executable *process.ExecutableError
	var unreachable *connectError
	switch {
	case errors.As(err, &executable):
		return fmt.Errorf("start %s: %w", l.title(), err)
	case ctx.Err() != nil:
		return fmt.Errorf("start %s: given up: %w", l.title(), context.Cause(ctx))
	case errors.As(err, &unreachable):
		return fmt.Errorf("start %s: no connection to it came about within %s: %w%s; report it to the plugin's author",
			l.title(), l.StartTimeout, unreachable, child.Log.LastLines())
	case startContext.Err() != nil:
		return fmt.Errorf("start %s: it did not answer within %s%s; see its log lines, or allow it more time",
			l.title(), l.StartTimeout, child.Log.LastLines())
	case child.EndedByItself():
		return fmt.Errorf(
			"start %s: it ended before it was ready (%w)%s; correct what it complains about, or install another version",
			l.title(),
			child.ExitStatus(),
			child.Log.LastLines(),
		)
	}
	return fmt.Errorf("start %s: %w%s; check that it is a forgeyard-fleet plugin for this version and platform",
		l.title(), err, child.Log.LastLines())
}
