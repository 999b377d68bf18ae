package explain_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// A source is a text of a random flow. In the first campaign no character of it stands
// anywhere else, in the second all sources hold the same text.
type source struct {
	// name is how the source begins as something that a text was computed from.
	name    string
	matches func(explain.Source) bool
}

// gave reports whether a piece with these sources came from the source, or was computed
// from it.
func (s source) gave(way []explain.Source) bool {
	if len(way) == 0 {
		return false
	}
	isFrom := func(name string) bool {
		return strings.HasPrefix(name, s.name) || strings.Contains(name, "/"+s.name) || strings.Contains(name, " "+s.name)
	}
	return s.matches(way[0]) || way[0].Kind == explain.SourceComputed && slices.ContainsFunc(way[0].From, isFrom)
}

const (
	sourceRunes = 4
	firstRune   = '一' // a block of 20,000 letters that nothing lowers, trims or escapes
)

// textOf returns the text of a source in the first campaign.
func textOf(number int) string {
	text := make([]rune, sourceRunes)
	for i := range text {
		text[i] = firstRune + rune(number*sourceRunes+i)
	}
	return string(text)
}

// equalTexts returns a text with that of every source replaced by the same.
func equalTexts(text string) string {
	return strings.Map(func(r rune) rune {
		if r < firstRune || r > firstRune+20000 {
			return r
		}
		return firstRune + (r-firstRune)%sourceRunes
	}, text)
}

// world is a random flow with all that is around it.
type world struct {
	t       *rapid.T
	flow    strings.Builder
	file    string // that is being written
	sub     strings.Builder
	inputs  *value.Map
	files   string
	sources []source
	// Names of steps by what their output has.
	texts, lists []string // expressions of a text, and of a list of messages
	plain        []string // lists without tools
	steps        int
	inner        bool // the sub-flow is being written
	asked        []string
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

// literal returns a text that stands in the line of the flow that is written next.
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
	if len(w.texts) > 0 && rapid.IntRange(0, 2).Draw(w.t, "from a step") > 0 {
		return rapid.SampledFrom(w.texts).Draw(w.t, "text")
	}
	return w.input()
}

