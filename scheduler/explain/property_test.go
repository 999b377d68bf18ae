package explain_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

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
	"github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/test/slow"
)

// A source is a text of a random flow. In the first campaign each character of it occurs nowhere else, in the
// second all sources hold the same text.
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
	isOfAnswer := slices.Contains(way[0].From, "the model's answer") && slices.ContainsFunc(way[1:], s.matches)
	isComputed := way[0].Kind == explain.SourceComputed
	return s.matches(way[0]) || isComputed && (isOfAnswer || slices.ContainsFunc(way[0].From, isFrom))
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

// equalTexts returns a text in which the text of every source is replaced by the same one.
func equalTexts(text string) string {
	return strings.Map(func(r rune) rune {
		if r < firstRune || r > firstRune+20000 {
			return r
		}
		return firstRune + (r-firstRune)%sourceRunes
	}, text)
}

// computed are filters whose result is no copy; their result has a mark at every letter.
const (
	computed     = " | upper | list | join('°°°°')" // slices do not part a letter from all of them
	computedMark = '°'
)

// isComputed reports whether the letter at a byte of a text was made by filters, or is in
// the JSON of a value.
func isComputed(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	_, size := utf8.DecodeRuneInString(text[at:])
	after, _ := utf8.DecodeRuneInString(text[at+size:])
	if standsInCalls(text, at) {
		return true
	}
	return isMark(before) || isMark(after)
}

// isMark reports whether a letter is a mark between computed letters.
func isMark(r rune) bool { return r == computedMark || r >= firstMark && r < firstMark+1000 }

// standsInCalls reports whether a byte belongs to tool calls, which are the printed form of values. A call whose
// id was there before gets another one, 1_2.
func standsInCalls(text string, at int) bool {
	calls := strings.Index(text, `[{"id":"1`)
	return calls >= 0 && calls < at
}

// checkDigit returns the problem with the names of a byte that [world.arithmetic] has made, or "".
func (w *world) checkDigit(a attributed, i int) (problem string) {
	if a.text[i] < '0' || a.text[i] > '9' {
		return ""
	}
	before, _ := utf8.DecodeLastRuneInString(a.text[:i])
	after, _ := utf8.DecodeRuneInString(a.text[i+1:])
	want, isMark := w.digits[before]
	if !isMark || before != after {
		return ""
	}
	return checkFrom(a.pieces[i].sources[0], want)
}

// checkFrom returns the problem with the source of a text that was computed from names, or "".
func checkFrom(s explain.Source, names []string) (problem string) {
	if s.Kind != explain.SourceComputed || !slices.Equal(slices.Sorted(slices.Values(s.From)), names) {
		return fmt.Sprintf("computed from %v", names)
	}
	return ""
}

// checkNames returns the problem with the names of a computed letter, or "": they must be the values that its
// expression uses, no more and no fewer.
func (w *world) checkNames(a attributed, i int) (problem string) {
	before, _ := utf8.DecodeLastRuneInString(a.text[:i])
	_, size := utf8.DecodeRuneInString(a.text[i:])
	after, _ := utf8.DecodeRuneInString(a.text[i+size:])
	want, ok := w.exact[before]
	if !ok {
		want, ok = w.exact[after]
	}
	if !ok || standsInCalls(a.text, i) || before == computedMark || after == computedMark {
		return ""
	}
	return checkFrom(a.pieces[i].sources[0], want)
}

// model answers every request with a text of its own.
type model struct {
	isEqual bool
	mu      sync.Mutex // guards asked
	asked   []string   // the steps, which have their ids as models
	flaky   map[string]llm.Error
	rounds  int // how often agents use their tools
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
	if failure, ok := m.flaky[req.Model]; ok {
		delete(m.flaky, req.Model)
		return scripted.New(scripted.Answer{Error: &failure}).Chat(ctx, req)
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
	case strings.Contains(all, "lookup") && m.usesTool(req):
		answer.ToolCalls = []llm.ToolCall{{ID: "1", Name: "lookup", Arguments: `{"x":"` + text + `"}`}}
	}
	return scripted.New(answer).Chat(ctx, req)
}

