package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// mistakes are what beginners do. The zero value is a plugin that does none of it.
type mistakes struct {
	alwaysNotCreated, retriesCreates, firstPage, swallowsSecondList, leaksVolumes, ignoresOffers bool
	echoesNothing, listsForeign, longLabels, hidesThrottle                                       bool
	failsOnGone, ignoresKey, randomName, swallowsListErrors, logsToken, forgetsExisted           bool
	notCreatedOn5xx, retriesOn5xx, swallowsLaterPages                                            bool
	settle                                                                                       time.Duration
}

type httpConfig struct {
	Endpoint string `fleet:"endpoint,required" doc:"Address of the API."`
}

type httpInstance struct {
	Type string `fleet:"type" default:"small" doc:"The machine type."`
}

// httpPlugin is a plugin for an httpCloud.
type httpPlugin struct {
	mistakes
	endpoint, installation string
	logger                 *slog.Logger

	// made are the servers that this process made, by key: the list lags behind.
	mutex sync.Mutex
	made  map[string]httpServer
}

func newHTTPPlugin(m mistakes) provider.Plugin[httpConfig, httpInstance] {
	if m.settle == 0 {
		m.settle = 10 * httpLag
	}
	return provider.Plugin[httpConfig, httpInstance]{
		Name: "acme", Version: "1.0.0", Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipSigned,
		ListSettle: m.settle, Market: true,
		InspectionPace: provider.InspectionPace{MinInterval: 5 * time.Second, Requests: 100 / httpPageSize},
		New: func(_ context.Context, c httpConfig, e provider.Environment) (provider.Provider[httpInstance], error) {
			return &httpPlugin{
				mistakes: m, endpoint: c.Endpoint, installation: e.Installation, logger: e.Logger, made: map[string]httpServer{},
			}, nil
		},
	}
}

const (
	fleetLabel  = "acme-fleet"
	digestLabel = "acme-digest"
)

// call makes one request.
func (p *httpPlugin) call(ctx context.Context, method, path string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, p.endpoint+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return statusError(response, string(text))
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func statusError(response *http.Response, text string) error {
	failed := &provider.Error{Class: provider.Transient, Err: fmt.Errorf("%s: %s", response.Status, text)}
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusBadRequest:
		failed.Class = provider.Invalid
	case http.StatusTooManyRequests:
		failed.Class = provider.RateLimit
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		failed.RetryAfter = time.Duration(seconds) * time.Second
	}
	return failed
}

// listAll reads every page of a list.
func listAll[T any](ctx context.Context, p *httpPlugin, path string, labels ...string) ([]T, error) {
	var all []T
	for after := ""; ; {
		query := url.Values{"label": labels, "after": {after}}
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next"`
		}
		if err := p.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			if p.hidesThrottle {
				return all, errors.New("the API can't be reached")
			}
			if p.swallowsLaterPages && after != "" {
				return all, nil
			}
			return all, err
		}
		all, after = append(all, page.Items...), page.Next
		if after == "" || p.firstPage {
			return all, nil
		}
	}
}

func (p *httpPlugin) own() []string {
	if p.listsForeign {
		return nil
	}
	return []string{provider.TagInstallation + "=" + p.installation}
}

func (p *httpPlugin) resource(s httpServer) provider.Resource {
	tags := maps.Clone(s.Labels)
	delete(tags, fleetLabel)
	delete(tags, digestLabel)
	return provider.Resource{
		ID: s.ID, Key: s.Labels[provider.TagKey], Fleet: s.Labels[fleetLabel], InstanceDigest: s.Labels[digestLabel],
		State: provider.Running, Zone: s.Zone, MachineType: s.Type, Tags: tags,
	}
}

func (p *httpPlugin) Inspect(ctx context.Context, _ provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		servers, err := listAll[httpServer](ctx, p, "/servers", p.own()...)
		if err != nil && !p.swallowsListErrors {
			yield(provider.Resource{}, err)
			return
		}
		for _, server := range servers {
			if !yield(p.resource(server), nil) {
				return
			}
		}
		if p.leaksVolumes {
			return
		}
		volumes, err := listAll[httpVolume](ctx, p, "/volumes", p.own()...)
		if err != nil && !p.swallowsListErrors && !p.swallowsSecondList {
			yield(provider.Resource{}, err)
			return
		}
		for _, v := range volumes {
			one := provider.Resource{ID: v.ID, Key: v.Labels[provider.TagKey], Kind: "volume", BelongsTo: v.Server,
				Tags: v.Labels}
			if !yield(one, nil) {
				return
			}
		}
	}
}

