package expression

import (
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are the ones that Terraform users expect and that need nothing but
// their arguments. Functions that make much out of little (range, setproduct,
// indent) and decoders of text are left out: a fleet file has no use for them.
var functions = map[string]function.Function{
	"abs":             stdlib.AbsoluteFunc,
	"can":             tryfunc.CanFunc,
	"ceil":            stdlib.CeilFunc,
	"chomp":           stdlib.ChompFunc,
	"chunklist":       stdlib.ChunklistFunc,
	"coalesce":        stdlib.CoalesceFunc,
	"coalescelist":    stdlib.CoalesceListFunc,
	"compact":         stdlib.CompactFunc,
	"concat":          stdlib.ConcatFunc,
	"contains":        stdlib.ContainsFunc,
	"distinct":        stdlib.DistinctFunc,
	"element":         stdlib.ElementFunc,
	"flatten":         stdlib.FlattenFunc,
	"floor":           stdlib.FloorFunc,
	"format":          formatFunc,
	"join":            stdlib.JoinFunc,
	"jsonencode":      stdlib.JSONEncodeFunc,
	"keys":            stdlib.KeysFunc,
	"length":          stdlib.LengthFunc,
	"lookup":          stdlib.LookupFunc,
	"lower":           stdlib.LowerFunc,
	"max":             stdlib.MaxFunc,
	"merge":           stdlib.MergeFunc,
	"min":             stdlib.MinFunc,
	"parseint":        stdlib.ParseIntFunc,
	"regex":           stdlib.RegexFunc,
	"regexall":        stdlib.RegexAllFunc,
	"replace":         stdlib.ReplaceFunc,
	"reverse":         stdlib.ReverseListFunc,
	"setintersection": stdlib.SetIntersectionFunc,
	"setsubtract":     stdlib.SetSubtractFunc,
	"setunion":        stdlib.SetUnionFunc,
	"secret":          secretFunc,
	"signum":          stdlib.SignumFunc,
	"slice":           stdlib.SliceFunc,
	"sort":            stdlib.SortFunc,
	"split":           stdlib.SplitFunc,
	"strlen":          stdlib.StrlenFunc,
	"strrev":          stdlib.ReverseFunc,
	"substr":          stdlib.SubstrFunc,
	"title":           stdlib.TitleFunc,
	"tobool":          conversion(cty.Bool),
	"tolist":          conversion(cty.List(cty.DynamicPseudoType)),
	"tomap":           conversion(cty.Map(cty.DynamicPseudoType)),
	"tonumber":        conversion(cty.Number),
	"toset":           conversion(cty.Set(cty.DynamicPseudoType)),
	"tostring":        conversion(cty.String),
	"trim":            stdlib.TrimFunc,
	"trimprefix":      stdlib.TrimPrefixFunc,
	"trimspace":       stdlib.TrimSpaceFunc,
	"trimsuffix":      stdlib.TrimSuffixFunc,
	"try":             tryfunc.TryFunc,
	"upper":           stdlib.UpperFunc,
	"values":          stdlib.ValuesFunc,
	"zipmap":          stdlib.ZipmapFunc,
}

// conversion is a function that converts its argument, as toset does.
func conversion(want cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if element, alike := elementTypeOf(args[0]); alike && want.IsSetType() {
				return cty.Set(element), nil
			} else if alike && want.IsListType() {
				return cty.List(element), nil
			}
			converted, err := convert.Convert(args[0], want)
			if err != nil {
				return cty.NilType, function.NewArgError(0, err)
			}
			return converted.Type(), nil
		},
		Impl: func(args []cty.Value, result cty.Type) (cty.Value, error) {
			if _, alike := elementTypeOf(args[0]); alike && want.IsSetType() {
				return cty.SetVal(args[0].AsValueSlice()), nil
			} else if alike && want.IsListType() {
				return cty.ListVal(args[0].AsValueSlice()), nil
			}
			return convert.Convert(args[0], result)
		},
	})
}

// elementTypeOf is the type that all elements of a tuple, of which there are
// some, have. The library's own conversion compares each type with each, which
// takes minutes where there are many.
func elementTypeOf(value cty.Value) (cty.Type, bool) {
	value, _ = value.Unmark()
	if !value.IsKnown() || value.IsNull() || !value.Type().IsTupleType() || value.LengthInt() == 0 {
		return cty.NilType, false
	}
	types := value.Type().TupleElementTypes()
	for _, one := range types[1:] {
		if !one.Equals(types[0]) {
			return cty.NilType, false
		}
	}
	return types[0], types[0] != cty.DynamicPseudoType
}

var wideField = regexp.MustCompile(`%[^a-zA-Z%]*[0-9]{4}`)

// formatFunc is the usual format without fields so wide that they fill the
// memory.
var formatFunc = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "format", Type: cty.String}},
	VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true},
	Type:     function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if wideField.MatchString(args[0].AsString()) {
			return cty.NilVal, function.NewArgError(0, errors.New("a field may be at most 999 wide"))
		}
		return stdlib.Format(args[0], args[1:]...)
	},
})

// Functions are the names of the functions of the language, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }
