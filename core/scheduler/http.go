package scheduler

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// NewHTTPClient makes the client of an adapter. It follows no redirect, which
// would carry the token to somewhere else, and waits for nothing for ever.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 30 * time.Second,
			IdleConnTimeout:       time.Minute,
			MaxIdleConnsPerHost:   4,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// StatusWords is the status of an answer, with what is behind one that sends elsewhere.
func StatusWords(response *http.Response) string {
	status := strings.TrimSpace(response.Status)
	if to := response.Header.Get("Location"); response.StatusCode/100 == 3 && to != "" {
		status += fmt.Sprintf(
			", which sends to %q; that isn't followed, since the token would go there: give the address that answers "+
				"itself as the url",
			Printable(to),
		)
	}
	return status
}

// Printable reduces untrusted text to one bounded line.
func Printable(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return strings.TrimSpace(s)
}
