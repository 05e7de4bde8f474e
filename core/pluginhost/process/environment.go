package process

import (
	"fmt"
	"slices"
	"strings"
)

// passedVariables are what every plugin sees of the host's environment: enough
// for a program to run, to reach a cloud through a proxy and to trust its
// certificate. All else has to be named by the fleet file, so that a plugin
// doesn't get another provider's credentials (hashicorp/vault#25128).
var passedVariables = []string{
	"HOME", "PATH", "TMPDIR", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ",
	"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
	"https_proxy", "http_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
}

// Command says which plugin to run, and what it sees of the host's environment.
type Command struct {
	// Plugin is the plugin's name, for messages.
	Plugin string
	// Path is the executable's; the process gets it as its first argument.
	Path string
	// Env names further variables of the host's that the plugin may see.
	Env []string
	// LookupEnv reads the host's environment.
	LookupEnv func(name string) (string, bool)
	// Fixed are variables as NAME=VALUE. They come last and win.
	Fixed []string
}

// environment is the plugin's whole environment.
func (c Command) environment() ([]string, error) {
	var env []string
	for _, name := range slices.Concat(passedVariables, c.Env) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf(
				"environment variable name %q is not one; correct env of plugin %q in required_plugins",
				name,
				c.Plugin,
			)
		}
		if value, ok := c.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, c.Fixed...), nil
}
