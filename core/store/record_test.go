package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/google/go-cmp/cmp"
)

// filler gives every field of a record a value of its own, so that a field that
// is forgotten or mixed up with another is seen. A kind that it doesn't know
// fails the test: then the field's author says how it is filled.
type filler struct {
	t    *testing.T
	next int
}

func (f *filler) fill(v reflect.Value) {
	f.next++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(now.Add(time.Duration(f.next) * time.Second)))
		return
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, f.next))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text <%d>", f.next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.next))
	case reflect.Float64:
		v.SetFloat(float64(f.next) + 0.125)
	case reflect.Uint8:
		v.SetUint(uint64(f.next % 256))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Interface:
		v.Set(reflect.ValueOf(reason.StoredText{Words: fmt.Sprint("note ", f.next)}))
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		f.t.Fatalf("no way to fill a %s", v.Type())
	}
}

// filledRecord is a T with all of its fields set.
func filledRecord[T any](t *testing.T) (value T) {
	(&filler{t: t}).fill(reflect.ValueOf(&value).Elem())
	return value
}

// filledRecords are records that fill every field and refer to each other.
func filledRecords(t *testing.T) (fleet.Definition, fleet.ManagedFleet, Change, fleet.Runner) {
	managed, instance := filledRecord[fleet.ManagedFleet](t), filledRecord[fleet.CapacityInstance](t)
	operation, runner, decision := filledRecord[fleet.Operation](
		t,
	), filledRecord[fleet.Runner](
		t,
	), filledRecord[fleet.Decision](
		t,
	)
	instance.Fleet, operation.Fleet, runner.Fleet, decision.Fleet = managed.ID, managed.ID, managed.ID, managed.ID
	operation.Instance, runner.Instance, runner.Operation = instance.ID, instance.ID, operation.ID
	rollout := filledRecord[fleet.Rollout](t)
	rollout.Fleet = managed.ID
	managed.Serial = 1 // the store sets it
	return filledRecord[fleet.Definition](t), managed, Change{
		Instances: []fleet.CapacityInstance{instance},
		Operations: []fleet.Operation{
			operation,
		},
		Decisions: []fleet.Decision{decision},
		Rollouts:  []fleet.Rollout{rollout},
	}, runner
}

func everyFieldComesBack(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	definition, managed, c, runner := filledRecords(t)
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{Definition: definition, At: now, By: "ada", Fleets: []fleet.ManagedFleet{managed}},
	)
	must(t, err)
	must(t, s.Commit(t.Context(), c))
	must(t, s.Enroll(t.Context(), runner, hashOf(c, runner.Operation)))
	state, err := s.Load(t.Context())
	must(t, err)
	want := snapshot.State{
		Serial:       1,
		Providers:    definition.Providers,
		Reservations: definition.Reservations,
		Policy:       definition.Policy,
		Fleets:       []fleet.ManagedFleet{managed},
		Instances:    c.Instances,
		Operations:   c.Operations,
		Runners:      []fleet.Runner{runner},
		Rollouts:     map[fleet.RunnerFleetID]fleet.Rollout{managed.ID: c.Rollouts[0]},
	}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Error(diff)
	}
	applied, _, err := s.Definition(t.Context())
	must(t, err)
	if diff := cmp.Diff(definition, applied.Definition); diff != "" {
		t.Error(diff)
	}
	decisions, err := s.Decisions(t.Context(), managed.ID, 0)
	must(t, err)
	if diff := cmp.Diff(c.Decisions, decisions); diff != "" {
		t.Error(diff)
	}
}

// A changed byte would change a digest and replace machines, or send another
// request under the same key.
func bytesAreKept(t *testing.T, location string) {
	s := applied(t, open(t, location))
	body := json.RawMessage("{\"script\":\"a<b && c>d \u2028 \\u003c é\"}")
	declared := managed(1)
	declared.Instance, declared.Immutable = body, body
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 1, Definition: fleet.Definition{Providers: []fleet.Provider{{Config: body}}},
			Fleets: []fleet.ManagedFleet{declared}},
	)
	must(t, err)
	c := change(1, 1)
	c.Operations[0].Request = json.RawMessage(" { \"spaced\" : \"<&>\u2029\" } \n")
	must(t, s.Commit(t.Context(), c))
	state, err := s.Load(t.Context())
	must(t, err)
	for name, pair := range map[string][2]json.RawMessage{
		"provider config": {body, state.Providers[0].Config},
		"instance body":   {body, state.Fleets[0].Instance},
		"immutable part":  {body, state.Fleets[0].Immutable},
		"request":         {c.Operations[0].Request, state.Operations[0].Request},
	} {
		if string(pair[0]) != string(pair[1]) {
			t.Errorf("%s: kept %q, got %q", name, pair[0], pair[1])
		}
	}
	if state.Fleets[0].InstanceDigest() != declared.InstanceDigest() {
		t.Error("the instance digest changed")
	}
}

func anyBytesFromOutsiders(t *testing.T, location string) {
	const outsider, kept = "a\x00b\xffc", "a\x00b\uFFFDc"
	s := claim(t, open(t, location), outsider)
	_, err := s.ApplyDefinition(t.Context(), Apply{By: outsider, At: now, Fleets: []fleet.ManagedFleet{managed(1)}})
	must(t, err)
	must(t, s.SetSetting(t.Context(), "name", outsider))
	c := change(1, 1)
	c.Instances[0].Reason, c.Operations[0].Reason = reason.Plain(outsider), reason.Plain(outsider)
	must(t, s.Commit(t.Context(), c))
	runner := enrolled(1)
	runner.Report.LastExit = outsider
	must(t, s.Enroll(t.Context(), runner, hashOf(c, runner.Operation)))
	state, err := s.Load(t.Context())
	must(t, err)
	for _, got := range []string{state.Instances[0].Reason.Text(), state.Operations[0].Reason.Text(),
		state.Runners[0].Report.LastExit} {
		if got != kept {
			t.Errorf("got %q, want %q", got, kept)
		}
	}
	if _, found, err := s.RunnerSubject(t.Context(), outsider); err != nil || found {
		t.Errorf("an id that isn't text: found %v, error %v", found, err)
	}
}

// hashOf is the hash of the token of an operation in a change.
func hashOf(c Change, id fleet.OperationID) string {
	for _, op := range c.Operations {
		if op.ID == id {
			return op.TokenHash
		}
	}
	return ""
}
