package schema

import (
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/llm/value"
)

// Most checks find nothing: a schema of a call's parameters, and parameters that fit. For schemas with only
// everyday keywords that is checked here, directly on the value. A value that does not certainly fit goes to the
// library, which decides and says why.

// isEveryday reports whether certainlyFits knows all the keywords of a subschema. References
// and unions are not among them: they need a budget.
func isEveryday(s *jsonschema.Schema) bool {
	_, tuple := s.Items.([]*jsonschema.Schema)
	own := ownChecksOf(s)
	return len(inPlaceSubschemas(s)) == 0 && len(s.PatternProperties) == 0 && len(s.Dependencies) == 0 && len(s.DependentRequired) == 0 &&
		s.UnevaluatedProperties == nil && s.UnevaluatedItems == nil && s.Contains == nil &&
		!tuple && len(s.PrefixItems) == 0 && s.Items2020 == nil && !s.UniqueItems &&
		own.isConstant == nil && own.names == nil && own.isFormatted == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil && s.MultipleOf == nil
}

// certainlyFits reports whether v certainly fits s, all of whose subschemas are everyday ones.
func certainlyFits(s *jsonschema.Schema, v value.Value) bool {
	var w fitWalker
	return w.fits(s, v) && len(w.missing) == 0
}

// missingProperties lists the required properties that v lacks, if v otherwise certainly fits s. ok is false if
// that is not certain.
func missingProperties(s *jsonschema.Schema, v value.Value) (missing []problem, ok bool) {
	var w fitWalker
	ok = w.fits(s, v)
	return w.missing, ok
}

// fitWalker goes through a value and its schema.
type fitWalker struct {
	path    []step // from the root
	missing []problem
}

// step is a property, or an item of that index.
type step struct {
	name   string
	isItem bool
	index  int
}

func (w *fitWalker) fits(s *jsonschema.Schema, v value.Value) bool {
	switch {
	case s.Bool != nil:
		return *s.Bool
	case len(w.path) > maxInstanceDepth:
		return false
	case s.Types != nil && !hasType(s, v.Kind()):
		return false
	}
	if listed := ownChecksOf(s).isListed; listed != nil && !isOneOf(listed, v) {
		return false
	}
	switch v.Kind() {
	case value.Int, value.Float:
		return isWithinBounds(s, v)
	case value.String:
		text, _ := v.Str()
		n := 0
		if s.MinLength != nil || s.MaxLength != nil {
			n = utf8.RuneCountInString(text)
		}
		if s.Pattern != nil && (len(text) > longText || !s.Pattern.MatchString(text)) {
			return false
		}
		return isBetween(n, s.MinLength, s.MaxLength)
	case value.List:
		items, _ := s.Items.(*jsonschema.Schema)
		if !isBetween(len(v.List()), s.MinItems, s.MaxItems) {
			return false
		}
		for i, item := range v.List() {
			if items != nil && !w.fitsBelow(items, item, step{isItem: true, index: i}) {
				return false
			}
		}
	case value.Object:
		return w.fitsObject(s, v.Map())
	}
	return true
}

func (w *fitWalker) fitsBelow(s *jsonschema.Schema, v value.Value, at step) bool {
	w.path = append(w.path, at)
	ok := w.fits(s, v)
	w.path = w.path[:len(w.path)-1]
	return ok
}

// pointerOf returns the pointer of a property of the present object.
func (w *fitWalker) pointerOf(name string) string {
	keys := make([]string, 0, len(w.path)+1)
	for _, at := range w.path {
		if at.isItem {
			keys = append(keys, strconv.Itoa(at.index))
		} else {
			keys = append(keys, at.name)
		}
	}
	return value.FormatPointer(append(keys, name)...)
}

func (w *fitWalker) fitsObject(s *jsonschema.Schema, m *value.Map) bool {
	if !isBetween(m.Len(), s.MinProperties, s.MaxProperties) {
		return false
	}
	for _, name := range s.Required {
		if _, has := m.Get(name); !has {
			w.missing = append(w.missing, problem{missingProblem(w.pointerOf(name), name), s})
		}
	}
	for i := range m.Len() {
		name, member := m.Entry(i)
		sub, known := s.Properties[name]
		if !known {
			switch rest := s.AdditionalProperties.(type) {
			case bool:
				if !rest {
					return false
				}
				continue
			case *jsonschema.Schema:
				sub = rest
			default:
				continue
			}
		}
		if !w.fitsBelow(sub, member, step{name: name}) {
			return false
		}
	}
	return true
}

// typesOfKind has the types of the values of a kind. Whether a number is an integer like 3.0
// is left to the library.
var typesOfKind = func() (all [value.Object + 1]jsonschema.Types) {
	for k := range all {
		all[k].Add(value.Kind(k).String())
	}
	all[value.Int].Add("number")
	return all
}()

// isOneOf reports whether v is a text among the values of an enum.
func isOneOf(listed *valueSet, v value.Value) bool {
	text, isText := v.Str()
	return isText && listed.has(text)
}

// hasType reports whether the type of a schema includes the type of a kind.
func hasType(s *jsonschema.Schema, k value.Kind) bool {
	return s.Types != nil && *s.Types&typesOfKind[k] != 0
}

// isWithinBounds compares an integer with bounds that are integers too.
func isWithinBounds(s *jsonschema.Schema, v value.Value) bool {
	i, ok := v.Int()
	if !ok {
		return s.Minimum == nil && s.Maximum == nil && !isExtremeNumber(v.JSON())
	}
	if s.Minimum != nil {
		least, ok := int64Of(s.Minimum)
		if !ok || i < least {
			return false
		}
	}
	if s.Maximum != nil {
		most, ok := int64Of(s.Maximum)
		if !ok || i > most {
			return false
		}
	}
	return true
}

// int64Of returns a bound as an integer; ok is false if it is not one.
func int64Of(bound *big.Rat) (n int64, ok bool) {
	return bound.Num().Int64(), bound.IsInt() && bound.Num().IsInt64()
}

// isBetween reports whether n is between bounds, a nil one means no bound.
func isBetween(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}
