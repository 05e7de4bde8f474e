//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
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

func TestALogLineIsUnderstoodOrShownAsItIs(t *testing.T) {
	for line, want := range map[string]string{
		`{"@level":"warn","@message":"slow","@module":"aws","n":1,"@timestamp":"2026-01-02T03:04:05.000000Z"}`: `level=WARN msg=slow module=aws n=1`,
		`{"@message":"odd level","@level":{}}`: `level=DEBUG msg="odd level"`,
		`{"@message":1}`:                       `level=DEBUG msg="{\"@message\":1}"`,
		`plain`:                                `level=DEBUG msg=plain`,
		`panic: oh`:                            `level=ERROR msg="panic: oh"`,
		"a\x1b[2Jb\xff":                        `level=DEBUG msg="a�[2Jb�"`,
	} {
		var out strings.Builder
		logger := slog.New(
			slog.NewTextHandler(
				&out,
				&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}},
			),
		)
		newPluginLog(logger, &redactor{}).line([]byte(line), false)
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("%q\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestOnlyTheLastLogLinesAreKept(t *testing.T) {
	log := newPluginLog(slog.New(slog.DiscardHandler), &redactor{})
	for range 100 {
		log.line([]byte(strings.Repeat("x", 2*maxLastLine)), false)
	}
	log.line([]byte("the end"), false)
	last := log.lastLines()
	if lines := strings.Count(
		last,
		"\n    ",
	); lines != lastLineCount || !strings.Contains(last, "the end") ||
		len(last) > lastLineCount*(maxLastLine+50) {
		t.Errorf("%d lines, %d bytes", lines, len(last))
	}
}

func TestTheHandshakeIsFoundInNoise(t *testing.T) {
	for stdout, want := range map[string]string{
		"1|1|unix|/s|grpc|cert\n":                                "1|1|unix|/s|grpc|cert\n",
		"hello\n\x1b[0m1|1|tcp|127.0.0.1:1|grpc|\r\nmore\n":      "1|1|tcp|127.0.0.1:1|grpc|\n",
		strings.Repeat("x", 100<<10) + "\n1|1|unix|/s|grpc|\n":   "1|1|unix|/s|grpc|\n",
		"1|1|unix|/first|grpc|\n1|1|unix|/second|grpc|\nrubbish": "1|1|unix|/first|grpc|\n",
		"1|1|unix|/s|grpc|":                                      "1|1|unix|/s|grpc|\n",
		"a|b|c|d\n":                                              "",
		"":                                                       "",
	} {
		if got := filter(t, []byte(stdout)); got != want {
			t.Errorf("%.60q gives %q, want %q", stdout, got, want)
		}
	}
}

// filter runs a plugin's standard output through the filter of the handshake.
func filter(t testing.TB, stdout []byte) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer write.Close()
		write.Write(stdout)
	}()
	p := newProgram(Launch{}.withDefaults(), nil, nil, &redactor{})
	close(p.exited)
	passed, handshake := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.readStdout(read, handshake)
	}()
	got := must(io.ReadAll(passed))
	<-done // everything was read
	return string(got)
}

func FuzzLogLine(f *testing.F) {
	for _, seed := range []string{`{"@message":1}`, `{"@message":"a","@level":"info","k":[1]}`, "panic: x", "", "\xff{",
		`{"@message":"\u001b"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		log := newPluginLog(slog.New(slog.DiscardHandler), &redactor{})
		log.line(line, len(line)%2 == 0)
		if last := log.lastLines(); strings.ContainsAny(last, "\x1b\r\x00") {
			t.Errorf("%q is not clean", last)
		}
	})
}

func FuzzHandshake(f *testing.F) {
	for _, seed := range []string{"1|1|unix|/s|grpc|c\n", "x\n1|1|tcp|a|\n", "\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		if got := filter(t, stdout); got != "" && (strings.Count(got, "\n") != 1 || strings.Count(got, "|") < 3) {
			t.Errorf("%q passed", got)
		}
	})
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
