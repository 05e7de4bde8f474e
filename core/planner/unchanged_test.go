package planner

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// stored is an input with the rows of its instances, and with what their scheduler
// shows: what Plan is given where a manager runs.
func (in input) stored() snapshot.Snapshot {
	s := in.snapshot()
	s.Usage, s.Failures = map[fleet.CapacityInstanceID]snapshot.Usage{}, map[fleet.CapacityInstanceID]reason.Reason{}
	for _, i := range in.Instances {
		s.Instances = append(s.Instances, i.CapacityInstance)
		s.Usage[i.ID] = snapshot.Usage{Leases: i.Leases, IdleSince: i.IdleSince}
		if !i.Failure.IsZero() {
			s.Failures[i.ID] = i.Failure
		}
	}
	return s
}

// copied is a value that shares no memory with another one, as far as its fields are
// exported.
func copied(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch {
	case v.Kind() == reflect.Struct:
		for n := range v.NumField() {
			if v.Type().Field(n).IsExported() {
				out.Field(n).Set(copied(v.Field(n)))
			}
		}
	case v.Kind() == reflect.Slice && !v.IsNil():
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for n := range v.Len() {
			out.Index(n).Set(copied(v.Index(n)))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(v.Type()))
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, copied(v.MapIndex(key)))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(copied(v.Elem()))
	}
	return out
}

func TestPlanDoesNotChangeItsSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawEverything(t).stored()
		before := copied(reflect.ValueOf(s)).Interface().(snapshot.Snapshot)
		Plan(s)
		if !reflect.DeepEqual(before, s) {
			t.Fatalf("the plan changed what it was made from (-before +after):\n%s", cmp.Diff(before, s))
		}
	})
}
