package flow

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// decoder reads YAML nodes into the structs of keys, and reports all that does
// not fit.
type decoder struct {
	*flowText
	*report
}

// keyPlace is the place of a key and its value. The zero keyPlace is a key that was not written.
type keyPlace struct{ key, node *yaml.Node }

// isSet reports whether the key is there and was good.
func (p keyPlace) isSet() bool { return p.node != nil }

// theFlow names the flow itself in messages.
const theFlow = "the flow"

// decodeObject reads a mapping into a struct of keys. The argument what names it in messages.
func (d *decoder) decodeObject(at keyPlace, what string, into reflect.Value) {
	n := yaml.Resolve(at.node)
	if n.Kind != yaml.Mapping {
		d.reportMismatch(at, what, say("a map of keys"))
		return
	}
	if p, ok := into.Addr().Interface().(interface{ place(keyPlace) }); ok {
		p.place(at)
	}
	fields := keyFieldsOf(into.Type())
	seen := make([]bool, len(fields.list))
	for _, m := range d.membersOf(n, what) {
		i, known := fields.byName[m.name]
		if isNotes := what == theFlow && strings.HasPrefix(m.name, "x-"); isNotes { // for anchors, as in Compose files
			continue
		}
		if !known {
			d.unknownKey(m, what, fields)
			continue
		}
		f := fields.list[i]
		seen[i] = true
		if yaml.Resolve(m.node).ShortTag() == "!!null" {
			d.add(d.positionOf(m.key), "%s has no value", m.name).hint("leave the key out, or give it one")
			continue
		}
		d.decodeField(into.Field(f.index), m.keyPlace, f)
	}
	for i, f := range fields.list {
		if f.required && !seen[i] {
			d.add(d.positionOf(at.node), "%s has no %s", say(what), f.name).hint("add %s: %s", f.name, f.example())
		}
	}
}

// A leaf reads itself from a node; the tag is the field's.
type leaf interface {
	decode(d *decoder, at keyPlace, tag reflect.StructTag)
}

func (d *decoder) decodeField(into reflect.Value, at keyPlace, f keyField) {
	if l, ok := into.Addr().Interface().(leaf); ok {
		l.decode(d, at, f.tag)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.decodeObject(at, f.name, into.Elem())
	case reflect.Slice:
		n := yaml.Resolve(at.node)
		if n.Kind != yaml.Sequence {
			d.reportMismatch(at, f.name, say("a list"))
			return
		}
		if len(n.Content) == 0 && f.required {
			d.add(d.positionOf(at.node), "%s is empty", f.name).hint("a flow has at least one step")
		}
		item := f
		item.name = strings.TrimSuffix(f.name, "s")
		list := reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content))
		for i, c := range n.Content {
			d.decodeField(list.Index(i), keyPlace{at.key, c}, item)
		}
		into.Set(list)
	}
}

// member is one key of a mapping with its value.
type member struct {
	name string
	keyPlace
}

// membersOf lists the members of a mapping whose keys are plain, each name once,
// and reports the others.
func (d *decoder) membersOf(n *yaml.Node, what string) []member {
	list := make([]member, 0, len(n.Content)/2)
	var first map[string]*yaml.Node
	if len(n.Content) > 2 {
		first = make(map[string]*yaml.Node, len(n.Content)/2)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := yaml.Resolve(n.Content[i])
		if key.Kind != yaml.Scalar {
			d.add(d.positionOf(n.Content[i]), "a key of %s must be plain text", say(what))
			continue
		}
		if before, twice := first[key.Value]; twice {
			d.add(d.positionOf(n.Content[i]), "duplicate key %q (first at %s)", key.Value, d.positionOf(before)).hint("keep one of them")
			continue
		}
		if first != nil {
			first[key.Value] = n.Content[i]
		}
		list = append(list, member{key.Value, keyPlace{n.Content[i], n.Content[i+1]}})
	}
	return list
}

// synonyms are keys of other tools that people write by habit.
var synonyms = map[string]string{
	"depends_on": "needs", "dependson": "needs", "after": "needs", "depends": "needs",
	"if": "when", "condition": "when", "run_if": "when",
	"uses": "call", "type": "call", "node": "call", "action": "call", "task": "call",
	"params": "with", "parameters": "with", "args": "with", "arguments": "with",
	"loop": "for_each", "foreach": "for_each", "each": "for_each", "with_items": "for_each",
	"retries": "retry", "continue_on_error": "on_error", "model": "llm", "provider": "llm",
	"version": "", "parallel": "max_parallel", "concurrency": "max_parallel",
	"tasks": "steps", "nodes": "steps", "jobs": "steps", "result": "outputs", "variables": "inputs",
}

