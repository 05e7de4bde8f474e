package metadata

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/testonly/metadatafake"
)

const awsIdentity = "/latest/dynamic/instance-identity/"

func TestIdentityDocumentIsReadByteForByte(t *testing.T) {
	document := " {\n  \"instanceId\" : \"i-1\"\n}\n"
	m, url := metadatafake.Start(
		t,
		map[string]string{awsIdentity + "document": document, awsIdentity + "rsa2048": "c2lnbmVk\n"},
	)
	service := NewClient(Service{"aws", url})
	for range 2 {
		got, err := service.Evidence(t.Context())
		if err != nil || got.Kind != "aws" || string(got.Document) != document || string(got.Signature) != "c2lnbmVk\n" {
			t.Errorf("%+v, %v", got, err)
		}
		m.Set(func() { m.Token = "another token" })
	}
}

func TestPlatformsThatSignNothingAreNotAsked(t *testing.T) {
	m, url := metadatafake.Start(t, nil)
	for name, c := range map[string]*Client{"no platform": nil, "gcp": NewClient(Service{"gcp", url}),
		"azure": NewClient(Service{"azure", url})} {
		if got, err := c.Evidence(t.Context()); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	m.Set(func() {
		if len(m.Asked) > 0 {
			t.Errorf("asked: %q", m.Asked)
		}
	})
}

func TestUnreadableIdentityDocumentNamesTheService(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"there is none":    http.NotFound,
		"one half is lost": half(awsIdentity + "rsa2048"),
		"it has no end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat("a", 1<<20)))
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		},
		"no token is taken": func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut {
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(serve)
			defer server.Close()
			got, err := NewClient(Service{"aws", server.URL}).Evidence(t.Context())
			if got != nil || err == nil || !strings.Contains(err.Error(), server.URL) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// half serves everything but one path.
func half(without string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == without {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("x"))
	}
}
