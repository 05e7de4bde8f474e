package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// redactor hides what a plugin was given in secret from all that the plugin says:
// answers, errors, log lines. It stands where the plugin's words come in, so that
// nothing behind it has to think of secrets. A plugin that means to can still
// get one past it, by writing it in a way of its own.
type redactor struct{ secrets secret.Redactor }

// enrollmentToken is the form of the tokens in bootstrap documents. What follows
// the operation's id is secret.
var enrollmentToken = regexp.MustCompile(`(fyt1\.[0-9A-Za-z]{26}\.)[a-z2-7]{52}`)

const enrollmentTokenPrefix = "fyt1."

// learn makes secrets known, before the plugin gets them. It returns how many are
// too short to be hidden.
func (c *redactor) learn(secrets []string) (tooShort int) {
	tooShort = c.secrets.Add(secrets...)
	for _, one := range secrets {
		c.secrets.Add(printable(one)) // as it stands in what was made printable
	}
	return tooShort
}

func (c *redactor) redact(text string) string {
	text = c.secrets.Redact(text)
	if strings.Contains(text, enrollmentTokenPrefix) {
		text = enrollmentToken.ReplaceAllString(text, "${1}"+secret.Redacted)
	}
	return text
}

// cut takes from a text that ends too early what may be the beginning of a secret.
func (c *redactor) cut(text []byte) []byte { return text[:max(0, len(text)-c.secrets.Longest())] }

// unary redacts the answers of calls with one answer.
func (c *redactor) unary(
	ctx context.Context,
	method string,
	request, reply any,
	conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	if err := invoke(ctx, method, request, reply, conn, options...); err != nil {
		return c.failure(err)
	}
	return c.answer(reply)
}

// streaming redacts the answers of calls with many.
func (c *redactor) streaming(
	ctx context.Context,
	description *grpc.StreamDesc,
	conn *grpc.ClientConn,
	method string,
	open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, description, conn, method, options...)
	if err != nil {
		return nil, c.failure(err)
	}
	return redactedStream{stream, c}, nil
}

type redactedStream struct {
	grpc.ClientStream
	redactor *redactor
}

func (s redactedStream) RecvMsg(message any) error {
	switch err := s.ClientStream.RecvMsg(message); {
	case errors.Is(err, io.EOF):
		return err
	case err != nil:
		return s.redactor.failure(err)
	}
	return s.redactor.answer(message)
}

// failure is the error of a call. One that shows nothing stays as it is.
func (c *redactor) failure(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		if hidden := c.redact(err.Error()); hidden != err.Error() {
			return errors.New(hidden)
		}
		return err
	}
	told := s.Proto()
	redacted := proto.CloneOf(told)
	redacted.Message, redacted.Details = c.redact(told.GetMessage()), nil
	for _, detail := range told.GetDetails() {
		message, err := detail.UnmarshalNew()
		if err != nil || c.message(message.ProtoReflect()) != nil {
			continue // what can't be read isn't understood by anybody else either
		}
		if again, err := anypb.New(message); err == nil {
			redacted.Details = append(redacted.Details, again)
		}
	}
	if proto.Equal(told, redacted) {
		return err
	}
	return status.FromProto(redacted).Err()
}

// answer redacts a message in place.
func (c *redactor) answer(reply any) error {
	message, ok := reply.(proto.Message)
	if !ok {
		return nil
	}
	if err := c.message(message.ProtoReflect()); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// identities name things: with a part of one hidden, the manager would ask for
// what doesn't exist, or take two things for one. An answer with a secret in them
// is discarded, and its outcome is unknown.
var identities = map[protoreflect.FullName]string{
	"forgeyard.fleet.provider.v1.Resource.id":                    "the id of a resource",
	"forgeyard.fleet.provider.v1.Resource.key":                   "the key of a resource",
	"forgeyard.fleet.provider.v1.Resource.belongs_to":            "the owner of a resource",
	"forgeyard.fleet.provider.v1.InspectResponse.absent_keys":    "a key",
	"forgeyard.fleet.provider.v1.InspectResponse.in_flight_keys": "a key",
	"forgeyard.fleet.provider.v1.ProvisionResponse.key":          "a key",
	"forgeyard.fleet.provider.v1.TerminateResponse.id":           "the id of a resource",
	"forgeyard.fleet.provider.v1.TerminateResponse.key":          "a key",
	"forgeyard.fleet.provider.v1.WatchResponse.event_id":         "the id of an event",
	"forgeyard.fleet.provider.v1.WatchResponse.instance_id":      "the id of a resource",
	"forgeyard.fleet.provider.v1.ConfigureResponse.account":      "the account",
}

func (c *redactor) message(m protoreflect.Message) (failed error) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			failed = c.entries(field, value.Map())
		case field.IsList():
			failed = c.elements(field, value.List())
		default:
			var redacted protoreflect.Value
			if redacted, failed = c.value(field, value); failed == nil {
				m.Set(field, redacted)
			}
		}
		return failed == nil
	})
	return failed
}