// input returns an expression for an input of the flow.
func (w *world) input() string {
	if w.inner {
		return rapid.SampledFrom([]string{"inputs.one", "inputs.two"}).Draw(w.t, "inner input")
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

// text returns the double-quoted YAML of a text, which is a literal, one expression, or a
// template.
func (w *world) text() string {
	var b strings.Builder
	kind := rapid.IntRange(0, 5).Draw(w.t, "kind of text")
	if w.inner && kind == 4 {
		kind = 0 // what is computed names inputs of the sub-flow, of which the test knows nothing
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
		b.WriteString("{{ " + w.input() + " | upper }}.{{ " + w.input() + " ~ " + w.input() + " }}" + w.literal())
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
	w.printf("      template: %q\n", w.literal()+"{{ a }}{{ b[1:] }}"+w.literal()+"{% for x in list %}({{ x }}){% endfor %}{{ a | upper }}")
	w.printf("      values:\n")
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
	switch kind := rapid.IntRange(0, 3).Draw(w.t, "kind of chat"); {
	case kind == 0:
		if w.chance("system") {
			w.printf("      system: %s\n", w.text())
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
	}
	if w.chance("history") {
		w.messages("history", 2)
	}
	w.printf("      current_message: %s\n", w.text())
	w.lists, w.plain = append(w.lists, id+".messages"), append(w.plain, id+".messages")
	w.texts = append(w.texts, id+".system", id+".messages[0].content")
}

func (w *world) inchatStep() {
	id := w.step("in-chat")
	if len(w.plain) > 0 && w.chance("given history") {
		w.printf("      history: \"{{ %s }}\"\n", rapid.SampledFrom(w.plain).Draw(w.t, "list"))
	} else {
		w.printf("      history:\n        - role: user\n")
		w.printf("          content: %s\n", w.text())
	}
	w.printf("      presets_in_chat:\n        - position: in-chat\n          depth: %d\n", rapid.IntRange(0, 2).Draw(w.t, "depth"))
	w.printf("          content: %q\n", w.literal())
	w.printf("      world_books:\n        - position: before_char\n          keys: []\n          mode: always\n")
	w.printf("          content: %q\n", w.literal())
	w.lists, w.plain = append(w.lists, id+".messages"), append(w.plain, id+".messages")
	w.texts = append(w.texts, id+".messages[0].content")
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
	w.printf("      variables:\n")
	w.printf("        v: %s\n", w.text())
	w.printf("        w: %s\n", w.text())
	w.texts = append(w.texts, id+".prompt")
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
	w := &world{t: t, file: "flow.yaml", inputs: value.NewMap(0)}
	w.inputs.Set("question", value.OfString(w.add("inputs.question", isInput("question"))))
	w.writeSub()
	w.printf("inputs: {type: object}\nsteps:\n")
	w.writeSteps(rapid.IntRange(2, 7).Draw(t, "steps"), []func(){
		w.templateStep, w.chatStep, w.contextStep, w.inchatStep, w.inputStep, w.agentStep, w.summaryStep,
		w.factsStep, w.choiceStep, w.slotStep, w.eachStep, w.flowStep, w.contextStep,
	})
	w.chatStep()
	w.printf("outputs: {x: 1}\n")
	return w
}

// model answers every request with a text of its own.
type model struct {
	isEqual bool
	mu      sync.Mutex // guards asked
	asked   []string   // the steps, which have their ids as models
}

// firstAnswer is the number of the first source that is an answer.
const firstAnswer = 3000

func (m *model) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := textOf(firstAnswer + len(m.asked))
	m.asked = append(m.asked, req.Model)
	if m.isEqual {
		text = equalTexts(text)
	}
	answer := scripted.Answer{Text: text}
	all := fmt.Sprintf("%s%s", req.Tools, req.ResponseSchema)
	last := string(req.Messages[len(req.Messages)-1])
	switch {
	case strings.Contains(all, "fill_arguments"), strings.Contains(last, "<tool_info>"):
		answer.Text = "{}"
	case strings.Contains(all, `"branch"`):
		answer.Text = `{"reason": "so", "branch": "b"}`
	case strings.Contains(all, `"facts"`):
		answer.Text = `{"facts": [], "domain": []}`
	case strings.Contains(all, "lookup") && !strings.Contains(last, `"tool"`):
		answer.ToolCalls = []llm.ToolCall{{ID: "1", Name: "lookup", Arguments: `{"x":"` + text + `"}`}}
	}
	return scripted.New(answer).Chat(ctx, req)
}

// remembered is a memory with one utterance.
type remembered struct {
	calls.Memory
	text string
}

func (r remembered) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) {
	return []plugins.Turn{{Role: "user", Content: r.text}}, nil
}

// toolText and memoryText are the sources of the tool's result, and of the memory.
const toolSource, memorySource = 2999, 2998

// run runs the world in one of the campaigns.
func (w *world) run(t *testing.T, isEqual bool) *schedulertest.Result {
	asked := &model{isEqual: isEqual}
	as := func(text string) string {
		if isEqual {
			return equalTexts(text)
		}
		return text
	}
	lookup := calls.Func("lookup", calls.Text{En: "Looks up."}, func(context.Context, *calls.Env, struct {
		X string `json:"x"`
	},
	) (map[string]string, error) {
		return map[string]string{"text": as(textOf(toolSource))}, nil
	})
	text := as(w.flow.String() + "-- sub.yaml --\n" + w.sub.String() + w.files)
	r := schedulertest.Run(t, text, schedulertest.With(append(builtin.Calls(), lookup)...),
		schedulertest.LLM(asked), schedulertest.Inputs(as(value.OfMap(w.inputs).JSON())),
		schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Env.Memory = remembered{e.Env.Memory, as(textOf(memorySource))}
			e.Env.Tokens = bytesCounter{}
		}))
	if r.Err != nil {
		t.Fatalf("%v\n%s", r.Err, text)
	}
	w.asked = asked.asked
	return r
}

