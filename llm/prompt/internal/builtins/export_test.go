package builtins

import (
	"maps"
	"slices"
)

// UnsupportedNames returns the names of a kind that have a [Remedy], sorted.
func UnsupportedNames(kind string) []string { return slices.Sorted(maps.Keys(unsupported[kind])) }
