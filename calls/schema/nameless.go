package schema

import (
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/callnode/scheduler/llm/value"
)

// The library leaves the key "" out of the places that it names. The way through
// the schema, which it names as well, says where one belongs.

// nameKeys puts the keys "" into the places of an error and its causes; root is the
// value that was checked.
func nameKeys(e *jsonschema.ValidationError, root value.Value) {
	e.InstanceLocation = placeOf(e.KeywordLocation, e.InstanceLocation, root)
	for _, cause := range e.Causes {
		nameKeys(cause, root)
	}
}

// hop is one step down into a value: to a member whose name the schema says, or,
// where it does not, to any member or item.
type hop struct {
	name  string
	named bool
	item  bool
}

// placeOf is the location in the value, with the keys "" that keywords tells of.
func placeOf(keywords, location string, root value.Value) string {
	hops := hopsOf(keywords)
	tokens := strings.Split(location, "/")[1:]
	left := len(hops) - len(tokens) // keys "" to place
	unsure := 0
	for _, h := range hops {
		switch {
		case h.named && h.name == "":
			left--
		case !h.named && !h.item:
			unsure++
		}
	}
	here := root
	var b strings.Builder
	for _, h := range hops {
		token := ""
		switch {
		case h.named && h.name == "":
		case !h.named && !h.item && left > 0 && (unsure <= left || !leads(here, tokens)):
			left--
			unsure--
		default:
			if !h.named && !h.item {
				unsure--
			}
			if len(tokens) == 0 {
				return location // another way than the one expected: better coarse than wrong
			}
			token, tokens = tokens[0], tokens[1:]
		}
		b.WriteString("/" + token)
		here, _ = here.At("/" + unescape(token))
	}
	return b.String()
}

// leads says whether the value has a member of the name that comes next.
func leads(v value.Value, tokens []string) bool {
	if len(tokens) == 0 {
		return false
	}
	_, has := v.At("/" + unescape(tokens[0]))
	return has
}

// hopsOf reads the way through a schema.
func hopsOf(keywords string) (hops []hop) {
	tokens := strings.Split(keywords, "/")[1:]
	for i := 0; i < len(tokens); i++ {
		last := i+1 == len(tokens)
		switch tokens[i] {
		case "properties":
			if i++; !last {
				hops = append(hops, hop{name: tokens[i], named: true})
			}
		case "patternProperties":
			if i++; !last {
				hops = append(hops, hop{})
			}
		case "additionalProperties", "unevaluatedProperties":
			if !last { // else it is the keyword that failed
				hops = append(hops, hop{})
			}
		case "propertyNames":
			hops = append(hops, hop{})
		case "items", "prefixItems":
			hops = append(hops, hop{item: true})
			if !last {
				if _, err := strconv.Atoi(tokens[i+1]); err == nil {
					i++
				}
			}
		case "additionalItems", "unevaluatedItems", "contains":
			if !last {
				hops = append(hops, hop{item: true})
			}
		case "allOf", "anyOf", "oneOf", "dependencies", "dependentSchemas":
			i++ // a branch, at the same place
		}
	}
	return hops
}
