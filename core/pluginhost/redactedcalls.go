package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
)

// answerRedactor hides secrets in the answers and errors of calls. It stands where they
// come in, so that nothing behind it has to think of secrets.
type answerRedactor struct{ *pluginlog.Redactor }

// unary redacts the answers of calls with one answer.
func (r answerRedactor) unary(
	ctx context.Context,
	method string,
	request, reply any,
	conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	if err := invoke(ctx, method, request, reply, conn, options...); err != nil {
		return r.failure(err)
	}
	return r.answer(reply)
}

// streaming redacts the answers of calls with many.
func (r answerRedactor) streaming(
	ctx context.Context,
	description *grpc.StreamDesc,
	conn *grpc.ClientConn,
	method string,
	open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, description, conn, method, options...)
	if err != nil {
		return nil, r.failure(err)
	}
	return redactedStream{stream, r}, nil
}

type redactedStream struct {
	grpc.ClientStream
	redactor answerRedactor
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
func (r answerRedactor) failure(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		if hidden := r.Redact(err.Error()); hidden != err.Error() {
			return errors.New(hidden)
		}
		return err
	}
	told := s.Proto()
	redacted := proto.CloneOf(told)
	redacted.Message, redacted.Details = r.Redact(told.GetMessage()), nil
	for _, detail := range told.GetDetails() {
		message, err := detail.UnmarshalNew()
		if err != nil || r.message(message.ProtoReflect()) != nil {
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
func (r answerRedactor) answer(reply any) error {
	message, ok := reply.(proto.Message)
	if !ok {
		return nil
	}
	if err := r.message(message.ProtoReflect()); err != nil {
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

func (r answerRedactor) message(m protoreflect.Message) (failed error) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			failed = r.entries(field, value.Map())
		case field.IsList():
			failed = r.elements(field, value.List())
		default:
			var redacted protoreflect.Value
			if redacted, failed = r.value(field, value); failed == nil {
				m.Set(field, redacted)
			}
		}
		return failed == nil
	})
	return failed
}

func (r answerRedactor) elements(field protoreflect.FieldDescriptor, list protoreflect.List) error {
	for i := range list.Len() {
		redacted, err := r.value(field, list.Get(i))
		if err != nil {
			return err
		}
		list.Set(i, redacted)
	}
	return nil
}

func (r answerRedactor) entries(field protoreflect.FieldDescriptor, entries protoreflect.Map) error {
	type entry struct{ was, key, value protoreflect.Value }
	var all []entry
	var failed error
	entries.Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
		one := entry{was: key.Value()}
		if one.key, failed = r.value(field.MapKey(), key.Value()); failed == nil {
			one.value, failed = r.value(field.MapValue(), value)
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
func (r answerRedactor) value(
	field protoreflect.FieldDescriptor, value protoreflect.Value,
) (protoreflect.Value, error) {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return value, r.message(value.Message())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(r.Redact(string(value.Bytes())))), nil
	case protoreflect.StringKind:
		redacted := r.Redact(value.String())
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
