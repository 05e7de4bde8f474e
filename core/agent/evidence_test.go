package agent

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const awsIdentity = "/latest/dynamic/instance-identity/"

func TestTheDocumentIsReadByteForByteWithANewTokenWhereOneIsWanted(t *testing.T) {
	document := " {\n  \"instanceId\" : \"i-1\"\n}\n"
	m, url := playMetadata(t, map[string]string{awsIdentity + "document": document, awsIdentity + "rsa2048": "c2lnbmVk\n"})
	service := newMetadataService(Metadata{"aws", url})
	for range 2 {
		got, err := evidence(t.Context(), service)
		if err != nil || got.Kind != "aws" || string(got.Document) != document || string(got.Signature) != "c2lnbmVk\n" {
			t.Errorf("%+v, %v", got, err)
		}
		m.set(func() { m.token = "another token" })
	}
}

func TestAHostWithoutAPlatformThatSignsAsksNobody(t *testing.T) {
	m, url := playMetadata(t, nil)
	for name, c := range map[string]*metadataService{"no platform": nil, "gcp": newMetadataService(Metadata{"gcp", url}), "azure": newMetadataService(Metadata{"azure", url})} {
		if got, err := evidence(t.Context(), c); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	m.set(func() {
		if len(m.asked) > 0 {
			t.Errorf("asked: %q", m.asked)
		}
	})
}

func TestADocumentThatCannotBeReadIsNoEvidenceAndNamesThePlace(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"there is none":    http.NotFound,
		"one half is lost": half(awsIdentity + "rsa2048"),
		"it has no end":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("a", 1<<20))) },
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
			got, err := evidence(t.Context(), newMetadataService(Metadata{"aws", server.URL}))
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
