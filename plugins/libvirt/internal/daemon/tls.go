package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
)

const tlsPort = "16514"

// pki are the files by which the two sides know each other.
type pki struct{ authority, certificate, key string }

// pkiPlaces are where libvirt keeps them: in the one folder that is said, else in
// the user's own, else the system's.
func pkiPlaces(said string) []pki {
	within := func(folder string) pki {
		return pki{filepath.Join(folder, "cacert.pem"), filepath.Join(folder, "clientcert.pem"),
			filepath.Join(folder, "clientkey.pem")}
	}
	if said != "" {
		return []pki{within(said)}
	}
	system := pki{"/etc/pki/CA/cacert.pem", "/etc/pki/libvirt/clientcert.pem", "/etc/pki/libvirt/private/clientkey.pem"}
	if home, err := os.UserHomeDir(); err == nil {
		return []pki{within(filepath.Join(home, ".pki", "libvirt")), system}
	}
	return []pki{system}
}

func overTLS(u *url.URL) (dialler, error) {
	address, places := hostAndPort(u, tlsPort), pkiPlaces(u.Query().Get("pkipath"))
	return func(ctx context.Context) (net.Conn, error) {
		config, err := tlsConfig(places)
		if err != nil {
			return nil, err
		}
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		secured := tlsConn{conn.(*tls.Conn)}
		if err := secured.accepted(ctx); err != nil {
			_ = secured.Close()
			return nil, err
		}
		return secured, nil
	}, nil
}

// tlsConfig reads the files at each dial: they may be renewed.
func tlsConfig(places []pki) (*tls.Config, error) {
	chosen := places[len(places)-1]
	for _, place := range places {
		if _, err := os.Stat(place.certificate); err == nil {
			chosen = place
			break
		}
	}
	const advice = "put libvirt's client certificate, its key and the certificate of the CA there, or name their folder " +
		"by pkipath="
	certificate, err := tls.LoadX509KeyPair(chosen.certificate, chosen.key)
	if err != nil {
		return nil, fmt.Errorf("read the client's certificate: %w: %s", err, advice)
	}
	authority, err := os.ReadFile(chosen.authority)
	if err != nil {
		return nil, fmt.Errorf("read the CA's certificate: %w: %s", err, advice)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s has no certificate in it", chosen.authority)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: trusted}, nil
}

// tlsConn closes without a farewell, which a stalled peer wouldn't take.
type tlsConn struct{ *tls.Conn }

// Close ends it at once.
func (c tlsConn) Close() error { return c.NetConn().Close() }

// accepted waits for the daemon's word on our certificate, one byte: it checks it
// only after the handshake.
func (c tlsConn) accepted(ctx context.Context) error {
	const advice = "is the client's certificate signed by the CA that the daemon trusts, and allowed by " +
		"tls_allowed_dn_list in its libvirtd.conf?"
	if deadline, has := ctx.Deadline(); has {
		if err := c.SetReadDeadline(deadline); err != nil {
			return err
		}
	}
	word := make([]byte, 1)
	if _, err := c.Read(word); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	} else if err != nil {
		return fmt.Errorf("the daemon ends the connection: %w: %s", err, advice)
	}
	if word[0] != 1 {
		return errors.New("the daemon refuses us: " + advice)
	}
	return c.SetReadDeadline(noDeadline)
}
