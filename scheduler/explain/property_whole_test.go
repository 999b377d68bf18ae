package explain_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/explain"
)

// Some worlds pass on whole outputs: lists of messages that are joined, cut and reversed, contents of several
// parts, items that are messages, and outputs as text. A text computed from a whole output names none of its
// texts: see [world.isNamed].

// isNamed reports whether a letter is in a piece computed from names of which one has the letter, in a world that
// passes on whole outputs. Words in an expression have no name; their place is the piece's.
func (w *world) isNamed(way []explain.Source, letter rune) bool {
	want, isUnique := w.truth(letter)
	if !w.whole || !isUnique || len(way) == 0 || way[0].Kind != explain.SourceComputed {
		return false
	}
	isOfFlow := strings.Contains(want.name, ".yaml:")
	return isOfFlow || slices.ContainsFunc(way[0].Origins, want.matches) || slices.ContainsFunc(way[0].From, func(name string) bool { return w.hasLetter(name, letter) })
}

// hasLetter reports whether the value of a name of the flow has a letter. Names of the sub-flow, and of items, may
// have any.
func (w *world) hasLetter(name string, letter rune) bool {
	first, rest, _ := strings.Cut(name, ".")
	pointer := ""
	if rest != "" {
		pointer = "/" + strings.ReplaceAll(rest, ".", "/")
	}
	v, isKnown := value.OfMap(w.inputs).At(pointer)
	if first != "inputs" {
		step := w.record.Step(first)
		if step == nil {
			return true
		}
		v, isKnown = step.Output.At(pointer)
	}
	return !isKnown || strings.ContainsRune(v.JSON(), letter)
}

func (w *world) pick(what string, all ...string) string {
	return rapid.SampledFrom(all).Draw(w.t, what)
}

// wholeList returns an expression for a list of messages. Only lists of lists may have results of tools.
func (w *world) wholeList(lists []string) string {
	given := fmt.Sprintf("[{'role': 'user', 'content': %s}, {'role': 'assistant', 'content': '%s' ~ %s}]", w.reference(), w.literal(), w.reference())
	if len(lists) == 0 {
		return given
	}
	list, other := w.pick("list", lists...), w.pick("other list", lists...)
	return w.pick("kind of list", list, list+"[1:] + "+other+"[:1]", "("+list+" | reverse | list)", given+" + "+list, "{'a': "+list+", 'b': 1}.a",
		fmt.Sprintf("(%s | selectattr('role', 'ne', 'system') | list) + [{'role': 'user', 'content': [{'type': 'text', 'text': %s}, {'type': 'text', 'text': '%s'}]}]", list, w.reference(), w.literal()))
}

// wholeText returns a template of a text in which a whole list of messages, or an output, is used.
func (w *world) wholeText() string {
	list, text, other := "("+w.wholeList(w.lists)+")", w.reference(), w.reference()
	output, _, _ := strings.Cut(text, ".")
	if strings.HasPrefix(text, "inputs.") {
		output = text
	}
	return w.pick("text of a whole",
		". {{ "+list+" | tojson }}",
		"{% for m in "+list+" %}{{ m.role }}={{ m.content }};{{ loop.index }}{{ m['content'][1:] }}{% endfor %}",
		"{{ "+list+"[0].content }}"+w.literal()+"{{ "+list+"[-1].content }}",
		". {{ ("+list+" | last).content }}",
		"{{ "+list+"[1:] | map(attribute='content') | join('|') }}",
		". {{ "+output+" }}{{ "+output+" | tojson }}",
		". {{ [{'a': "+text+"}, {'a': "+other+"}] | tojson }}{{ {'a': "+text+", 'b': '"+w.literal()+"'} }}",
		"{{ "+text+" | truncate(2, true, '', 0) }}{{ "+other+" | indent(2, true) }}{{ "+text+"[0] }}{{ "+other+"[-1] }}",
		"{{ '%s-%s' | format("+text+", "+other+") }}{{ "+text+"[::-1] }}{{ "+other+".split('-') | join('+') }}",
		"{% set ns = namespace(a='') %}{% for m in ["+text+", "+other+"] %}{% set ns.a = ns.a ~ m ~ '"+w.literal()+"' %}{% endfor %}{{ ns.a }}",
		"{% macro both(m, n) %}{{ m }}{{ caller() }}{{ n }}{% endmacro %}{% call both("+text+", '"+w.literal()+"') %}({{ "+other+" }}){% endcall %}",
		"  {{- "+text+" -}}   "+w.literal()+"  {{- "+other+" }}{{ {'q': {'r': ["+other+"]} }.q.r[0] }}",
		"{{ ("+text+" ~ "+other+")[2:7] }}{{ ("+text+" ~ '"+w.literal()+"')[3:] | replace('zz', '') }}")
}

func (w *world) wholeChat() {
	id := w.step("chat")
	w.printf("      model: %s\n", id)
	switch w.pick("messages", "list", "expression", "items") {
	case "list":
		w.printf("      messages: %q\n", "{{ "+w.wholeList(w.lists)+" }}")
	case "expression":
		w.printf("      messages: !expr %q\n", w.wholeList(w.lists))
	default:
		w.printf("      messages:\n")
		w.printf("        - %q\n", "{{ ("+w.wholeList(w.lists)+")[0] }}")
		w.printf("        - {role: user, content: %q}\n", "{{ ("+w.wholeList(w.lists)+")[-1].content }}")
	}
	w.texts = append(w.texts, id+".text")
}

