package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// document is a file of YAML or JSON while it is checked, for errors that name places
// in it.
type document struct {
	file string
	root *yaml.Node // nil if the text could not be parsed as YAML
}

// nodeOf returns the node that a problem belongs to: for a missing property its object,
// for an unknown one its key.
func (d document) nodeOf(p schema.Problem) *yaml.Node {
	node, key, found := yaml.Walk(d.root, p.Pointer)
	if key != nil && p.Keyword == "additionalProperties" {
		return key
	}
	if !found && p.Keyword == "required" {
		node, _, _ = yaml.Walk(d.root, parentPointer(p.Pointer))
	}
	return node
}

// parentPointer returns a JSON pointer without its last token.
func parentPointer(pointer string) string {
	return pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
}

// errorAt makes an error from a problem: file:line:col: fact (remedy).
func (d document) errorAt(p schema.Problem) error {
	if d.root == nil {
		return wording.Errorf("%s: %w", d.file, p)
	}
	node := d.nodeOf(p)
	path := strings.ReplaceAll(strings.TrimPrefix(p.Pointer, "/"), "/", ".")
	namesKey := p.Keyword == "required" || p.Keyword == "additionalProperties"
	if path != "" && !namesKey {
		message, _ := p.Text()
		p = p.WithMessage("%s: %s", path, message)
	}
	p.Pointer = "" // the message has it
	return wording.Errorf("%s:%d:%d: %w", d.file, node.Line, node.Column, p)
}

// joinProblems returns all problems as one error, a line each, in the order of the text.
func (d document) joinProblems(form *schema.Schema, problems schema.Problems) error {
	if d.root != nil {
		slices.SortStableFunc(problems, func(a, b schema.Problem) int {
			x, y := d.nodeOf(a), d.nodeOf(b)
			return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
		})
	}
	all := make([]error, len(problems))
	for i, p := range problems {
		if p.Hint == "" {
			p = p.WithHint("%s", remedyOf(form, p))
		}
		all[i] = d.errorAt(p)
	}
	return errors.Join(all...)
}

// remedyOf returns the schema's requirement at the place of a problem; empty if it does not say.
func remedyOf(form *schema.Schema, p schema.Problem) wording.Text {
	switch p.Keyword {
	case "required":
		if doc := descriptionAt(form, p.Pointer); doc != "" {
			return wording.Say("add it: %s", wording.Of(doc))
		}
	case "additionalProperties":
		if names := propertyNames(form, parentPointer(p.Pointer)); len(names) > 0 {
			return wording.Say("take it out; there are %s", strings.Join(names, ", "))
		}
	default:
		return wording.Of(descriptionAt(form, p.Pointer))
	}
	return wording.Text{}
}

// propertyNames lists the properties that an object may have.
func propertyNames(form *schema.Schema, pointer string) (names []string) {
	for _, s := range form.Describe(pointer).All {
		properties, _ := s.Get("properties")
		names = append(names, properties.Map().Keys()...)
	}
	return names
}

// descriptionAt returns the sentence of the schema about a place.
func descriptionAt(form *schema.Schema, pointer string) string {
	for _, s := range form.Describe(pointer).All {
		if doc, ok := s.Get("description"); ok {
			text, _ := doc.Str()
			return text
		}
	}
	return ""
}

// textsAt iterates over the texts at a key of an object, one or a list, with their JSON
// pointers.
func textsAt(doc value.Value, key string) iter.Seq2[string, string] {
	return func(yield func(pointer, text string) bool) {
		member, _ := doc.Get(key)
		if text, ok := member.Str(); ok && !yield("/"+key, text) {
			return
		}
		for i, item := range member.List() {
			if text, ok := item.Str(); ok && !yield(fmt.Sprintf("/%s/%d", key, i), text) {
				return
			}
		}
	}
}
