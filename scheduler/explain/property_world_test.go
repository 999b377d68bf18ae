package explain_test

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
)

// world is a random flow with everything around it.
type world struct {
	t       *rapid.T
	flow    strings.Builder
	file    string // that is being written
	sub     strings.Builder
	inputs  *value.Map
	files   string
	sources []source
	// Names of steps by the kind of their output.
	texts, lists []string // expressions of a text, and of a list of messages
	plain        []string // lists without tools
	steps        int
	taken        int  // how many texts of steps are mentioned
	whole        bool // whole outputs are given on
	inner        bool // the sub-flow is being written
	asked        []string
	// exact are the names that an expression was computed from, by the mark between its letters.
	exact map[rune][]string
	// digits are the names that a digit was computed from, by the mark on both sides of it.
	digits map[rune][]string
	// bodies are the answers of servers by their paths, and flaky the steps whose first requests fail: they are
	// retried, or else the run is resumed.
	bodies map[string]string
	flaky  map[string]llm.Error
	// The results of the first campaign.
	record  *journal.RunState
	content map[string]string // of the files
	// said are the texts of the conversation.
	said []string
}

// add registers a source and returns its text.
func (w *world) add(name string, matches func(explain.Source) bool) string {
	w.sources = append(w.sources, source{name, matches})
	return textOf(len(w.sources) - 1)
}

// out is the file that is being written.
func (w *world) out() *strings.Builder {
	if w.inner {
		return &w.sub
	}
	return &w.flow
}

func (w *world) line() int { return 1 + strings.Count(w.out().String(), "\n") }

func (w *world) printf(format string, args ...any) { fmt.Fprintf(w.out(), format, args...) }

// literal returns a text in the line of the flow that is written next.
func (w *world) literal() string {
	line, file := w.line(), w.file
	return w.add(fmt.Sprintf("%s:%d", file, line), func(s explain.Source) bool {
		return (s.Kind == explain.SourceFlow) && s.File == file && s.Line == line
	})
}

// named is literal for a text that also becomes a part of a name that the call makes.
func (w *world) named() string {
	text := w.literal()
	s := &w.sources[len(w.sources)-1]
	given := s.matches
	s.matches = func(s explain.Source) bool { return given(s) || s.Kind == explain.SourceStep && s.Call == "context" }
	return text
}

func (w *world) chance(name string) bool { return rapid.Bool().Draw(w.t, name) }

// reference returns an expression for a text of an input or of a step.
func (w *world) reference() string {
	const maxTaken = 6 // texts double with every step that uses them twice
	if len(w.texts) > 0 && w.taken < maxTaken && rapid.IntRange(0, 2).Draw(w.t, "from a step") > 0 {
		w.taken++
		return rapid.SampledFrom(w.texts).Draw(w.t, "text")
	}
	return w.input()
}

// input returns an expression for an input of the flow.
func (w *world) input() string {
	if w.inner {
		return rapid.SampledFrom([]string{"inputs.one", "inputs.two"}).Draw(w.t, "inner input")
	}
	if rapid.IntRange(0, 6).Draw(w.t, "is the question") == 0 {
		return "question"
	}
	name := fmt.Sprintf("i%d", rapid.IntRange(0, 5).Draw(w.t, "input"))
	if _, ok := w.inputs.Get(name); !ok {
		w.inputs.Set(name, value.OfString(w.add("inputs."+name, isInput(name))))
	}
	return "inputs." + name
}

func isInput(name string) func(explain.Source) bool {
	return func(s explain.Source) bool { return s.Kind == explain.SourceInput && s.Name == "inputs."+name }
}

// firstDigitMark is the first of the marks of digits.
const firstDigitMark = '\uf000'

// firstMark is the first of the marks for expressions with known names.
const firstMark = '\ue000'

