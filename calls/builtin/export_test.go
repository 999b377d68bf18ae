package builtin

import (
	"maps"
	"slices"
)

// ReferenceTexts returns the English texts of the reference.
func ReferenceTexts() []string { return slices.Sorted(maps.Keys(reference)) }