func (d *decoder) unknownKey(m member, what string, fields *keyFields) {
	p := d.add(d.positionOf(m.key), "unknown key %q in %s", m.name, say(what))
	if _, ok := fields.byName[synonyms[strings.ToLower(m.name)]]; ok {
		p.hint("did you mean %q?", synonyms[strings.ToLower(m.name)])
	} else if near := nearestKey(m.name, fields.names); near != "" {
		p.hint("did you mean %q?", near)
	} else {
		p.hint("there are %s", value.ListNames(fields.names))
	}
}

// nearestKey returns the key that was most likely meant: a near one, or else the only
// one that begins alike.
func nearestKey(name string, keys []string) string {
	if near := value.Nearest(name, keys); near != "" || len(name) < 2 {
		return near
	}
	alike := ""
	for _, k := range keys {
		if strings.HasPrefix(k, name[:2]) {
			if alike != "" {
				return ""
			}
			alike = k
		}
	}
	return alike
}

// reportMismatch reports a value of the wrong type. A template that YAML read as a map, because it is not quoted,
// is the usual reason.
func (d *decoder) reportMismatch(at keyPlace, what string, want wording.Text) {
	if d.reportUnquoted(at.node) {
		return
	}
	d.add(d.positionOf(at.node), "%s must be %s, not %s", say(what), want, describeNode(at.node))
}

// reportUnquoted reports a {{ template }} that YAML read as a map in a map.
func (d *decoder) reportUnquoted(n *yaml.Node) bool {
	isBraces := func(n *yaml.Node) bool { return n.Kind == yaml.Mapping && n.Style&yaml.Flow != 0 }
	if !isBraces(n) || len(n.Content) != 2 || !isBraces(n.Content[0]) {
		return false
	}
	start := d.Offset(n.Line, n.Column)
	rest := string(d.Bytes[start:])
	if !strings.HasPrefix(rest, "{{") {
		return false
	}
	text := "{{ ... }}"
	if end := strings.Index(rest, "}}"); end > 0 && !strings.ContainsAny(rest[:end], "\n\"") {
		text = rest[:end+2]
	}
	d.add(d.positionOf(n), "a template must be quoted: YAML reads %s as a map", text).hint(`quote it: "%s"`, text)
	return true
}

func describeNode(n *yaml.Node) wording.Text {
	n = yaml.Resolve(n)
	switch n.Kind {
	case yaml.Mapping:
		return say("a map")
	case yaml.Sequence:
		return say("a list")
	}
	switch n.ShortTag() {
	case "!!null":
		return wording.Same("null")
	case "!!bool":
		return say("the boolean %s", n.Value)
	case "!!int", "!!float":
		return say("the number %s", n.Value)
	}
	text := n.Value
	if r := []rune(text); len(r) > 40 {
		text = string(r[:37]) + "..."
	}
	return say("the text %q", text)
}

// keyField is a key that a struct knows.
type keyField struct {
	name     string
	index    int
	tag      reflect.StructTag
	required bool
}

// example returns a value of the key for hints.
func (f keyField) example() string {
	switch f.name {
	case "steps":
		return "[{id: ..., call: ...}]"
	case "max_tokens":
		return "100000"
	}
	return "..."
}

type keyFields struct {
	list   []keyField
	names  []string
	byName map[string]int
}

var keyFieldsCache sync.Map // reflect.Type -> *keyFields

func keyFieldsOf(t reflect.Type) *keyFields {
	if cached, ok := keyFieldsCache.Load(t); ok {
		return cached.(*keyFields)
	}
	fields := &keyFields{byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		fields.byName[name] = len(fields.list)
		fields.names = append(fields.names, name)
		fields.list = append(fields.list, keyField{name, i, f.Tag, options != "omitempty"})
	}
	cached, _ := keyFieldsCache.LoadOrStore(t, fields)
	return cached.(*keyFields)
}

// nodeAt returns the node that a JSON pointer names, or the nearest one around it.
func nodeAt(n *yaml.Node, pointer string) *yaml.Node {
	node, _, _ := yaml.Walk(n, pointer)
	return node
}

// keyAt returns the key of the member that a JSON pointer names.
func keyAt(n *yaml.Node, pointer string) *yaml.Node {
	node, key, _ := yaml.Walk(n, pointer)
	if key != nil {
		return key
	}
	return node
}

// ownTag returns the tag of a node, such as !file, or "" if the tag is one of YAML's own.
func ownTag(n *yaml.Node) string {
	if tag := n.ShortTag(); n.Style&yaml.Tagged != 0 && !strings.HasPrefix(tag, "!!") {
		return tag
	}
	return ""
}

// dataType returns the extension of a file that is data, "" for one that is text.
func dataType(path string) string {
	ext := strings.ToLower(filepath.Ext(path))
	if slices.Contains([]string{".json", ".jsonc", ".yaml", ".yml"}, ext) {
		return ext
	}
	return ""
}
