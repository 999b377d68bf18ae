package host

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// text is a file of YAML or JSON, for errors that name places in it.
type text struct {
	file string
	root *yaml.Node // nil where it is not known
}

// node is where a problem is. Of what is missing that is the object that it belongs
// to, of what is not known the key.
func (t text) node(p schema.Problem) *yaml.Node {
	switch node, key, found := yaml.Walk(t.root, p.Pointer); {
	case key != nil && p.Keyword == "additionalProperties":
		return key
	case found || p.Keyword != "required":
		return node
	}
	node, _, _ := yaml.Walk(t.root, above(p.Pointer))
	return node
}

// above is the pointer without its last part.
func above(pointer string) string { return pointer[:max(0, strings.LastIndexByte(pointer, '/'))] }

// errorAt makes an error of a problem: file:line:col: what (what to do).
func (t text) errorAt(p schema.Problem) error {
	if t.root == nil {
		return fmt.Errorf("%s: %w", t.file, p)
	}
	node := t.node(p)
	if where := strings.ReplaceAll(strings.TrimPrefix(p.Pointer, "/"), "/", "."); where != "" && p.Keyword != "required" && p.Keyword != "additionalProperties" {
		p.Message = where + ": " + p.Message
	}
	p.Pointer = "" // the message has it
	return fmt.Errorf("%s:%d:%d: %w", t.file, node.Line, node.Column, p)
}

// errors are those of all problems, a line each, in the order of the text.
func (t text) errors(form *schema.Schema, problems schema.Problems) error {
	if t.root != nil {
		slices.SortStableFunc(problems, func(a, b schema.Problem) int {
			x, y := t.node(a), t.node(b)
			return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
		})
	}
	all := make([]error, len(problems))
	for i, p := range problems {
		if p.Hint == "" {
			p.Hint = advice(form, p)
		}
		all[i] = t.errorAt(p)
	}
	return errors.Join(all...)
}

// advice says what a form wants where a problem is.
func advice(form *schema.Schema, p schema.Problem) string {
	switch p.Keyword {
	case "required":
		if doc := sentence(form, p.Pointer); doc != "" {
			return "add it: " + doc
		}
	case "additionalProperties":
		var names []string
		for _, s := range form.Describe(above(p.Pointer)).All {
			properties, _ := s.Get("properties")
			names = append(names, properties.Map().Keys()...)
		}
		if len(names) > 0 {
			return "take it out; there are " + strings.Join(names, ", ")
		}
	default:
		return sentence(form, p.Pointer)
	}
	return ""
}

// sentence is what a form says of a place.
func sentence(form *schema.Schema, pointer string) string {
	for _, s := range form.Describe(pointer).All {
		if doc, ok := s.Get("description"); ok {
			text, _ := doc.Str()
			return text
		}
	}
	return ""
}

// texts are the texts at a key of an object, with their pointers.
func texts(doc value.Value, key string) iter.Seq2[string, string] {
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
