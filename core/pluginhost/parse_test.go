//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

func TestASchemaThatNoFileCouldBeReadByIsRefused(t *testing.T) {
	text := &providerpb.Type{Kind: providerpb.Type_KIND_STRING}
	for name, test := range map[string]struct {
		corrupt func(*providerpb.GetInfoResponse)
		want    []string
	}{
		"no name": {func(r *providerpb.GetInfoResponse) { r.Name = "" }, []string{`the name ""`}},
		"an attribute without a type": {func(r *providerpb.GetInfoResponse) { r.ProviderSchema.Attributes[0].Type = nil },
			[]string{"provider block: region", "KIND_UNSPECIFIED"}},
		"a type of the future": {func(r *providerpb.GetInfoResponse) {
			r.InstanceSchema.Attributes[1].Type.Element = &providerpb.Type{Kind: 42}
		}, []string{"instance block: labels: element", "42", "unknown to this version"}},
		"a name used twice": {func(r *providerpb.GetInfoResponse) { r.InstanceSchema.Blocks[0].Name = "size" },
			[]string{`"size" is used twice`}},
		"a name that can't be written": {func(r *providerpb.GetInfoResponse) {
			r.InstanceSchema.Blocks[0].Schema.Attributes = append(r.InstanceSchema.Blocks[0].Schema.Attributes,
				&providerpb.Attribute{Name: "a b", Type: text})
		}, []string{`disk: "a b"`}},
		"a default that isn't JSON": {func(r *providerpb.GetInfoResponse) {
			r.InstanceSchema.Attributes[0].DefaultJson = "{"
		},
			[]string{"size", "not JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			response := testInfo()
			test.corrupt(response)
			_, err := infoOf(response)
			wantError(t, err, test.want...)
			_, err = DecodeInfo(must(protojson.Marshal(response)))
			wantError(t, err, append(test.want, "cached plugin description")...)
		})
	}
}

func TestWhatAPluginLeavesOpenIsReadAsTheLeast(t *testing.T) {
	info, err := infoOf(&providerpb.GetInfoResponse{Name: "x", ListSettle: durationpb.New(-time.Second), Idempotency: 77})
	if err != nil {
		t.Fatal(err)
	}
	if info.Idempotency != fleet.IdempotencyNone || info.Ownership != fleet.OwnershipNone || info.ListSettle != 0 {
		t.Errorf("%+v", info)
	}
}

func TestACacheOfALaterVersionIsReadable(t *testing.T) {
	info, err := DecodeInfo([]byte(`{"name":"x","invented_later":{"a":[1]}}`))
	if err != nil || info.Schemas.Name != "x" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestEveryErrorHasAClass(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want fleet.ErrorClass
	}{
		"an auth error": {withDetail(codes.Unknown, &providerpb.Error{Class: providerpb.Error_CLASS_AUTH}),
			fleet.ErrorAuth},
		"an unset class":                  {withDetail(codes.Unknown, &providerpb.Error{}), fleet.ErrorTransient},
		"a class of the future":           {withDetail(codes.Unknown, &providerpb.Error{Class: 99}), fleet.ErrorTransient},
		"a bare status":                   {status.Error(codes.PermissionDenied, "no"), fleet.ErrorTransient},
		"a broken connection":             {status.Error(codes.Unavailable, "EOF"), fleet.ErrorTransient},
		"a deadline":                      {context.DeadlineExceeded, fleet.ErrorTransient},
		"any other error":                 {io.ErrUnexpectedEOF, fleet.ErrorTransient},
		"one that is classified, wrapped": {errors.Join(&CallError{Class: fleet.ErrorQuota}), fleet.ErrorQuota},
	} {
		t.Run(name, func(t *testing.T) {
			got := classify(test.err)
			if got.Class != test.want {
				t.Errorf("class %s, want %s", got.Class, test.want)
			}
			if got.Advice() == "" {
				t.Error("no advice")
			}
		})
	}
}

func FuzzDecodeInfo(f *testing.F) {
	f.Add(must(protojson.Marshal(testInfo())))
	f.Add([]byte(`{"name":"x","provider_schema":{"blocks":[{"name":"a"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		info, err := DecodeInfo(raw)
		if err != nil {
			return
		}
		again, err := DecodeInfo(info.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if fleet.Digest(again.Schemas) != fleet.Digest(info.Schemas) {
			t.Error("the cache changes the schemas")
		}
	})
}