func (w *world) wholeContext() {
	id := w.step("context")
	w.printf("      identity: %s\n", w.text())
	lists := w.plain
	if w.chance("tools") {
		lists = w.lists
	}
	w.printf("      history: %q\n", "{{ "+w.wholeList(lists)+" }}")
	for _, text := range w.texts {
		if slots, ok := strings.CutSuffix(text, ".before_char"); ok {
			w.printf("      slots: \"{{ %s }}\"\n", slots)
			break
		}
	}
	w.printf("      append: %q\n", "{{ [{'role': 'assistant', 'content': "+w.reference()+"}] }}")
	w.printf("      memories: %q\n", "{{ ["+w.reference()+", {'text': "+w.reference()+"}] }}")
	w.printf("      current_message: %s\n", w.text())
	w.lists = append(w.lists, id+".messages")
	w.texts = append(w.texts, id+".system", id+".messages[0].content")
}

// wholePartsContext has contents of several parts, and images.
func (w *world) wholePartsContext() {
	id := w.step("context")
	w.printf("      identity: %s\n", w.text())
	w.printf("      history:\n        - role: user\n          content:\n")
	w.printf("            - {type: text, text: %s}\n", w.text())
	w.printf("            - {type: image_url, image_url: {url: %q}}\n", "https://host/{{ "+w.reference()+" }}.png")
	w.printf("            - {type: text, text: %s}\n", w.text())
	w.printf("      current_message: %s\n", w.text())
	w.lists, w.plain = append(w.lists, id+".messages"), append(w.plain, id+".messages")
	const content = ".messages[1].content"
	w.texts = append(w.texts, id+content+"[0].text", id+content+"[2].text", id+content+"[1].image_url.url")
}

// wholeInchat puts entries with macros at several depths.
func (w *world) wholeInchat() {
	id := w.step("in-chat")
	w.printf("      history: %q\n", "{{ "+w.wholeList(w.plain)+" }}")
	w.printf("      variables:\n")
	w.printf("        who: %s\n", w.text())
	w.printf("        other: %s\n", w.text())
	macro := func() string {
		return w.pick("macro", "", "{{getvar::who}}", "{{getvar::other}}!", "{{user}}", "{{// note}}")
	}
	w.printf("      presets_in_chat:\n")
	w.printf("        - {position: in-chat, identifier: p, depth: %d, role: %s, content: %q}\n", rapid.IntRange(0, 4).Draw(w.t, "depth"), w.pick("role", "system", "user", "assistant"), w.literal())
	w.printf("      world_books:\n        entries:\n")
	for order := range 2 {
		w.printf("          - {keys: [], constant: true, enabled: true, insertion_order: %d, extensions: {position: %s, depth: %d, role: %d},\n",
			order, w.pick("position", "0", "1", "4"), rapid.IntRange(0, 3).Draw(w.t, "depth"), rapid.IntRange(0, 2).Draw(w.t, "role"))
		w.printf("             content: %q}\n", w.literal()+macro()+w.literal())
	}
	w.lists, w.plain = append(w.lists, id+".messages"), append(w.plain, id+".messages")
	w.texts = append(w.texts, id+".messages[0].content", id+".messages[-1].content", id+".slots.before_char")
}

func (w *world) wholeEach() {
	w.steps++
	id := fmt.Sprintf("s%d", w.steps)
	w.printf("  - id: %s\n    call: chat\n", id)
	w.printf("    for_each: %q\n", "{{ "+w.wholeList(w.lists)+" }}")
	w.printf("    with:\n      model: %s\n", id)
	w.printf("      messages: %s\n", w.pick("item", `["{{ item }}"]`, `[{role: user, content: ".{{ item.content }}"}]`, `[{role: user, content: "{{ item.content }}"}, "{{ item }}"]`))
	w.texts = append(w.texts, id+"[0].text")
}

func (w *world) wholeSummary() {
	id := w.step(w.pick("call", "summary", "facts"))
	w.printf("      model: %s\n", id)
	w.printf("      messages: %q\n", "{{ "+w.wholeList(w.lists)+" }}")
}

func (w *world) wholeTemplate() {
	id := w.step("template")
	if w.chance("transformers") {
		w.printf("      dialect: transformers\n")
		w.printf("      template: %q\n", "{%- for m in messages %}{{ '<|' + m['role'] + '|>\\n' + (m.content if m.content is string else (m.content | tojson)) + '"+w.literal()+"' }}{% endfor %}{{ x | trim }}")
	} else {
		w.printf("      template: %q\n", "{% for m in messages %}"+w.literal()+"{{ m.content }}{% endfor %}{{ messages | tojson }}{{ x }}")
	}
	w.printf("      values:\n")
	w.printf("        x: %s\n", strconv.Quote(w.wholeText()))
	w.printf("        messages: %q\n", "{{ "+w.wholeList(w.lists)+" }}")
	w.texts = append(w.texts, id+".text")
}
