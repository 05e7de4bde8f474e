package reason

import (
	"reflect"
	"strings"
	"unicode"
)

// Group is the reasons about one noun.
type Group struct {
	Title string
	// Examples has one of each kind, with parameters that show what it can say.
	Examples []Detail
}

// Groups lists every kind of reason that there is.
func Groups() []Group {
	return []Group{
		{"Size of a fleet", sizeReasons},
		{"Idle runners", warmReasons},
		{"Forecasts", forecastReasons},
		{"What keeps instances from starting", limitReasons},
		{"What holds a fleet back", holdReasons},
		{"Costs", costReasons},
		{"Offers", offerReasons},
		{"What keeps instances from leaving", excessReasons},
		{"What happens to instances", actionReasons},
		{"Moves of instances", instanceReasons},
		{"Proof that an instance has no job", idleReasons},
		{"Why an instance is left alone", conflictReasons},
		{"Calls to providers", operationReasons},
		{"Admission", admissionReasons},
		{"What can't be observed", observationReasons},
		{"Whose a resource is", ownershipReasons},
		{"Orders of people", orderReasons},
		{"Outdated instances", driftReasons},
		{"Queued jobs", queuedReasons},
		{"Rollouts", rolloutReasons},
		{"What people decided", overrideReasons},
		{"Reservations", reservationReasons},
		{"Health", healthReasons},
		{"Stored by an earlier version", storedReasons},
	}
}

// kinds are the types by their codes, and codes the reverse.
var (
	kinds = map[Code]reflect.Type{}
	codes = map[reflect.Type]Code{}
)

func init() {
	for _, g := range Groups() {
		for _, d := range g.Examples {
			kind := reflect.TypeOf(d)
			code := Code(snakeCase(kind.Name()))
			kinds[code], codes[kind] = kind, code
		}
	}
}

// codeOf is the code of a detail.
func codeOf(d Detail) Code {
	if u, unknown := d.(Unknown); unknown {
		return u.OtherCode
	}
	kind := reflect.TypeOf(d)
	if code, known := codes[kind]; known {
		return code
	}
	return Code(snakeCase(kind.Name()))
}

// snakeCase is a type's name as a code: "LimitedByMax" is "limited_by_max".
func snakeCase(name string) string {
	var out strings.Builder
	for n, letter := range name {
		if unicode.IsUpper(letter) && n > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
}