// usesTool reports whether an agent continues with a tool.
func (m *model) usesTool(req *llm.Request) bool {
	used := 0
	for _, message := range req.Messages {
		if strings.Contains(string(message), `"role":"tool"`) {
			used++
		}
	}
	return used < m.rounds
}

// remembered is a memory with one utterance.
type remembered struct {
	calls.Memory
	text string
}

func (r remembered) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) {
	return []plugins.Turn{{ID: "memory_1", Role: "user", Content: r.text}}, nil
}

// conversation returns the messages before the question; every second world has none, and uses the memory instead.
func (w *world) conversation(as func(string) string) value.Value {
	if len(w.said) == 0 {
		return value.Value{}
	}
	return value.Must([]any{
		map[string]any{"role": "user", "content": as(w.said[0])},
		map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": as(w.said[1])}, map[string]any{"type": "text", "text": as(w.said[2])}}},
		map[string]any{"role": "developer", "content": as(w.said[3])},
	})
}

// toolSource and memorySource are the sources of the tool's result, and of the memory.
const toolSource, memorySource = 2999, 2998

// toolText is the result of the tool: agents may cut it.
var toolText = textOf(toolSource) + strings.Repeat(".", 300)

// nothingToSend is in the error of a flow that asks a model with messages that the repair of histories removes,
// for example a lone result of a tool.
const nothingToSend = "a model needs at least one message"

// run runs the world in one of the campaigns.
func (w *world) run(t *testing.T, isEqual bool) *schedulertest.Result {
	asked := &model{isEqual: isEqual, flaky: maps.Clone(w.flaky), rounds: 1 + len(w.sources)%3}
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
		return map[string]string{"text": as(toolText)}, nil
	})
	left := len(w.flaky) + 1
	text := as(w.flow.String() + "-- sub.yaml --\n" + w.sub.String() + w.files)
	r := schedulertest.Run(t, text, schedulertest.With(append(builtin.Calls(), lookup, quoteCall())...), schedulertest.Secret("KEY", "hunter+2+secret"), schedulertest.Secret("PARTS", "hunter+second+hidden"),
		schedulertest.LLM(asked), schedulertest.Inputs(as(value.OfMap(w.inputs).JSON())),
		schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Env.Memory = remembered{e.Env.Memory, as(textOf(memorySource))}
			e.Conversation = w.conversation(as)
			e.Env.Tokens = bytesCounter{}
			e.Env.HTTP = server{w.bodies, as}
			e.Journal = memory.New(nil)
		}))
	for r.Err != nil && len(asked.flaky) < left {
		left = len(asked.flaky)
		before, events := r, r.Events
		r = r.Resume(scheduler.Resumption{})
		r.Events = append(events[:len(events):len(events)], r.Events...)
		checkResumed(t, before, r)
	}
	if r.Err != nil && !strings.Contains(r.Err.Error(), nothingToSend) {
		t.Fatalf("%v\n%s", r.Err, text)
	}
	if !isEqual { // items ask in any order
		w.asked = asked.asked
	}
	return r
}

// server answers requests by their paths.
type server struct {
	bodies map[string]string
	as     func(string) string
}

func (s server) Do(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body: io.NopCloser(strings.NewReader(s.as(s.bodies[req.URL.Path]))),
	}, nil
}

type quoteParams struct {
	Word string `json:"word"`
	A    string `json:"a"`
	B    string `json:"b"`
}

type quoted struct {
	Text  string       `json:"text"`
	Parts []calls.Part `json:"parts"`
}

// quoteCall reports the places of a and b in its text, as plugins do.
func quoteCall() calls.Definition {
	return calls.Func("quote", calls.Text{En: "Quotes."}, func(_ context.Context, _ *calls.Env, p quoteParams) (quoted, error) {
		_, first := utf8.DecodeRuneInString(p.B)
		out := quoted{Text: "<" + p.A + ">" + p.Word + p.B[first:]}
		out.Parts = []calls.Part{
			{Kind: "quote", Name: "a", Start: 1, End: 1 + len(p.A), Included: true, Origins: []calls.Origin{{End: len(p.A), Pointer: "/a"}}},
			{Kind: "quote", Name: "b", Start: len(out.Text) - len(p.B[first:]), End: len(out.Text), Included: true, Origins: []calls.Origin{{End: len(p.B) - first, Pointer: "/b", From: first}}},
		}
		return out, nil
	})
}

