package schema

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/callnode/scheduler/llm/value"
)

// The library leaves the empty token of the key "" out of the locations of its errors: the
// a below it is at /a, not at //a. It does keep the way through the schema, so the place is
// found again by going that way through the schema and the value at once.

// locateError returns the pointers of the places that an error may be about: one, but for
// values with the key "", where the library may have left tokens out and several places
// break the same keyword. root is the schema that v was checked with.
func locateError(root *jsonschema.Schema, e *jsonschema.ValidationError, v value.Value) []string {
	plain := decodeLocation(e.InstanceLocation)
	if root == nil || !hasEmptyKey(v) {
		return []string{plain}
	}
	names, ok := value.SplitPointer(plain)
	keywords, ok2 := value.SplitPointer(decodeLocation(e.KeywordLocation))
	if !ok || !ok2 {
		return []string{plain}
	}
	l := locator{failed: e.AbsoluteKeywordLocation, left: maxLocateSteps}
	l.follow(root, keywords, names, v, nil)
	if len(l.found) == 0 {
		return []string{plain}
	}
	slices.Sort(l.found)
	return slices.Compact(l.found)
}

// hasEmptyKey reports whether v or a value inside it has a member with the name "".
func hasEmptyKey(v value.Value) bool {
	if slices.ContainsFunc(v.List(), hasEmptyKey) {
		return true
	}
	for name, member := range v.Map().All() {
		if name == "" || hasEmptyKey(member) {
			return true
		}
	}
	return false
}

// maxLocateSteps bounds the ways that are tried for one error.
const maxLocateSteps = 10_000

// locator finds the places of one error. [locateError] makes one for each.
type locator struct {
	failed string // the keyword that failed, as an absolute location
	left   int
	found  []string
}

// follow goes on from the subschema s and the value v, which path leads to, and reports
// whether the error is there or further on. keywords and names are what is left of the
// error's ways through the schema and the value; names lacks those that are empty.
func (l *locator) follow(s *jsonschema.Schema, keywords, names []string, v value.Value, path []string) (found bool) {
	l.left--
	if s == nil || l.left < 0 {
		return false
	}
	if l.followBelow(s, keywords, names, v, path) {
		return true
	}
	isHere := len(names) == 0 && endsAt(s, keywords) && l.failed == s.Location+keywordPath(keywords)
	if !isHere || !breaks(s, v) {
		return false
	}
	l.found = append(l.found, value.FormatPointer(path...))
	return true
}

// followBelow is follow for the subschemas of s.
func (l *locator) followBelow(s *jsonschema.Schema, keywords, names []string, v value.Value, path []string) (found bool) {
	if len(keywords) == 0 {
		return false
	}
	if next, taken := inPlaceAt(s, keywords); taken > 0 {
		return l.follow(next, keywords[taken:], names, v, path)
	}
	tried := []string{""}
	if len(names) > 0 {
		tried = append(tried, names[0])
	}
	for i, name := range tried {
		next, taken := belowAt(s, keywords, name)
		member, has := v.At(value.FormatPointer(name))
		if next == nil || !has {
			continue
		}
		if keywords[0] == "propertyNames" {
			member = value.OfString(name)
		}
		inside := l.follow(next, keywords[taken:], names[i:], member, append(slices.Clip(path), name))
		found = found || inside
	}
	return found
}

// endsAt reports whether keywords are what fails in s itself, and not the way to a subschema.
func endsAt(s *jsonschema.Schema, keywords []string) bool {
	switch len(keywords) {
	case 0:
		return true
	case 1:
		switch keywords[0] {
		case "additionalProperties":
			_, isBool := s.AdditionalProperties.(bool)
			return isBool
		case "additionalItems":
			_, isBool := s.AdditionalItems.(bool)
			return isBool
		}
		return !slices.Contains([]string{"items", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}, keywords[0])
	}
	return len(keywords) == 3 && slices.Contains([]string{"dependencies", "dependentRequired"}, keywords[0])
}