// attributed is a byte of a prompt with the way of it.
type attributed struct {
	text    string
	sources [][]explain.Source // by byte
}

// explainAll returns the messages of all prompts of a run, each with its sources.
func explainAll(t *testing.T, r *schedulertest.Result) (names []string, all map[string]attributed) {
	all = map[string]attributed{}
	state := r.State()
	for _, st := range state.Steps {
		for _, run := range append([]*journal.StepState{st}, st.Items...) {
			prompts, err := explain.Explain(context.Background(), r.Flow, state, run.ID, bytesCounter{})
			if err != nil {
				continue // it has none
			}
			for n, e := range prompts {
				for i, m := range e.Messages {
					var a attributed
					for _, p := range m.Pieces {
						a.text += p.Text
						for range len(p.Text) {
							a.sources = append(a.sources, p.Sources)
						}
					}
					name := fmt.Sprintf("%s prompt %d of %s message %d", run.ID, n, e.Step, i)
					names = append(names, name)
					all[name] = a
				}
			}
		}
	}
	return names, all
}

// truth returns the source of a byte of the first campaign.
func (w *world) truth(r rune) (source, bool) {
	number := int(r-firstRune) / sourceRunes
	switch {
	case r < firstRune || number > firstAnswer+1000:
		return source{}, false
	case number == toolSource:
		return source{"the tool", func(s explain.Source) bool { return s.Kind == explain.SourceTool && s.Name == "lookup" }}, true
	case number == memorySource:
		return source{"the memory", func(s explain.Source) bool { return s.Kind == explain.SourceMemory }}, true
	case number >= firstAnswer:
		step := w.asked[number-firstAnswer]
		return source{step, func(s explain.Source) bool {
			id, _, _ := strings.Cut(s.Step[strings.LastIndexByte(s.Step, '/')+1:], "[")
			return s.Kind == explain.SourceModel || s.Kind == explain.SourceStep && id == step
		}}, true
	}
	return w.sources[number], true
}

// Every byte of every prompt is attributed to the source that really gave it, also where
// all sources hold the same text.
func TestEveryByteHasItsSource(t *testing.T) {
	bytes, cases, prompts := 0, 0, 0
	limit := 20
	if os.Getenv("SCHEDULER_SLOW_TESTS") != "" {
		limit = math.MaxInt
	}
	rapid.Check(t, func(rt *rapid.T) {
		if cases == limit {
			return
		}
		w := newWorld(rt)
		unique, equal := w.run(t, false), w.run(t, true)
		names, first := explainAll(t, unique)
		_, second := explainAll(t, equal)
		for _, name := range names {
			prompts++
			a, b := first[name], second[name]
			if len(a.text) != len(b.text) {
				rt.Fatalf("%s: %d bytes, with equal texts %d:\n%s\n%s\n%s", name, len(a.text), len(b.text), w.flow.String(), a.text, b.text)
			}
			for i, r := range a.text {
				bytes += len(string(r))
				from := a.sources[i]
				if want, ok := w.truth(r); ok && !want.gave(from) {
					rt.Fatalf("%s, byte %d: %q is of %s, got %+v\n%s\n-- sub.yaml --\n%s\n%s", name, i, string(r), want.name, from, w.flow.String(), w.sub.String(), a.text)
				}
				if x, y := wayOf(from), wayOf(b.sources[i]); x != y {
					rt.Fatalf("%s, byte %d (%q): %s, with equal texts %s\n%s\n%s", name, i, string(r), x, y, w.flow.String(), a.text)
				}
			}
		}
		cases++
	})
	t.Logf("%d cases, %d messages, %d bytes in each campaign", cases, prompts, bytes)
	if prompts < cases {
		t.Error("most flows sent nothing")
	}
}

func wayOf(sources []explain.Source) string {
	p := explain.Piece{Sources: sources}
	return equalTexts(p.Way())
}