// attributed is a message of a prompt.
type attributed struct {
	text   string
	pieces []attributedByte
}

// attributedByte is the source of a byte, with its place in its piece.
type attributedByte struct {
	sources []explain.Source
	json    string // of the sources
	at      int
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
				if e.Unrecorded {
					t.Errorf("%s: the run has not recorded all spans", run.ID)
				}
				for i, m := range e.Messages {
					var a attributed
					for _, p := range m.Pieces {
						a.text += p.Text
						written := sourcesJSON(p.Sources)
						for at := range len(p.Text) {
							a.pieces = append(a.pieces, attributedByte{p.Sources, written, at})
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

// checkResumed fails if the explanation of a prompt that was sent before a run was resumed differs from the
// explanation after it.
func checkResumed(t *testing.T, before, after *schedulertest.Result) {
	t.Helper()
	names, first := explainAll(t, before)
	_, second := explainAll(t, after)
	for _, name := range names {
		a, b := first[name], second[name]
		if a.text != b.text || !slices.EqualFunc(a.pieces, b.pieces, func(x, y attributedByte) bool { return x.json == y.json }) {
			t.Errorf("%s: %q, and after the run was resumed %q", name, a.text, b.text)
		}
	}
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
		return source{"the memory", func(s explain.Source) bool { return s.Kind == explain.SourceMemory && s.Name == "memory_1" }}, true
	case number >= firstAnswer:
		step := w.asked[number-firstAnswer]
		return source{step, func(s explain.Source) bool {
			id, _, _ := strings.Cut(s.Step[strings.LastIndexByte(s.Step, '/')+1:], "[")
			return s.Kind == explain.SourceModel || s.Kind == explain.SourceStep && id == step
		}}, true
	}
	return w.sources[number], true
}

// Every byte of every prompt is attributed to the source that really gave it, even if all sources hold the same
// text.
func TestEveryByteHasItsSource(t *testing.T) {
	bytes, cases, prompts := 0, 0, 0
	limit := 6
	if slow.Enabled() {
		limit = math.MaxInt
	}
	rapid.Check(t, func(rt *rapid.T) {
		if cases == limit {
			return
		}
		w := newWorld(rt)
		unique, equal := w.run(t, false), w.run(t, true)
		if unique.Err != nil || equal.Err != nil {
			rt.Skip(unique.Err, equal.Err)
		}
		w.readFiles(unique)
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
				from := a.pieces[i].sources
				if want, ok := w.truth(r); ok && !want.gave(from) && !w.isNamed(from, r) {
					rt.Fatalf("%s, byte %d: %q is of %s, got %+v\n%s\n-- sub.yaml --\n%s\n%s", name, i, string(r), want.name, from, w.flow.String(), w.sub.String(), a.text)
				}
				if problem := w.checkSpan(a, i); problem != "" {
					rt.Fatalf("%s, byte %d (%q): %s: %s\n%q\n%s\n-- sub.yaml --\n%s\n%s", name, i, string(r), problem, sourcesJSON(from), a.text[max(0, i-160):min(len(a.text), i+60)], w.flow.String(), w.sub.String(), a.text)
				}
				problem := w.checkDigit(a, i)
				if _, isUnique := w.truth(r); isUnique { // the words of a call may follow a mark at which it has cut
					problem = w.checkNames(a, i)
				}
				if problem != "" && !w.whole { // letters of expressions are computed again
					rt.Fatalf("%s, byte %d (%q): %s: %s\n%s\n%s", name, i, string(r), problem, sourcesJSON(from), w.flow.String(), a.text)
				}
				if x, y := a.pieces[i].json, b.pieces[i].json; x != y {
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

func sourcesJSON(sources []explain.Source) string {
	return equalTexts(value.Must(sources).JSON())
}

// checkSpan returns the problem with the bytes of the first source of a byte, or "": the source, which is read
// here as the test has made it, must have the byte there. Only computed texts have no bytes.
func (w *world) checkSpan(a attributed, i int) (problem string) {
	of := a.pieces[i]
	char, _ := utf8.DecodeRuneInString(a.text[i:])
	if len(of.sources) == 0 {
		return "no source"
	}
	s := of.sources[0]
	if s.Start == nil || s.End == nil {
		if _, isUnique := w.truth(char); isUnique && (s.Start != s.End || !isComputed(a.text, i)) && !w.isNamed(of.sources, char) {
			return "the source has no span"
		}
		if isWords := char < utf8.RuneSelf && !standsInCalls(a.text, i); isWords && isValueKind(s.Kind) {
			return "what stands around texts is of one of them"
		}
		return ""
	}
	if problem := w.checkPlace(s, a.text[i-of.at:]); problem != "" {
		return problem
	}
	whole, known := w.textOfSource(s)
	at := *s.Start + of.at
	if known && (at >= *s.End || *s.End > len(whole) || !strings.HasPrefix(whole[at:], string(char))) {
		return fmt.Sprintf("in %q it does not stand at %d", whole, at)
	}
	return ""
}

// isValueKind reports whether sources of a kind have texts that no character of a call, or of a template, is in.
func isValueKind(kind explain.SourceKind) bool {
	return slices.Contains([]explain.SourceKind{explain.SourceInput, explain.SourceMemory, explain.SourceTool, explain.SourceUser}, kind)
}

// checkPlace returns the problem with the place of a piece of the flow's words, or "": the flow must have its
// first character there, or an escape for it.
func (w *world) checkPlace(s explain.Source, piece string) (problem string) {
	if s.Kind != explain.SourceFlow {
		return ""
	}
	line := []rune(strings.Split(w.content[s.File], "\n")[s.Line-1])
	first, _ := utf8.DecodeRuneInString(piece)
	if s.Col > len(line) || line[s.Col-1] != first && line[s.Col-1] != '\\' {
		return fmt.Sprintf("it does not begin at %s:%d:%d", s.File, s.Line, s.Col)
	}
	return ""
}

// textOfSource returns the text that a source of the first campaign means.
func (w *world) textOfSource(s explain.Source) (text string, known bool) {
	switch s.Kind { //nolint:exhaustive // the others have a file, or none
	case explain.SourceFlow:
		return quotedAt(strings.Split(w.content[s.File], "\n")[s.Line-1], s.Col-1)
	case explain.SourceInput:
		v, _ := w.inputs.Get(strings.TrimPrefix(s.Name, "inputs."))
		return v.Str()
	case explain.SourceConversation:
		v, _ := w.record.Conversation.At("/" + strings.ReplaceAll(strings.TrimPrefix(s.Name, "conversation."), ".", "/"))
		return v.Str()
	case explain.SourceTool:
		return toolText, true
	case explain.SourceMemory:
		return textOf(memorySource), true
	case explain.SourceStep:
		v, _ := w.record.Step(s.Step).Output.At(s.Pointer)
		return v.Str()
	}
	text, known = w.content[s.Path]
	return text, known && s.Path != ""
}

// quotedAt returns the text in quotes around a character of a line.
func quotedAt(line string, char int) (text string, ok bool) {
	at := len(string([]rune(line)[:char]))
	for end := 0; ; {
		start := strings.IndexByte(line[end:], '"')
		if start < 0 || end+start >= at {
			return "", false
		}
		quoted, err := strconv.QuotedPrefix(line[end+start:])
		if err != nil {
			return "", false
		}
		end += start + len(quoted)
		if at < end {
			text, err = strconv.Unquote(quoted)
			return text, err == nil
		}
	}
}

// readFiles splits the files of the first campaign.
func (w *world) readFiles(r *schedulertest.Result) {
	w.record = r.State()
	w.content = map[string]string{"flow.yaml": w.flow.String(), "sub.yaml": w.sub.String()}
	name := ""
	for line := range strings.Lines(w.files) {
		if marked, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(marked, " --\n")
			continue
		}
		w.content[name] += line
	}
}
