package schema

import (
	"errors"
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// keywords has the keywords of all drafts from 4 on.
var keywords = []string{
	"$id", "$schema", "$vocabulary", "$ref", "$comment", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "definitions", "title", "description", "default", "examples", "readOnly", "writeOnly", "deprecated",
	"type", "enum", "const", "format", "contentEncoding", "contentMediaType", "contentSchema",
	"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern",
	"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
	"properties", "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties", "maxProperties",
	"dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// beside are common beside the keywords of JSON Schema, and close to one of them.
var beside = []string{"example", "nullable", "id", "name", "note", "enumDescriptions"}

// ofSchemas are the keywords whose value has schemas: no text or number is meant for one.
var ofSchemas = []string{
	"$defs", "definitions", "contentSchema",
	"items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
	"properties", "patternProperties", "additionalProperties", "propertyNames", "dependencies", "dependentSchemas", "unevaluatedProperties",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// meantKeyword returns a hint at the keyword that the author most likely meant by key, which is unknown;
// "" if no keyword is near.
func meantKeyword(key string, v value.Value) string {
	if slices.Contains(beside, key) {
		return ""
	}
	near := keywords
	switch v.Kind() {
	case value.Object, value.List, value.Bool:
	default:
		near = slices.DeleteFunc(slices.Clone(keywords), func(keyword string) bool { return slices.Contains(ofSchemas, keyword) })
	}
	return value.DidYouMean(key, near)
}

// UnknownKeyword is the Keyword of problems from [UnknownKeywords]: the problem is the key, not
// its value.
const UnknownKeyword = "unknown keyword"

// UnknownKeywords finds the parts of a user's schema that have no effect: names that look like a mistyped keyword
// (requird, aditionalProperties), keywords of another draft than the schema's, and keywords that old drafts ignore
// beside $ref. JSON Schema says to ignore these, so Parse accepts them; the intended constraint is then missing.
// Pointers lead into the schema. All are warnings.
func UnknownKeywords(doc value.Value) (problems Problems) {
	return ineffectiveKeywords(doc, func(at string) int { return draftWithin(doc, at) }, false)
}

// UnknownKeywordsOfPart is [UnknownKeywords] for a schema that is put into another, which
// alone names the draft. Of a null, a schema that is not known, it may be any draft: then only
// mistyped keywords are found.
func UnknownKeywordsOfPart(doc, whole value.Value) (problems Problems) {
	draft := anyDraft
	if !whole.IsNull() {
		draft = draftWithin(whole, "")
	}
	return ineffectiveKeywords(doc, func(string) int { return draft }, true)
}

func ineffectiveKeywords(doc value.Value, draftAt func(at string) int, isPart bool) (problems Problems) {
	document := newCheckedDocument(doc, isPart)
	walkSchemas(doc, "", func(s value.Value, at string) {
		draft := draftAt(at)
		for key, v := range s.Map().All() {
			var p Problem
			found := false
			if !slices.Contains(keywords, key) {
				p = Problem{Hint: meantKeyword(key, v)}.WithMessage("JSON Schema has no keyword %q, it has no effect", key)
				found = p.Hint != ""
			} else if draft != anyDraft {
				p, found = document.ineffectiveKeyword(s, key, draft)
			}
			if found {
				p.Pointer, p.Keyword, p.Warning = at+"/"+value.Escape(key), UnknownKeyword, true
				problems = append(problems, p)
			}
		}
	})
	return problems
}

// InvalidAt returns why the value at a pointer of a call's parameters is not a JSON Schema, each fault at its
// place; nil for a schema, and for a value that is not even an object. A null is a value that only the run knows:
// faults at it or around it are left out.
func InvalidAt(pointer string, doc value.Value) (problems Problems) {
	if doc.Kind() != value.Object {
		return nil
	}
	_, err := Parse(doc)
	var wrong *InvalidError
	if errors.As(err, &wrong) && len(wrong.Problems) > 0 {
		for _, p := range wrong.Problems {
			if at, _ := doc.At(p.Pointer); hasNull(at) {
				continue
			}
			message, hint := p.Text()
			problems = append(problems, Problem{Pointer: pointer + p.Pointer}.WithMessage("not a JSON Schema: %s", message).WithHint("%s", hint))
		}
	} else if err != nil && !hasNull(doc) {
		problems = Problems{Problem{Pointer: pointer}.WithMessage("%v", err)}
	}
	return problems
}

// LintAt returns the problems that [UnknownKeywords] and [MisfitDefaults] find in a schema at a pointer of a
// call's parameters, for the Lint of a call. isComputed reports whether the value at a pointer is only known in
// the run: such a default may fit.
func LintAt(pointer string, doc value.Value, isComputed func(pointer string) bool) Problems {
	misfits := slices.DeleteFunc(MisfitDefaults(doc), func(p Problem) bool { return isComputed(pointer + p.Pointer) })
	problems := append(UnknownKeywords(doc), misfits...)
	for i := range problems {
		problems[i].Pointer = pointer + problems[i].Pointer
	}
	return problems
}

// hasNull reports whether a part of parameters is or has a null.
func hasNull(v value.Value) bool {
	if v.IsNull() || slices.ContainsFunc(v.List(), hasNull) {
		return true
	}
	for _, member := range v.Map().All() {
		if hasNull(member) {
			return true
		}
	}
	return false
}