// namesOf returns the sorted names that sources have for expressions: the question is an input.
func namesOf(expressions []string) (names []string) {
	for _, e := range expressions {
		if e == "question" {
			e = "inputs.question"
		}
		names = append(names, e)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// used returns an expression that mentions more inputs than it uses, with its mark between the
// letters of the result.
func (w *world) used() string {
	a, b, c := w.input(), w.input(), w.input()
	kinds := []struct {
		expression string
		uses       []string
	}{
		{"{'k': " + a + ", 'j': " + b + "}['k']", []string{a}},
		{"{'k': " + a + ", 'j': " + b + "}.j", []string{b}},
		{"((" + a + ", " + b + ") | last)", []string{b}},
		{"(" + a + " and " + b + ")", []string{b}},
		{"(" + a + " or " + b + ")", []string{a}},
		{"(" + a + " if " + b + " else " + c + ")", []string{a}},
		{"([" + a + ", " + b + ", " + c + "][1:] | join)", []string{b, c}},
		{"([{'r': 'x', 't': " + a + "}, {'r': 'y', 't': " + b + "}] | selectattr('r', 'eq', 'y') | map(attribute='t') | first)", []string{b}},
		{"([" + a + ", " + b + "] | map('upper') | list)[1]", []string{b}},
		{"('' | default(" + a + ", true))", []string{a}},
		{"(" + a + " ~ " + b + ")", []string{a, b}},
	}
	kind := rapid.SampledFrom(kinds).Draw(w.t, "what is used")
	mark := firstMark + rune(len(w.exact))
	w.exact[mark] = namesOf(kind.uses)
	return kind.expression + " | upper | list | join('" + strings.Repeat(string(mark), 4) + "')"
}

// arithmetic returns an expression that makes a digit of names, with its mark on both sides.
func (w *world) arithmetic(a, b string, names ...string) string {
	mark := firstDigitMark + rune(len(w.digits))
	w.digits[mark] = namesOf(names)
	kind := rapid.SampledFrom([]string{"((%s | length) + 3 * (%s | length)) %% 10", "(%s ~ %s) | length %% 10", "((%s | upper | length) - (%s | length) + 7) %% 10"}).Draw(w.t, "arithmetic")
	return fmt.Sprintf("'%c' ~ ("+kind+") ~ '%c'", mark, a, b, mark)
}

// secretText returns a template that a secret has gone into, or has decided.
func (w *world) secretText() string {
	kinds := []string{
		"{{ secrets.KEY | urlencode | upper }}" + w.literal() + "{{ " + w.reference() + " }} of {{ secrets.KEY }}",
		"{{ (secrets.KEY | length + 1) * 10000 }}, {{ " + w.reference() + " }}",
		"{% for c in secrets.KEY | list %}{{ c }}{% endfor %}, {{ " + w.reference() + " }}",
		"{% for c in secrets.PARTS.split('+') %}{{ c }} and then, {% endfor %}{{ " + w.reference() + " }}",
		"{% if secrets.KEY | length > 5 %}it is long{% endif %}, {{ " + w.reference() + " }}",
		"{{ secrets.KEY.split('+')[2] }}, {{ " + w.reference() + " }}",
	}
	if !w.inner {
		kinds = append(kinds, "{% for c in secrets.PARTS.split('+') %}{{ c }} and {{ "+w.input()+" | list | join('°°°°') }}°, {% endfor %}")
	}
	return w.literal() + rapid.SampledFrom(kinds).Draw(w.t, "what is made of a secret") + w.literal()
}

// text returns the double-quoted YAML of a text, which is a literal, one expression, or a
// template.
func (w *world) text() string {
	var b strings.Builder
	if w.whole && !w.inner && rapid.IntRange(0, 3).Draw(w.t, "of a whole") == 0 {
		return strconv.Quote(w.wholeText())
	}
	kind := rapid.IntRange(0, 8).Draw(w.t, "kind of text")
	if w.inner && (kind == 4 || kind == 7 || kind == 8) {
		kind = 0 // computed texts name inputs of the sub-flow, which the test does not know
	}
	switch kind {
	case 0:
		b.WriteString(w.literal())
	case 1:
		b.WriteString("{{ " + w.reference() + " }}")
	case 2:
		b.WriteString(w.literal() + "{{ " + w.reference() + " }} - {{ " + w.reference() + " }}" + w.literal())
	case 3:
		b.WriteString("{{ " + w.reference() + "[1:3] }}/{{ " + w.reference() + " | trim }}")
	case 4:
		b.WriteString("{{ " + w.input() + computed + " }}.{{ " + w.input() + " ~ " + w.input() + " }}" + w.literal())
	case 7:
		b.WriteString(w.literal() + "{{ " + w.used() + " }}" + w.literal())
	case 8:
		first, second := w.input(), w.input()
		b.WriteString(w.literal() + "{{ " + w.arithmetic(first, second, first, second) + " }}" + w.literal())
	case 5:
		b.WriteString("{% macro wrap(z) %}" + w.literal() + "{{ z }}{% endmacro %}{% set v %}{{ " + w.input() + " }}+" + w.literal() + "{% endset %}")
		b.WriteString("{{ wrap(v) }}{{ wrap('" + w.literal() + "') }}{{ [" + w.input() + ", v] | join('/') }}{{ [v, 'x'] | first }}")
	default:
		b.WriteString("{% for x in [" + w.reference() + ", '" + w.literal() + "'] %}{{ x }},{% endfor %}{{ question }}")
	}
	return strconv.Quote(b.String())
}

// step begins a step and returns its id.
func (w *world) step(call string) string {
	w.steps++
	id := fmt.Sprintf("s%d", w.steps)
	w.printf("  - id: %s\n    call: %s\n    with:\n", id, call)
	return id
}

func (w *world) messages(key string, count int) {
	w.printf("      %s:\n", key)
	for i := range count {
		role := []string{"user", "assistant", "system"}[(i+w.steps)%3]
		w.printf("        - role: %s\n", role)
		if w.chance("parts") {
			w.printf("          content:\n")
			w.printf("            - {type: text, text: %s}\n", w.text())
			w.printf("            - {type: text, text: %s}\n", w.text())
			continue
		}
		w.printf("          content: %s\n", w.text())
	}
}

func (w *world) templateStep() {
	id := w.step("template")
	made := ""
	first, second := w.input(), w.input()
	if !w.inner {
		made = "{{ " + w.arithmetic("c", "d", first, second) + " }}{% set v = c ~ d %}{{ v" + computed + " }}" +
			"{% filter upper %}" + "{{ c | list | join('°°°°') }}{% endfilter %}{{ (c if d else a)" + computed + " }}"
	}
	w.printf("      template: %q\n", w.literal()+"{{ a }}{{ b[1:] }}"+w.literal()+"{% for x in list %}({{ x }}){% endfor %}{{ a "+computed+" }}"+made)
	w.printf("      values:\n")
	w.printf("        c: \"{{ %s }}\"\n", first)
	w.printf("        d: \"{{ %s }}\"\n", second)
	w.printf("        a: %s\n", w.text())
	w.printf("        b: %s\n", w.text())
	w.printf("        list:\n")
	w.printf("          - %s\n", w.text())
	w.printf("          - %s\n", w.text())
	w.texts = append(w.texts, id+".text")
}

func (w *world) chatStep() {
	id := w.step("chat")
	w.printf("      model: %s\n", id)
	defer w.failOnce(id)
	switch kind := rapid.IntRange(0, 4).Draw(w.t, "kind of chat"); {
	case kind == 4 && len(w.said) > 0:
		w.printf("      messages: \"{{ conversation + [{'role': 'user', 'content': conversation[1].content[0].text ~ %s}] }}\"\n", w.reference())
	case kind == 0:
		if w.chance("system") {
			w.printf("      system: %q\n", w.secretText())
		}
		w.printf("      user: %s\n", w.text())
	case kind == 1 && len(w.lists) > 0:
		w.printf("      messages: \"{{ %s }}\"\n", rapid.SampledFrom(w.lists).Draw(w.t, "list"))
	case kind == 2 && len(w.lists) > 0:
		list := rapid.SampledFrom(w.lists).Draw(w.t, "list")
		w.printf("      messages: \"{{ %s + [{'role': 'user', 'content': %s}] }}\"\n", list, w.reference())
	default:
		w.messages("messages", rapid.IntRange(1, 3).Draw(w.t, "messages"))
	}
	w.texts = append(w.texts, id+".text")
}

func (w *world) contextStep() {
	id := w.step("context")
	switch {
	case w.chance("identity"):
		w.printf("      identity: %s\n", w.text())
	case !w.inner && w.chance("identity of a file"):
		w.printf("      identity: !file rules%d.txt\n", w.steps)
		file := fmt.Sprintf("rules%d.txt", w.steps)
		w.files += "-- " + file + " --\n" + w.add("file "+file, func(s explain.Source) bool { return s.Kind == explain.SourceFile && s.Name == file && s.PathLine == 1 }) + "\n"
	}
	if !w.inner && w.chance("history of a file") {
		w.printf("      history: !file %s\n", w.dataFile())
	} else if w.chance("history") {
		w.messages("history", 2)
	}
	if w.chance("workspace") && !w.inner {
		w.printf("      workspace: ./ws\n")
		if !strings.Contains(w.files, "SOUL.md") {
			w.files += "-- ws/SOUL.md --\nBe\n" + w.add("SOUL.md", func(s explain.Source) bool { return strings.HasSuffix(s.Path, "SOUL.md") && s.PathLine > 0 }) + "\n"
		}
	}
	if w.chance("channel") && !w.inner {
		w.printf("      channel: %q\n", w.named())
		w.printf("      chat_id: %q\n", w.named())
	}
	if w.chance("memories") {
		w.printf("      memories:\n")
		w.printf("        - %s\n", w.text())
		w.printf("        - text: %s\n", w.text())
	}
	if w.chance("slots") {
		w.printf("      slots:\n")
		w.printf("        before_char: %s\n", w.text())
		w.printf("        after_char: %s\n", w.text())
	}
	if w.chance("message") {
		w.printf("      runtime_context: message\n")
	}
	if w.chance("append") {
		w.printf("      append:\n        - role: assistant\n")
		w.printf("          content: %s\n", w.text())
	}
	w.printf("      current_message: %s\n", w.text())
	w.lists, w.plain = append(w.lists, id+".messages"), append(w.plain, id+".messages")
	w.texts = append(w.texts, id+".system", id+".messages[0].content")
}

// dataFile writes a file of data with two messages, and returns its name.
func (w *world) dataFile() (name string) {
	name = fmt.Sprintf("said%d.%s", w.steps, rapid.SampledFrom([]string{"json", "jsonc", "yaml"}).Draw(w.t, "kind of data"))
	said := func(line, col int) string {
		return w.add("file "+name, func(s explain.Source) bool {
			return s.Kind == explain.SourceFile && s.Name == name && s.Path != "" && s.PathLine == line && s.PathCol == col
		})
	}
	format := "[{\"role\": \"user\", \"content\": \"%s\"},\n{\"role\": \"assistant\",\n \"content\": \"%s\"}]\n"
	first, second := said(1, 30), said(3, 13)
	switch path.Ext(name) {
	case ".jsonc":
		format = "// said before\n" + format
		w.sources = w.sources[:len(w.sources)-2]
		first, second = said(2, 30), said(4, 13)
	case ".yaml":
		format = "- role: user\n  content: %s\n- {role: assistant, content: '%s'}\n"
		w.sources = w.sources[:len(w.sources)-2]
		first, second = said(2, 12), said(3, 30)
	}
	w.files += "-- " + name + " --\n" + fmt.Sprintf(format, first, second)
	return name
}

func (w *world) inchatStep() {
	id := w.step("in-chat")
	if len(w.plain) > 0 && w.chance("given history") {
		w.printf("      history: \"{{ %s }}\"\n", rapid.SampledFrom(w.plain).Draw(w.t, "list"))
	} else if w.chance("own history") {
		w.printf("      history:\n        - role: user\n")
		w.printf("          content: %s\n", w.text())
	}
	w.printf("      presets_in_chat:\n        - position: in-chat\n          depth: %d\n", rapid.IntRange(0, 2).Draw(w.t, "depth"))
	w.printf("          content: %q\n", w.literal())
	w.printf("      world_books:\n        - position: before_char\n          keys: []\n          mode: always\n")
	w.printf("          content: %q\n", w.literal())
	w.printf("        - position: before_char\n          keys: []\n          mode: always\n")
	w.printf("          content: %q\n", w.literal())
	w.lists, w.plain = append(w.lists, id+".messages"), append(w.plain, id+".messages")
	w.texts = append(w.texts, id+".messages[0].content", id+".slots.before_char")
}

func (w *world) inputStep() {
	id := w.step("input")
	w.printf("      config:\n        context_template:\n          - module_name: a\n            segments:\n")
	w.printf("              - type: text\n")
	w.printf("                value: %q\n", w.literal())
	w.printf("              - {type: variable, value: v}\n")
	w.printf("              - {type: variable, value: question}\n")
	w.printf("          - module_name: b\n            segments:\n")
	w.printf("              - type: variable\n                value: w\n")
	w.printf("              - {type: variable, value: short_term_history_content}\n")
	w.printf("              - {type: variable, value: long_term_memory_content}\n")
	w.inputSettings()
	w.printf("      memory:\n        short_term:\n")
	for _, role := range []string{"role: user", "is_user: false"} {
		w.printf("          - %s\n", role)
		w.printf("            content: %s\n", w.text())
	}
	w.printf("        long_term:\n")
	w.printf("          - text: %s\n", w.text())
	w.printf("          - score: 0.5\n")
	w.printf("            text: %s\n", w.text())
	w.printf("      variables:\n")
	w.printf("        v: %s\n", w.text())
	w.printf("        w: %s\n", w.text())
	w.texts = append(w.texts, id+".prompt")
}

// inputSettings writes the texts that the call input puts between and around others.
func (w *world) inputSettings() {
	w.printf("        settings:\n          max_long_term_memory_results: 2\n")
	for _, s := range []struct{ key, format string }{
		{"prompt_separator", "%s"}, {"segment_separator", "%s"}, {"short_term_format", "%s{role}:{content};%[1]s"},
		{"long_term_format", "{score}%s{text}{text}"}, {"long_term_format_unscored", "%s{text}"}, {"user_label", "%s"}, {"assistant_label", "%s"},
	} {
		if w.chance(s.key) {
			w.printf("          %s: %q\n", s.key, fmt.Sprintf(s.format, w.literal()))
		}
	}
}

func (w *world) agentStep() {
	id := w.step("agent")
	w.printf("      model: %s\n", id)
	if w.chance("messages") && len(w.lists) > 0 {
		w.printf("      messages: \"{{ %s }}\"\n", rapid.SampledFrom(w.lists).Draw(w.t, "list"))
	} else {
		w.printf("      system: %s\n", w.text())
		if w.chance("prompt") {
			w.printf("      prompt: %s\n", w.text())
		}
	}
	if w.chance("cut") {
		w.printf("      max_result_bytes: 256\n")
	}
	w.printf("      tools: {calls: [{call: lookup}]}\n")
	w.texts = append(w.texts, id+".text")
	w.lists = append(w.lists, id+".messages")
}

func (w *world) summaryStep() {
	id := w.step("summary")
	w.printf("      model: %s\n", id)
	switch rapid.IntRange(0, 2).Draw(w.t, "what to sum up") {
	case 0:
		w.printf("      text: %s\n", w.text())
	case 1:
		w.messages("messages", 2)
	}
	w.printf("      instructions: %s\n", w.text())
	w.failOnce(id)
	w.texts = append(w.texts, id+".text", "summary")
}

func (w *world) factsStep() {
	id := w.step("facts")
	w.printf("      model: %s\n", id)
	w.printf("      text: %s\n", w.text())
	w.printf("      known:\n")
	w.printf("        - %s\n", w.text())
	w.texts = append(w.texts, id+".facts[0]", "facts[0]")
}

func (w *world) choiceStep() {
	id := w.step("choice")
	w.printf("      model: %s\n", id)
	if w.chance("question") {
		w.printf("      question: %s\n", w.text())
	}
	w.printf("      values:\n")
	w.printf("        one: %s\n", w.text())
	w.printf("        more:\n")
	w.printf("          - %s\n", w.text())
	w.printf("      choices:\n        - branch: a\n")
	w.printf("          description: %s\n", w.text())
	w.printf("        - branch: b\n          default: true\n")
	w.printf("          description: %s\n", w.text())
}

func (w *world) slotStep() {
	id := w.step("slot")
	w.printf("      data:\n")
	w.printf("        known: %s\n", w.text())
	w.printf("      current_schema: {type: object, required: [known, rest], properties: {known: {type: string}, rest: {type: string}}}\n")
	w.printf("      step_num: %d\n", rapid.IntRange(0, 3).Draw(w.t, "steps"))
	w.printf("    on_missing: return\n")
	w.texts = append(w.texts, id+".slot_data.known")
}

func (w *world) eachStep() {
	w.steps++
	id := fmt.Sprintf("s%d", w.steps)
	w.printf("  - id: %s\n    call: chat\n    for_each:\n", id)
	w.printf("      - %s\n", w.text())
	w.printf("      - %s\n", w.text())
	w.printf("    with:\n      model: %s\n", id)
	w.printf("      user: \"{{ item }}{{ index }}\"\n")
	w.texts = append(w.texts, id+"[1].text", id+"[0].text")
}

func (w *world) flowStep() {
	id := w.step("flow")
	w.printf("      path: sub.yaml\n      inputs:\n")
	w.printf("        one: %s\n", w.text())
	w.printf("        two: %s\n", w.text())
	w.texts = append(w.texts, id+".reply", id+".made")
}

// failOnce lets the model fail at the first request of the step that was just written: it is
// retried, or the run is resumed.
func (w *world) failOnce(id string) {
	switch rapid.IntRange(0, 5).Draw(w.t, "failure") {
	case 0:
		w.printf("    retry: {max_attempts: 2}\n")
		w.flaky[id] = llm.Error{Message: "busy", Temporary: true}
	case 1:
		if !w.inner {
			w.flaky[id] = llm.Error{Message: "no", Status: 400}
		}
	}
}

// eachFlowStep runs the sub-flow for items.
func (w *world) eachFlowStep() {
	w.steps++
	id := fmt.Sprintf("s%d", w.steps)
	w.printf("  - id: %s\n    call: flow\n    for_each:\n", id)
	w.printf("      - %s\n", w.text())
	w.printf("      - %s\n", w.text())
	w.printf("    with:\n      path: sub.yaml\n      inputs:\n        one: \"{{ item }}\"\n")
	w.printf("        two: %s\n", w.text())
	w.texts = append(w.texts, id+"[0].reply", id+"[1].made")
}

func (w *world) httpStep() {
	id := w.step("http")
	w.printf("      url: http://host/%s\n", id)
	w.bodies["/"+id] = w.add(id, isOfStep(id))
	w.texts = append(w.texts, id+".body")
}

func isOfStep(id string) func(explain.Source) bool {
	return func(s explain.Source) bool { return s.Kind == explain.SourceStep && s.Step == id }
}

// quoteStep runs a call that reports the sources of two of its texts, but not of a third.
func (w *world) quoteStep() {
	id := w.step("quote")
	w.printf("      word: %q\n", w.add(id, isOfStep(id)))
	w.printf("      a: %s\n", w.text())
	w.printf("      b: %s\n", w.text())
	w.texts = append(w.texts, id+".text")
}

// fillStep is a step whose parameters a model fills.
func (w *world) fillStep() {
	id := w.step("agent")
	w.printf("      model: %s\n", id)
	w.printf("      prompt: %s\n", w.text())
	w.printf("      system: %s\n", w.text())
	w.printf("      tools: {calls: [{call: lookup}]}\n")
	w.printf("    enable_filling: true\n    override_input: {prompt: {type: string}}\n")
	w.texts = append(w.texts, id+".text")
}

// writeSub writes the flow that others run.
func (w *world) writeSub() {
	w.inner, w.file, w.steps = true, "sub.yaml", 100
	w.printf("inputs: {type: object, properties: {one: {type: string}, two: {type: string}}}\nsteps:\n")
	w.writeSteps(rapid.IntRange(1, 2).Draw(w.t, "inner steps"), []func(){w.templateStep, w.chatStep, w.contextStep, w.inchatStep})
	w.templateStep()
	w.printf("outputs:\n")
	w.printf("  reply: %s\n", w.text())
	w.printf("  made: \"{{ %s }}\"\n", w.texts[len(w.texts)-1])
	w.inner, w.file, w.steps, w.texts, w.lists, w.plain = false, "flow.yaml", 0, nil, nil, nil
}

func (w *world) writeSteps(count int, kinds []func()) {
	for range count {
		rapid.SampledFrom(kinds).Draw(w.t, "step")()
	}
}

// newWorld draws a flow.
func newWorld(t *rapid.T) *world {
	w := &world{t: t, file: "flow.yaml", inputs: value.NewMap(0),
		exact: map[rune][]string{}, digits: map[rune][]string{}, bodies: map[string]string{}, flaky: map[string]llm.Error{}}
	w.whole = w.chance("whole outputs")
	w.inputs.Set("question", value.OfString(w.add("inputs.question", isInput("question"))))
	if w.chance("conversation") {
		for _, at := range []string{"0.content", "1.content.0.text", "1.content.1.text", "2.content"} {
			name := "conversation." + at
			w.said = append(w.said, w.add(name, func(s explain.Source) bool { return s.Kind == explain.SourceConversation && s.Name == name }))
		}
	}
	w.writeSub()
	if len(w.said) > 0 {
		w.texts = append(w.texts, "conversation[0].content", "conversation[1].content[1].text")
	}
	w.printf("inputs: {type: object}\nsteps:\n")
	w.writeSteps(rapid.IntRange(2, 7).Draw(t, "steps"), []func(){
		w.templateStep, w.chatStep, w.contextStep, w.inchatStep, w.inputStep, w.agentStep, w.summaryStep,
		w.factsStep, w.choiceStep, w.slotStep, w.eachStep, w.flowStep, w.contextStep,
		w.eachFlowStep, w.httpStep, w.quoteStep, w.fillStep,
	})
	if w.whole {
		w.writeSteps(rapid.IntRange(1, 4).Draw(t, "steps of wholes"), []func(){
			w.wholeChat, w.wholeContext, w.wholePartsContext, w.wholeInchat, w.wholeEach, w.wholeSummary, w.wholeTemplate,
		})
	}
	w.chatStep()
	w.printf("outputs: {x: 1}\n")
	return w
}
