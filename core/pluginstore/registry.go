package pluginstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/net/http/httpproxy"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Registry is how OCI registries are spoken to.
type Registry struct {
	// LookupEnv finds proxies (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) and the docker
	// configuration (DOCKER_CONFIG, HOME).
	LookupEnv func(string) (string, bool)
	// UserAgent names this program to registries.
	UserAgent string
	// roots are the authorities that a test trusts; nil: those of the system, or of
	// SSL_CERT_FILE.
	roots *x509.CertPool
	// Patience is the longest wait between two attempts; 0: three seconds.
	Patience time.Duration
	// stall is how long an answer may bring nothing; 0: stallTime.
	stall time.Duration
}

func (r Registry) env(name string) string { value, _ := r.LookupEnv(name); return value }

// proxy is the one for a URL; nil: none.
func (r Registry) proxy(u *url.URL) (*url.URL, error) {
	either := func(name string) string {
		if value := r.env(name); value != "" {
			return value
		}
		return r.env(strings.ToLower(name))
	}
	settings := httpproxy.Config{
		HTTPProxy:  either("HTTP_PROXY"),
		HTTPSProxy: either("HTTPS_PROXY"),
		NoProxy:    either("NO_PROXY"),
	}
	return settings.ProxyFunc()(u)
}

// dockerConfiguration is where docker login stores credentials.
func (r Registry) dockerConfiguration() string {
	if dir := r.env("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	return filepath.Join(r.env("HOME"), ".docker", "config.json")
}

// inRegistry is a repository of a registry.
type inRegistry struct {
	*remote.Repository
	registry Registry
	// used says what was found in the docker configuration.
	credentials credentials.Store
}

// repository is where a source lies. Nothing is asked yet.
func (r Registry) repository(source string) (*inRegistry, error) {
	repository, err := remote.NewRepository(source)
	if err != nil || repository.Reference.Reference != "" {
		return nil, fmt.Errorf("invalid source %q: write HOST/PATH, without a tag", source)
	}
	store, err := credentials.NewStore(r.dockerConfiguration(), credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the docker configuration %s: %w", r.dockerConfiguration(), err)
	}
	transport := &http.Transport{
		Proxy:                 func(request *http.Request) (*url.URL, error) { return r.proxy(request.URL) },
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: r.roots},
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       30 * time.Second,
	}
	policy := &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
		MinWait: min(200*time.Millisecond, r.patience()), MaxWait: r.patience(), MaxRetry: 3,
	}
	repository.Client = &auth.Client{
		Client: &http.Client{
			Transport: &retry.Transport{
				Base:   impatient{transport, cmp.Or(r.stall, stallTime)},
				Policy: func() retry.Policy { return policy },
			},
		},
		Header:     http.Header{"User-Agent": {r.UserAgent}},
		Credential: credentials.Credential(store),
		Cache:      auth.NewCache(),
	}
	repository.PlainHTTP = isLoopback(repository.Reference.Host())
	repository.TagListMaxPages, repository.ReferrerListMaxPages = 200, 10
	repository.ManifestMediaTypes = []string{ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest}
	// The list of signatures that an old registry keeps under a tag can't always be deleted there.
	repository.SkipReferrersGC = true
	return &inRegistry{repository, r, store}, nil
}

func (r Registry) patience() time.Duration {
	if r.Patience == 0 {
		return 3 * time.Second
	}
	return r.Patience
}

// isLoopback: only there HTTP without TLS is spoken.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (r *inRegistry) tags(ctx context.Context) ([]string, error) {
	var all []string
	err := r.Tags(ctx, "", func(tags []string) error {
		if all = append(all, tags...); len(all) > maxTags {
			return &ArtifactError{fmt.Sprintf("%s has more than %d tags", r.Reference, maxTags)}
		}
		return nil
	})
	return all, r.explain(err, "repository "+r.Reference.Repository)
}

func (r *inRegistry) resolve(ctx context.Context, reference string) (ocispec.Descriptor, error) {
	d, err := r.Resolve(ctx, reference)
	return d, r.explain(err, r.Reference.Repository+" "+reference)
}

func (r *inRegistry) fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	in, err := r.Fetch(ctx, d)
	return in, r.explain(err, r.Reference.Repository+" "+d.Digest.String())
}

func (r *inRegistry) signatures(ctx context.Context, index ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	var all []ocispec.Descriptor
	err := r.Referrers(ctx, index, signatureArtifactType, func(found []ocispec.Descriptor) error {
		all = append(all, found...)
		return nil
	})
	return all, r.explain(err, "signatures of "+index.Digest.String())
}

func (r *inRegistry) push(ctx context.Context, d ocispec.Descriptor, content func() (io.ReadCloser, error)) error {
	there, err := r.Exists(ctx, d)
	if err != nil {
		return r.explain(err, "repository "+r.Reference.Repository)
	}
	if there {
		return nil
	}
	in, err := content()
	if err != nil {
		return err
	}
	defer in.Close()
	return r.explain(r.Push(ctx, d, in), "repository "+r.Reference.Repository)
}

func (r *inRegistry) tag(ctx context.Context, index ocispec.Descriptor, tag string) error {
	return r.explain(r.Tag(ctx, index, tag), r.Reference.Repository+" "+index.Digest.String())
}

// explain makes errors of the library the user's.
func (r *inRegistry) explain(err error, what string) error {
	if err == nil {
		return nil
	}
	withoutQueries(err)
	var (
		answer  *errcode.ErrorResponse
		own     *ArtifactError
		atURL   *url.Error
		network net.Error
	)
	errors.As(err, &answer)
	switch {
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return r.refused(http.StatusUnauthorized)
	case answer != nil && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return r.refused(answer.StatusCode)
	case errors.Is(err, errdef.ErrNotFound), answer != nil && answer.StatusCode == http.StatusNotFound:
		return &MissingError{r.Reference.Host(), what}
	case answer != nil && answer.StatusCode >= 500, errors.As(err, &atURL), errors.As(err, &network):
		return r.unreachable(err)
	}
	return fmt.Errorf("ask %s for %s: %w", r.Reference.Host(), what, err)
}

func (r *inRegistry) refused(status int) error {
	path := r.registry.dockerConfiguration()
	from := "docker configuration " + path
	switch _, err := os.Stat(path); {
	case err != nil:
		from += ", which isn't there"
	default:
		found, err := r.credentials.Get(context.Background(), credentials.ServerAddressFromRegistry(r.Reference.Host()))
		switch {
		case err != nil:
			from += fmt.Sprintf(", which failed (%v)", err)
		case found == auth.EmptyCredential:
			from += ", which has none for " + r.Reference.Host()
		case found.Username != "":
			from += fmt.Sprintf(", user %q", found.Username)
		}
	}
	return &AccessError{Host: r.Reference.Host(), Repository: r.Reference.Repository, Status: status, Credentials: from}
}

func (r *inRegistry) unreachable(err error) error {
	scheme := "https"
	if r.PlainHTTP {
		scheme = "http"
	}
	unreachable := &UnreachableError{Host: r.Reference.Host(), Err: err}
	if proxy, proxyErr := r.registry.proxy(
		&url.URL{Scheme: scheme, Host: r.Reference.Host()},
	); proxyErr == nil &&
		proxy != nil {
		unreachable.Proxy = proxy.Redacted()
	}
	return unreachable
}
