package provider

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// server speaks the wire for one plugin. lifetime is the context of everything
// that must outlive the RPC that asked for it.
type server[C, I any] struct {
	providerpb.UnimplementedProviderServer
	plugin   Plugin[C, I]
	blocks   blocks
	lifetime context.Context
	logger   *slog.Logger
	flights  *flights

	mutex      sync.Mutex
	configured Provider[I]
}

func newServer[C, I any](lifetime context.Context, plugin Plugin[C, I], compiled blocks,
	logger *slog.Logger) *server[C, I] {
	return &server[C, I]{plugin: plugin, blocks: compiled, lifetime: lifetime, logger: logger, flights: newFlights()}
}

// serverOptions are what every server of the SDK has: message limits and a
// panic that costs one RPC, not the process.
func serverOptions(logger *slog.Logger) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(providerpb.MaxMessageBytes),
		grpc.MaxSendMsgSize(providerpb.MaxMessageBytes),
		grpc.UnaryInterceptor(recoverUnary(logger)),
		grpc.StreamInterceptor(recoverStream(logger)),
	}
}

// register serves the contract, and the optional services that are declared.
func (s *server[C, I]) register(registrar grpc.ServiceRegistrar) {
	providerpb.RegisterProviderServer(registrar, s)
	if s.plugin.Market {
		providerpb.RegisterMarketServer(registrar, marketServer[C, I]{server: s})
	}
	if s.plugin.Events {
		providerpb.RegisterEventsServer(registrar, &events{watcher: s.watcher})
	}
	if s.plugin.Identity {
		providerpb.RegisterIdentityVerifierServer(registrar, identityServer[C, I]{server: s})
	}
	if s.plugin.Unattestable != nil {
		providerpb.RegisterAttestationsServer(registrar, attestationsServer[C, I]{server: s})
	}
	if s.plugin.Checks {
		providerpb.RegisterCheckerServer(registrar, checkServer[C, I]{server: s})
	}
	if s.plugin.Policy != nil {
		providerpb.RegisterPermissionsServer(registrar, permissionsServer[C, I]{server: s})
	}
	if s.plugin.Batches {
		providerpb.RegisterBatchProvisionerServer(registrar, batchServer[C, I]{server: s})
	}
}

func (s *server[C, I]) GetInfo(context.Context, *providerpb.GetInfoRequest) (*providerpb.GetInfoResponse, error) {
	return s.plugin.info(s.blocks), nil
}

// info describes the plugin; it reads no config and touches no network.
func (p Plugin[C, I]) info(compiled blocks) *providerpb.GetInfoResponse {
	var services []string
	if p.Joined {
		services = append(services, providerpb.JoinService)
	}
	if p.Market {
		services = append(services, providerpb.MarketService)
	}
	if p.Events {
		services = append(services, providerpb.EventsService)
	}
	if p.Identity {
		services = append(services, providerpb.IdentityService)
	}
	if p.Unattestable != nil {
		services = append(services, providerpb.AttestationsService)
	}
	if p.Checks {
		services = append(services, providerpb.CheckService)
	}
	if p.Policy != nil {
		services = append(services, providerpb.PermissionsService)
	}
	if p.Batches {
		services = append(services, providerpb.BatchService)
	}
	return &providerpb.GetInfoResponse{
		Name:           p.Name,
		Version:        p.Version,
		Sdk:            "go " + SDKVersion,
		ProviderSchema: compiled.config.toWire(),
		InstanceSchema: compiled.instance.toWire(),
		Services:       services,
		Idempotency:    providerpb.Idempotency(p.Idempotency),
		Ownership:      providerpb.Ownership(p.Ownership),
		ListSettle:     durationpb.New(p.ListSettle),
		MaxBatch:       uint32(p.MaxBatch),
		IdentityNeeds:  p.IdentityNeeds,
		InspectionPace: p.InspectionPace.toWire(),
		Attestations:   p.Attestations,
	}
}

// Validate checks blocks offline, before Configure too.
func (s *server[C, I]) Validate(
	_ context.Context, request *providerpb.ValidateRequest,
) (*providerpb.ValidateResponse, error) {
	response := &providerpb.ValidateResponse{Instances: map[string]*providerpb.DiagnosticList{}}
	if len(request.ProviderJson) > 0 {
		_, found := decodeBlock[C](s.blocks.config, request.ProviderJson)
		response.Provider = diagnosticsToWire(found)
	}
	for fleet, body := range request.InstanceJson {
		_, found := decodeBlock[I](s.blocks.instance, body)
		response.Instances[fleet] = &providerpb.DiagnosticList{Items: diagnosticsToWire(found)}
	}
	return response, nil
}

// Configure binds the process to one provider block. The lock is held across
// New on purpose: nothing else makes sense until it is over.
func (s *server[C, I]) Configure(_ context.Context, request *providerpb.ConfigureRequest) (
	*providerpb.ConfigureResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.configured != nil {
		return nil, statusError(codes.FailedPrecondition, internalError("the plugin is configured already"))
	}
	config, found := decodeBlock[C](s.blocks.config, request.ProviderJson)
	response := &providerpb.ConfigureResponse{Diagnostics: diagnosticsToWire(found)}
	if hasErrors(found) {
		return response, nil
	}
	environment := Environment{
		Installation: request.Installation,
		StateDir:     request.StateDir,
		Logger:       s.logger,
		account:      &response.Account,
	}
	configured, err := s.plugin.New(s.lifetime, config, environment)
	if diagnostic, ok := errors.AsType[Diagnostic](err); ok {
		response.Diagnostics = append(response.Diagnostics, diagnosticsToWire([]Diagnostic{diagnostic})...)
		return response, nil
	}
	if err != nil {
		return nil, statusError(codes.Unavailable, err)
	}
	if configured == nil {
		return nil, statusError(codes.Internal, internalError("New of the plugin gave neither a provider nor an error"))
	}
	if err := errors.Join(s.plugin.checkMarket(configured), s.plugin.checkWatcher(configured),
		s.plugin.checkIdentity(configured), s.plugin.checkBatches(configured),
		s.plugin.checkChecker(configured)); err != nil {
		return nil, statusError(codes.Internal, err)
	}
	s.configured = configured
	return response, nil
}

// provider gives the configured provider. Without one nothing was begun.
func (s *server[C, I]) provider() (Provider[I], error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.configured == nil {
		return nil, statusError(codes.FailedPrecondition, internalError("the plugin isn't configured yet"))
	}
	return s.configured, nil
}

// Drain begins no new call and waits for those under way, at most until the
// deadline. It never cancels one.
func (s *server[C, I]) Drain(ctx context.Context, request *providerpb.DrainRequest) (*providerpb.DrainResponse, error) {
	if request.Deadline != nil {
		bounded, cancel := context.WithTimeout(ctx, request.Deadline.AsDuration())
		defer cancel()
		ctx = bounded
	}
	left := s.flights.drain(ctx)
	s.logger.Info("drained", "unanswered", left)
	return &providerpb.DrainResponse{InFlight: uint32(left)}, nil
}
