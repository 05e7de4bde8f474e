package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// listenAddress is host:port; empty: not set, or reported.
func (b *body) listenAddress(name string) string {
	text, ok := b.text(name)
	if !ok {
		return ""
	}
	_, port, err := net.SplitHostPort(text)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || number == 0 {
		b.fail(b.at(name), b.where, fmt.Sprintf("%q is no address to listen on: %q", name, clip(text)),
			"Write host:port, such as \"0.0.0.0:7443\". Leave it out for 127.0.0.1 and a port that is chosen at the first start.")
		return ""
	}
	return text
}

// httpsURL is a URL that agents can reach; empty: not set, or reported.
func (b *body) httpsURL(name string) string {
	text, ok := b.text(name)
	if !ok {
		return ""
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		b.fail(b.at(name), b.where, fmt.Sprintf("%q is no https URL: %q", name, clip(text)),
			"Write the URL at which agents reach the manager, such as \"https://fleet.acme.example:7443\".")
		return ""
	}
	return text
}
