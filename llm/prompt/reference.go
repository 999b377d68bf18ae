package prompt

import (
	"maps"
	"slices"
	"strings"
)

// Builtin is a filter or a test of the language, for people.
type Builtin struct {
	Name string
	// Params are the names of its arguments.
	Params []string
}

// String is name, or name(arguments).
func (b Builtin) String() string {
	if len(b.Params) == 0 {
		return b.Name
	}
	return b.Name + "(" + strings.Join(b.Params, ", ") + ")"
}

// Filters lists the filters, by name.
func Filters() []Builtin { return builtinList(filterTable()) }

// Tests lists the tests, by name.
func Tests() []Builtin { return builtinList(testTable()) }

func builtinList(table map[string]*builtin) (list []Builtin) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list = append(list, Builtin{Name: name, Params: table[name].params})
	}
	return list
}