func (p *httpPlugin) Offers(context.Context, httpInstance) (provider.OfferList, error) {
	var list provider.OfferList
	for _, zone := range []string{"north", "south"} {
		list.Offers = append(list.Offers, provider.Offer{
			Zone: zone, MachineType: "small", Lifetime: "stable", Price: provider.Price{Currency: "EUR", MicrosPerHour: 7000},
		})
	}
	return list, nil
}

func (p *httpPlugin) Provision(
	ctx context.Context, request provider.ProvisionRequest[httpInstance],
) (provider.Resource, error) {
	if p.logsToken {
		p.logger.Info("create", "token", request.Bootstrap.Token)
	}
	if !p.randomName {
		existing, err := p.find(ctx, request.Key)
		if err != nil {
			return provider.Resource{}, provider.NotCreated(provider.Transient, err) // nothing was asked for yet
		}
		if len(existing) > 0 {
			made := p.resource(existing[0])
			made.Existed = !p.forgetsExisted
			return made, nil
		}
	}
	labels := maps.Clone(request.Tags)
	if !p.echoesNothing {
		labels[fleetLabel], labels[digestLabel] = request.Fleet, request.InstanceDigest
	}
	if p.longLabels {
		labels[digestLabel] = "sha256." + request.InstanceDigest
	}
	offer := request.Offers[0]
	if p.ignoresOffers {
		offer.Zone = "north"
	}
	var made httpServer
	create := func() error {
		return p.call(ctx, http.MethodPost, "/servers", httpServer{
			Name: request.Name, Zone: offer.Zone, Type: offer.MachineType, Labels: labels,
		}, &made)
	}
	err := create()
	refused, answered := errors.AsType[*provider.Error](err)
	if err != nil && (p.retriesCreates || p.retriesOn5xx && answered) {
		err = create()
		refused, answered = errors.AsType[*provider.Error](err)
	}
	if err != nil && (p.alwaysNotCreated || answered && (p.notCreatedOn5xx || refused.Class == provider.Invalid)) {
		return provider.Resource{}, provider.NotCreated(provider.Invalid, err)
	}
	if err == nil {
		p.mutex.Lock()
		p.made[request.Key] = made
		p.mutex.Unlock()
	}
	return p.resource(made), err
}

// find is what a key has made: as listed, or as this process remembers.
func (p *httpPlugin) find(ctx context.Context, key string) ([]httpServer, error) {
	p.mutex.Lock()
	made, known := p.made[key]
	p.mutex.Unlock()
	if known {
		return []httpServer{made}, nil
	}
	return listAll[httpServer](ctx, p, "/servers", provider.TagKey+"="+key)
}

func (p *httpPlugin) Terminate(ctx context.Context, ref provider.Ref) (provider.TerminateState, error) {
	servers, err := listAll[httpServer](ctx, p, "/servers", p.own()...)
	if err != nil {
		return provider.TerminateUnknown, err
	}
	found := false
	for _, server := range servers {
		key := server.Labels[provider.TagKey]
		switch {
		case ref.ID != "" && ref.ID != server.ID, ref.ID == "" && ref.Key != key:
			continue
		case ref.ID != "" && ref.Key != key && !p.ignoresKey:
			return provider.Refused, errors.New("it carries another key")
		}
		found = true
		p.mutex.Lock()
		delete(p.made, key)
		p.mutex.Unlock()
		if err := p.call(ctx, http.MethodDelete, "/servers/"+server.ID, nil, nil); err != nil {
			return provider.TerminateUnknown, err
		}
	}
	if !found && p.failsOnGone {
		return provider.TerminateUnknown, errors.New("server not found")
	}
	if p.leaksVolumes {
		return provider.Gone, nil
	}
	volumes, err := listAll[httpVolume](ctx, p, "/volumes", provider.TagKey+"="+ref.Key)
	for _, volume := range volumes {
		if err == nil {
			err = p.call(ctx, http.MethodDelete, "/volumes/"+volume.ID, nil, nil)
		}
	}
	if err != nil {
		return provider.TerminateUnknown, err
	}
	return provider.Gone, nil
}
