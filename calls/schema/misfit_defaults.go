package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/llm/value"
)

// MisfitDefault is the Keyword of problems from [MisfitDefaults].
const MisfitDefault = "default"

// MisfitDefaults finds the defaults in a schema that do not fit the schema beside them, once the defaults inside
// them are filled in. Pointers lead into the schema; there are no problems for a document that is not a schema.
func MisfitDefaults(doc value.Value) (problems Problems) {
	if !strings.Contains(doc.JSON(), `"default"`) {
		return nil
	}
	s, err := Parse(doc)
	if err != nil {
		return nil //nolint:nilerr // what is wrong with the document is reported by who parses it
	}
	for _, sub := range s.at {
		own := s.sourceOf(sub)
		given, has := own.Get("default")
		if !has {
			continue
		}
		filled := given
		if _, refers := own.Get("$ref"); !refers { // as ApplyDefaults has it
			filled = s.withDefaults(own, given)
		}
		_, pointer, _ := strings.Cut(sub.Location, "#")
		for _, p := range s.subschema(sub).Check(filled) {
			if _, isGiven := given.At(p.Pointer); !isGiven && p.Keyword != "required" {
				continue // it came from another default, which is reported itself
			}
			p.Pointer = decodeLocation(pointer) + "/default" + p.Pointer
			p.Keyword = MisfitDefault
			problems = append(problems, p)
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return problems
}

// subschema returns the schema that one of the subschemas is by itself.
func (s *Schema) subschema(sub *jsonschema.Schema) *Schema {
	own := &Schema{doc: s.doc, compiled: sub, at: s.at, weights: s.weights, everyday: s.everyday, branching: s.branching}
	own.once.Do(func() {})
	return own
}
