package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"
)

// Service is the metadata service of the platform that a host runs on.
type Service struct {
	// Platform is aws, gcp or azure.
	Platform string
	// URL is where it answers.
	URL string
}

// Detect finds out from what the host's firmware says whether it runs on a
// platform that gives notice; nil: it does not, and no service is asked.
func Detect() *Service { return platformOf(readFirmware) }

func readFirmware(name string) string {
	content, _ := os.ReadFile("/sys/class/dmi/id/" + name)
	return strings.TrimSpace(string(content))
}

// azureChassis is the asset tag that every machine of Azure has. Other machines of
// the same maker don't.
const azureChassis = "7783-7084-3265-9085-8269-3286-77"

func platformOf(firmware func(string) string) *Service {
	switch {
	case firmware("sys_vendor") == "Amazon EC2":
		return &Service{"aws", "http://169.254.169.254"}
	case firmware("sys_vendor") == "Google" && strings.HasPrefix(firmware("product_name"), "Google Compute Engine"):
		return &Service{"gcp", "http://169.254.169.254"}
	case firmware("chassis_asset_tag") == azureChassis:
		return &Service{"azure", "http://169.254.169.254"}
	}
	return nil
}

// Parse reads "PLATFORM URL": another service in place of the
// platform's, to rehearse an interruption. It must be on this very host, so that
// setting a variable can't make the agent ask elsewhere.
func Parse(text string) (*Service, error) {
	platform, address, _ := strings.Cut(text, " ")
	if noticeReaders[platform] == nil {
		return nil, fmt.Errorf("unknown platform %.40q: use aws, gcp or azure, a space and a URL", platform)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Path != "" || u.User != nil {
		return nil, fmt.Errorf("invalid URL %.80q: use a form such as http://127.0.0.1:1234", address)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%.80q must be a loopback address of this host", address)
	}
	return &Service{platform, "http://" + u.Host}, nil
}

// transport asks a metadata service: never through a proxy, never along a
// redirect, never for long.
type transport struct {
	base  string
	http  *http.Client
	token string // of AWS
}

const (
	callTime       = 2 * time.Second
	maxAnswerBytes = 64 << 10
)

// NewClient makes a client of the service.
func NewClient(s Service) *Client {
	return &Client{Service: s, http: &transport{base: s.URL, http: &http.Client{
		Timeout:       callTime,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}}
}

// errNotFound says that the service has nothing under the path.
var errNotFound = errors.New("there is none")

// errTokenExpired says that the service wants another token.
var errTokenExpired = errors.New("the token expired")

// ask makes one call and gives the value without the space around it.
func (c *transport) ask(ctx context.Context, method, path, header string) (string, http.Header, error) {
	content, answer, err := c.askWhole(ctx, method, path, header)
	return strings.TrimSpace(string(content)), answer, err
}

// askWhole makes one call. header is "Name: value" and may be empty.
func (c *transport) askWhole(ctx context.Context, method, path, header string) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, nil, err
	}
	if name, value, found := strings.Cut(header, ": "); found {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	switch {
	case err != nil:
		return nil, nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, nil, errNotFound
	case response.StatusCode == http.StatusUnauthorized:
		return nil, nil, errTokenExpired
	case response.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("%s answers %s", path, response.Status)
	}
	return content, response.Header, nil
}