func (c *redactor) elements(field protoreflect.FieldDescriptor, list protoreflect.List) error {
	for i := range list.Len() {
		redacted, err := c.value(field, list.Get(i))
		if err != nil {
			return err
		}
		list.Set(i, redacted)
	}
	return nil
}

func (c *redactor) entries(field protoreflect.FieldDescriptor, entries protoreflect.Map) error {
	type entry struct{ was, key, value protoreflect.Value }
	var all []entry
	var failed error
	entries.Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
		one := entry{was: key.Value()}
		if one.key, failed = c.value(field.MapKey(), key.Value()); failed == nil {
			one.value, failed = c.value(field.MapValue(), value)
		}
		all = append(all, one)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	for _, one := range all {
		entries.Clear(one.was.MapKey())
	}
	for _, one := range all {
		entries.Set(one.key.MapKey(), one.value)
	}
	return nil
}

// value redacts one value; only texts and messages change.
func (c *redactor) value(field protoreflect.FieldDescriptor, value protoreflect.Value) (protoreflect.Value, error) {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return value, c.message(value.Message())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(c.redact(string(value.Bytes())))), nil
	case protoreflect.StringKind:
		redacted := c.redact(value.String())
		if what := identities[field.FullName()]; what != "" && redacted != value.String() {
			return value, fmt.Errorf(
				"the plugin puts a secret that it was given into %s, which would be stored and shown; this is for the plugin's "+
					"author to mend, or the secret is a common word and needs to be exchanged",
				what,
			)
		}
		return protoreflect.ValueOfString(redacted), nil
	}
	return value, nil
}

// redactedLog is a log handler that shows nothing of the redacted secrets,
// whatever is logged.
type redactedLog struct {
	slog.Handler
	redactor *redactor
}

func (h redactedLog) Handle(ctx context.Context, record slog.Record) error {
	redacted := slog.NewRecord(record.Time, record.Level, h.redactor.redact(record.Message), record.PC)
	record.Attrs(func(attribute slog.Attr) bool {
		redacted.AddAttrs(h.attribute(attribute))
		return true
	})
	return h.Handler.Handle(ctx, redacted)
}

func (h redactedLog) WithAttrs(attributes []slog.Attr) slog.Handler {
	redacted := make([]slog.Attr, len(attributes))
	for i, attribute := range attributes {
		redacted[i] = h.attribute(attribute)
	}
	return redactedLog{h.Handler.WithAttrs(redacted), h.redactor}
}

func (h redactedLog) WithGroup(name string) slog.Handler {
	return redactedLog{h.Handler.WithGroup(name), h.redactor}
}

func (h redactedLog) attribute(a slog.Attr) slog.Attr {
	a.Key, a.Value = h.redactor.redact(a.Key), a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.redactor.redact(a.Value.String()))
	case slog.KindGroup:
		var redacted []slog.Attr
		for _, inner := range a.Value.Group() {
			redacted = append(redacted, h.attribute(inner))
		}
		a.Value = slog.GroupValue(redacted...)
	case slog.KindAny:
		if text := fmt.Sprint(a.Value.Any()); h.redactor.redact(text) != text {
			a.Value = slog.StringValue(h.redactor.redact(text))
		}
	}
	return a
}