// keywordPath writes tokens as the library ends its locations with them.
func keywordPath(keywords []string) string {
	var b strings.Builder
	for _, k := range keywords {
		b.WriteString("/" + url.PathEscape(value.Escape(k)))
	}
	return b.String()
}

// breaks reports whether v does not fit s.
func breaks(s *jsonschema.Schema, v value.Value) bool {
	var c converter
	x, p := c.convert(v, 0)
	if p != nil {
		return true
	}
	var invalid *jsonschema.ValidationError
	return errors.As(s.Validate(x), &invalid)
}

// inPlaceAt returns the subschema of the same value that the first keywords name, and how
// many of them do; 0 where they name none.
func inPlaceAt(s *jsonschema.Schema, keywords []string) (next *jsonschema.Schema, taken int) {
	switch keywords[0] {
	case "$ref":
		return s.Ref, 1
	case "not":
		return s.Not, 1
	case "if":
		return s.If, 1
	case "then":
		return s.Then, 1
	case "else":
		return s.Else, 1
	}
	if len(keywords) < 2 {
		return nil, 0
	}
	switch keywords[0] {
	case "allOf":
		return itemAt(s.AllOf, keywords[1]), 2
	case "anyOf":
		return itemAt(s.AnyOf, keywords[1]), 2
	case "oneOf":
		return itemAt(s.OneOf, keywords[1]), 2
	case "dependencies":
		next, _ = s.Dependencies[keywords[1]].(*jsonschema.Schema)
		return next, 2
	case "dependentSchemas":
		return s.DependentSchemas[keywords[1]], 2
	}
	return nil, 0
}

// belowAt returns the subschema of the member or item name that the first keywords name,
// and how many of them do; nil where they name none that is for it.
func belowAt(s *jsonschema.Schema, keywords []string, name string) (next *jsonschema.Schema, taken int) {
	second := ""
	if len(keywords) > 1 {
		second = keywords[1]
	}
	_, declared := s.Properties[name]
	isMatched := func(p *regexp.Regexp) bool { return len(name) <= maxName && p.MatchString(name) }
	switch keywords[0] {
	case "properties":
		if second == name {
			return s.Properties[name], 2
		}
	case "patternProperties":
		for pattern, sub := range s.PatternProperties {
			if pattern.String() == second && isMatched(pattern) {
				return sub, 2
			}
		}
	case "additionalProperties":
		for pattern := range s.PatternProperties {
			declared = declared || isMatched(pattern)
		}
		if !declared {
			next, _ = s.AdditionalProperties.(*jsonschema.Schema)
		}
		return next, 1
	case "unevaluatedProperties":
		return s.UnevaluatedProperties, 1
	case "propertyNames":
		return s.PropertyNames, 1
	}
	if name == "" {
		return nil, 0
	}
	return itemSchemaAt(s, keywords[0], second)
}

// itemSchemaAt returns the subschema of an item that keywords name.
func itemSchemaAt(s *jsonschema.Schema, first, second string) (next *jsonschema.Schema, taken int) {
	switch first {
	case "items":
		if tuple, ok := s.Items.([]*jsonschema.Schema); ok {
			return itemAt(tuple, second), 2
		}
		if next, ok := s.Items.(*jsonschema.Schema); ok {
			return next, 1
		}
		return s.Items2020, 1
	case "prefixItems":
		return itemAt(s.PrefixItems, second), 2
	case "additionalItems":
		next, _ = s.AdditionalItems.(*jsonschema.Schema)
		return next, 1
	case "contains":
		return s.Contains, 1
	case "unevaluatedItems":
		return s.UnevaluatedItems, 1
	}
	return nil, 0
}

// itemAt returns the subschema of a list that a token numbers; nil for none.
func itemAt(list []*jsonschema.Schema, token string) *jsonschema.Schema {
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}
