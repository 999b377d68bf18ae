package pongo2tree

import (
	"maps"
	"slices"
)

// BlockTagNames returns the tags of statements with a body, sorted.
func BlockTagNames() []string { return slices.Sorted(maps.Keys(blockTags)) }
