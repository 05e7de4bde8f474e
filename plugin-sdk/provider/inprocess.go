package provider

import (
	"context"
	"io"
	"log/slog"

	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// InProcess is a plugin that is served without a process of its own, for tests:
// package providertest runs the conformance kit against it.
type InProcess struct {
	// Service answers the contract's calls.
	Service providerpb.ProviderServer
	// Identity answers those of the service IdentityVerifier; nil: it isn't served.
	Identity providerpb.IdentityVerifierServer
	// Permissions answers those of the service Permissions; nil: it isn't served.
	Permissions providerpb.PermissionsServer
	// Batches answers those of the service BatchProvisioner; nil: it isn't served.
	Batches providerpb.BatchProvisionerServer
	// Market answers those of the service Market; nil: it isn't served.
	Market providerpb.MarketServer
	// Attestations answers those of the service Attestations; nil: it isn't served.
	Attestations providerpb.AttestationsServer
	// Checker answers those of the service Checker; nil: it isn't served.
	Checker providerpb.CheckerServer
	// Options are what its gRPC server needs: message limits, and panics that
	// cost one call.
	Options []grpc.ServerOption
	// End ends what the plugin runs, as the end of its process would: the context
	// that New got is over. Calls can't be torn off here, so it waits for them.
	End func()
}

// InProcess serves the plugin without a process. What it logs goes to logs, in
// the lines that a process writes to its standard error. The error is Check's.
func (p Plugin[C, I]) InProcess(logs io.Writer) (InProcess, error) {
	compiled, err := p.compile()
	if err != nil {
		return InProcess{}, err
	}
	logger := slog.New(&logHandler{out: &lineWriter{out: logs}, level: levelTrace, module: p.Name})
	lifetime, end := context.WithCancel(context.Background())
	service := newServer(lifetime, p, compiled, logger)
	served := InProcess{
		Service: service,
		Options: serverOptions(logger),
		End: func() {
			end()
			service.flights.drain(context.Background())
		},
	}
	if p.Identity {
		served.Identity = identityServer[C, I]{server: service}
	}
	if p.Policy != nil {
		served.Permissions = permissionsServer[C, I]{server: service}
	}
	if p.Batches {
		served.Batches = batchServer[C, I]{server: service}
	}
	if p.Market {
		served.Market = marketServer[C, I]{server: service}
	}
	if p.Unattestable != nil {
		served.Attestations = attestationsServer[C, I]{server: service}
	}
	if p.Checks {
		served.Checker = checkServer[C, I]{server: service}
	}
	return served, nil
}
