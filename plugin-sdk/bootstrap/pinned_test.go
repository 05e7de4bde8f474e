package bootstrap

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A host that was never told the time must be able to enroll, and must not be
// let off once it has a clock.
func TestClockIsReadOnlyWhereAsked(t *testing.T) {
	ca := newAuthority(t)
	for name, test := range map[string]struct {
		from, to  time.Duration
		checkTime bool
		refused   bool
	}{
		"future certificate, clock not read":  {30 * time.Minute, 40 * time.Minute, false, false},
		"future certificate, clock read":      {30 * time.Minute, 40 * time.Minute, true, true},
		"expired certificate, clock not read": {-30 * time.Minute, -20 * time.Minute, false, false},
		"expired certificate, clock read":     {-30 * time.Minute, -20 * time.Minute, true, true},
		"current certificate, clock read":     {-30 * time.Minute, 20 * time.Minute, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			server := ca.serve(t, serverName, now.Add(test.from), now.Add(test.to), "x")
			client := &http.Client{
				Transport: &http.Transport{TLSClientConfig: TLSConfig(documentFor(server, ca, "x"), test.checkTime)}}
			defer client.CloseIdleConnections()
			response, err := client.Get(server.URL + "/agent")
			if err == nil {
				response.Body.Close()
			}
			if refused := err != nil; refused != test.refused {
				t.Errorf("refused: %v (%v), wanted %v", refused, err, test.refused)
			}
		})
	}
}

// An intermediate or leaf with the pinned digest is no CA.
func TestPinnedCertificateMustBeACA(t *testing.T) {
	ca := newAuthority(t)
	key := newKey(t)
	leaf := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(3), DNSNames: []string{serverName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, ca.certificate, key, ca.key)
	document := Document{ServerName: serverName, CAFingerprint: Fingerprint(leaf)}
	if err := verifyPinned([]*x509.Certificate{leaf, ca.certificate}, document, time.Now()); err == nil {
		t.Error("a pinned leaf was trusted")
	}
	if err := verifyPinned(nil, document, time.Now()); err == nil {
		t.Error("an empty chain was trusted")
	}
}

// The pin is the only check of a manager, for the download and for all that the
// agent says later.
func TestAChainIsTrustedByItsPinnedCAAlone(t *testing.T) {
	now := time.Now()
	ca, other := newAuthority(t), newAuthority(t)
	template := func(name string, notBefore time.Time) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(4), DNSNames: []string{name}, NotBefore: notBefore,
			NotAfter:    now.Add(time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	}
	key := newKey(t)
	leaf := sign(t, template(serverName, now.Add(-time.Minute)), ca.certificate, key, ca.key)
	// Dated back to before its CA was made.
	older := sign(t, template(serverName, now.Add(-48*time.Hour)), ca.certificate, key, ca.key)
	otherName := sign(t, template("elsewhere.internal", now.Add(-time.Minute)), ca.certificate, key, ca.key)
	forClients := sign(t,
		&x509.Certificate{SerialNumber: big.NewInt(5), DNSNames: []string{serverName}, NotBefore: now.Add(-time.Minute),
			NotAfter:    now.Add(time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca.certificate, key, ca.key)
	between := newKey(t)
	intermediate := sign(t,
		&x509.Certificate{SerialNumber: big.NewInt(6), Subject: pkix.Name{CommonName: "between"},
			NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, ca.certificate, between, ca.key)
	below := sign(t, template(serverName, now.Add(-time.Minute)), intermediate, key, between)
	stolen := sign(t, template(serverName, now.Add(-time.Minute)), other.certificate, key, other.key)

	document := Document{ManagerURL: "https://127.0.0.1", ServerName: serverName,
		CAFingerprint: Fingerprint(ca.certificate)}
	for name, test := range map[string]struct {
		chain   []*x509.Certificate
		refused string // "": trusted
	}{
		"the CA is last":                   {[]*x509.Certificate{leaf, ca.certificate}, ""},
		"the CA isn't last":                {[]*x509.Certificate{leaf, ca.certificate, other.certificate}, ""},
		"an intermediate between":          {[]*x509.Certificate{below, intermediate, ca.certificate}, ""},
		"a leaf that begins before its CA": {[]*x509.Certificate{older, ca.certificate}, ""},
		"the CA was left out":              {[]*x509.Certificate{leaf}, "no CA with the fingerprint"},
		"another CA": {[]*x509.Certificate{stolen, other.certificate},
			"no CA with the fingerprint"},
		"another CA's leaf, with ours beside it": {[]*x509.Certificate{stolen, other.certificate, ca.certificate},
			"unknown authority"},
		"a server of another name":          {[]*x509.Certificate{otherName, ca.certificate}, "not " + serverName},
		"a client's certificate":            {[]*x509.Certificate{forClients, ca.certificate}, "usage"},
		"an intermediate that was left out": {[]*x509.Certificate{below, ca.certificate}, "unknown authority"},
		"no certificate":                    {nil, "sent no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, checkTime := range []bool{false, true} {
				err := TLSConfig(document, checkTime).VerifyConnection(tls.ConnectionState{PeerCertificates: test.chain})
				switch {
				case test.refused == "" && err != nil:
					t.Errorf("with the clock read %v it was refused: %v", checkTime, err)
				case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
					t.Errorf("with the clock read %v: got %v, wanted a refusal that says %q", checkTime, err, test.refused)
				}
			}
		})
	}
}

func TestTheConfigurationsOwnClockIsReadWhereItHasOne(t *testing.T) {
	ca := newAuthority(t)
	key, now := newKey(t), time.Now()
	leaf := sign(t,
		&x509.Certificate{SerialNumber: big.NewInt(7), DNSNames: []string{serverName}, NotBefore: now.Add(-time.Hour),
			NotAfter:    now.Add(time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, ca.certificate, key, ca.key)
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf, ca.certificate}}
	config := TLSConfig(Document{ServerName: serverName, CAFingerprint: Fingerprint(ca.certificate)}, true)
	if err := config.VerifyConnection(state); err != nil {
		t.Error(err)
	}
	config.Time = func() time.Time { return now.Add(2 * time.Hour) }
	if err := config.VerifyConnection(state); err == nil {
		t.Error("a certificate that is expired by the configuration's clock was trusted")
	}
}
