package ec2sim

import "slices"

// pick gives all, or those named, of which each must be there.
func pick[T any](ids []string, all []T, idOf func(T) string, prefix, code, noun string) ([]T, *apiError) {
	if len(ids) == 0 {
		return all, nil
	}
	var named []T
	for _, one := range all {
		if slices.Contains(ids, idOf(one)) {
			named = append(named, one)
		}
	}
	return named, missing(ids, named, idOf, prefix, code, noun)
}

// without gives all but one.
func without[T comparable](all []T, one T) []T {
	return slices.DeleteFunc(all, func(other T) bool { return other == one })
}
