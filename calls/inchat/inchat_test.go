package inchat_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, inchat.Definition()) }

// params reads parameters from YAML.
func params(t testing.TB, text string) value.Value {
	t.Helper()
	node, err := yaml.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := yaml.Value(node)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The documented example of the seed, all keys in the order of the entries.
func TestDocumentedExample(t *testing.T) {
	def := inchat.Definition()
	out, err := run(t, def, params(t, def.Info.Examples[0].With), nil)
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := out.Get("messages")
	got := "[\n" + strings.Join(lines(messages), "\n") + "\n]\n"
	want, err := os.ReadFile("testdata/seed.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	trace, _ := out.Get("trace")
	var parts []calls.Part
	if err := value.Decode(trace, &parts); err != nil {
		t.Fatal(err)
	}
	two, three := 2, 3
	wantParts := []calls.Part{
		{Kind: "preset", Name: "示例", Message: &two, End: 18, Text: "系统注入示例", Tokens: 5, Included: true, Reason: "always",
			Code: "included", Origins: calls.FromParam("/presets_in_chat/0/content", "系统注入示例")},
		{
			Kind: "world_book", Name: "艾拉的背景", Message: &three, End: 24, Text: "艾拉是机械工程师", Tokens: 6, Included: true,
			Reason: "condition <<keywords:艾拉,工程师>> is true: found 艾拉",
			Code:   "condition", Origins: calls.FromParam("/world_books/0/0/content", "艾拉是机械工程师"),
		},
	}
	if diff := cmp.Diff(wantParts, parts); diff != "" {
		t.Error(diff)
	}
}

// summary returns the messages outside of the history and the trace, a line each.
func summary(t *testing.T, with string) (contents, trace, warnings []string) {
	t.Helper()
	def := inchat.Definition()
	p := params(t, with)
	if problems := def.Info.Params.Check(p); problems != nil {
		t.Fatal(problems)
	}
	out, err := run(t, def, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if problems := def.Info.Output.Check(out); problems != nil {
		t.Errorf("the output does not fit its schema: %v", problems)
	}
	messages, _ := out.Get("messages")
	for _, m := range messages.List() {
		contents = append(contents, member(m, "content"))
	}
	parts, _ := out.Get("trace")
	for _, part := range parts.List() {
		at := "out"
		if i, ok := part.Get("message"); ok {
			at = i.JSON()
		}
		trace = append(trace, fmt.Sprintf("%s %s %s: %s", member(part, "kind"), member(part, "name"), at, member(part, "reason")))
	}
	list, _ := out.Get("warnings")
	for _, w := range list.List() {
		text, _ := w.Str()
		warnings = append(warnings, text)
	}
	return contents, trace, warnings
}

func TestTrace(t *testing.T) {
	contents, trace, warnings := summary(t, `
history: [{role: user, content: hello Ella}, {role: assistant, content: [part]}]
presets_in_chat:
  - {identifier: main, position: relative, content: a}
  - {content: b}
  - {name: off, position: in-chat, enabled: false, content: c}
  - nonsense
  - {identifier: on, position: in-chat, content: preset, depth: 1}
world_books:
  name: book
  entries:
    "10": {id: 10, comment: commented, content: commented, position: assistant, mode: always, keys: [x]}
    "11": {id: 11, content: ""}
    "12": {content: 5}
    "13": {id: 13, content: x, position: before_char}
    "14": {id: 14, content: x, depth: deep}
    "15": {id: 15, content: x, order: [1]}
    "16": {id: 16, content: ella, mode: conditional, condition: "<<keywords:Ella>>"}
    "17": {id: 17, content: x, mode: conditional, condition: "<<keywords:all::Ella,Bob>>"}
    "18": {id: 18, content: x, mode: conditional, condition: "<<keywords:none::Bob>><<keywords:!>>"}
    "19": {id: 19, content: x, mode: conditional}
    "20": {id: 20, content: x, mode: conditional, condition: "{{getvar:mood}}"}
    "21": {id: 21, content: mood, mode: conditional, condition: "{{python:getvar('level') > 2}}", key: [a]}
    "22": {id: 22, content: x, mode: conditional, condition: "{{python:getvar('level') > 9}}"}
    "23": {id: 23, content: x, mode: conditional, condition: "{{python:1/0}}"}
    "24": {id: 24, content: x, mode: conditional, condition: "<<keywords:Bob,Cid>>"}
    "25": [not, flattened]
variables: {level: 3}
`)
	if diff := cmp.Diff([]string{"hello Ella", "preset", `["part"]`, "commented", "ella", "mood"}, contents); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"preset main out: position \"relative\" is not in-chat",
		"preset 1 out: it has no position; only in-chat presets go into the chat",
		"preset off out: disabled",
		"preset 3 out: not an entry but string",
		"preset on 1: always",
		"world_book commented 3: always",
		"world_book 11 out: the content is empty",
		"world_book 7 out: the content is integer, not text",
		"world_book 13 out: always; in the slot before_char",
		"world_book 14 out: depth \"deep\" is not an integer",
		"world_book 15 out: order [1] is not an integer",
		"world_book 16 4: condition <<keywords:Ella>> is true: found Ella",
		"world_book 17 out: condition <<keywords:all::Ella,Bob>> is false: found Ella",
		"world_book 18 out: condition <<keywords:none::Bob>><<keywords:!>> is false: keywords \"!\": a keyword is missing at the end",
		"world_book 19 out: conditional, but without a condition",
		"world_book 20 out: condition {{getvar:mood}} gave \"[UndefinedVar:mood]\", not true",
		"world_book 21 5: condition {{python:getvar('level') > 2}} is true",
		"world_book 22 out: condition {{python:getvar('level') > 9}} is false",
		"world_book 23 out: condition {{python:1/0}} is false: python: division by zero",
		"world_book 24 out: condition <<keywords:Bob,Cid>> is false: found none of its keywords",
		"world_book 20 out: not an entry but array",
	}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Error(diff)
	}
	wantWarnings := []string{
		`1 entries have the deprecated field keys, which is ignored: write mode: conditional and condition: "<<keywords:...>>" (the first is "commented")`,
		`the condition of world book "18": keywords "!": a keyword is missing at the end`,
		`the condition of world book "23": python: division by zero`,
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Error(diff)
	}
}

func TestScanDepth(t *testing.T) {
	const with = `
history: [{role: user, content: one}, {role: user, content: two}, {role: user, content: three}]
world_books:
  - {content: "1", mode: conditional, condition: "<<keywords:one>>"}
  - {content: "2", mode: conditional, condition: "<<keywords:two>>"}
  - {content: "3", mode: conditional, condition: "{{keywords:three}}"}
`
	for depth, want := range map[string]string{"": "1 2 3", "scan_depth: 0": "", "scan_depth: 1": "3", "scan_depth: 2": "2 3", "scan_depth: 99": "1 2 3"} {
		contents, _, _ := summary(t, with+depth)
		if got := strings.Join(contents[3:], " "); got != want {
			t.Errorf("%s: %q, want %q", depth, got, want)
		}
	}
}

func TestBudget(t *testing.T) {
	const with = `
history: [{role: user, content: hi}]
presets_in_chat: [{identifier: p, position: in-chat, content: 12345678, order: 1}, {identifier: q, position: in-chat, content: "1234567890123456", order: 1}]
world_books:
  - {id: low, content: aaaa, order: 5}
  - {id: high, content: bbbb, order: 9}
  - {id: big, content: "ccccccccccccccccccccccccccccccccccccccccc", order: 200}
  - {id: first, content: dddd, order: 1, priority: 3}
  - {id: free, content: eeeeeeeeeeeeeeee, order: 1, ignore_budget: true}
`
	_, trace, _ := summary(t, with+"budget: 10")
	want := []string{
		"preset p out: the content is integer, not text",
		"preset q out: budget: it takes 4 tokens, 3 of 10 are left",
		"world_book low 3: always",
		"world_book high 4: always",
		"world_book big out: budget: it takes 11 tokens, 5 of 10 are left",
		"world_book first 1: always",
		"world_book free 2: always",
	}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Error(diff)
	}
	_, trace, _ = summary(t, with+"budget: 0")
	if got := strings.Join(trace, "\n"); strings.Count(got, "budget:") != 5 || !strings.Contains(got, "free 1: always") {
		t.Errorf("budget 0:\n%s", got)
	}
}

func TestFlatten(t *testing.T) {
	for shape, want := range map[string]string{
		`{id: 1, content: a}`:                                                     "a",
		`[{content: a}, [{content: b}, [[{content: c}]]]]`:                        "a b c",
		`{entries: [{content: a}, {content: b}]}`:                                 "a b",
		`{entries: {"9": {content: a}, "1": {content: b}}}`:                       "a b",
		`{world_book: {entries: {"0": {content: a}}}}`:                            "a",
		`[{entries: [{content: a}]}, {world_book: [{content: b}]}, {content: c}]`: "a b c",
		`{entries: {}}`: "",
		`{}`:            "",
		`[]`:            "",
		`null`:          "",
		`~`:             "",
	} {
		contents, _, warnings := summary(t, "history: []\nworld_books: "+shape)
		if got := strings.Join(contents, " "); got != want || warnings != nil {
			t.Errorf("%s: %q, want %q; warnings %q", shape, got, want, warnings)
		}
	}
	if _, _, warnings := summary(t, "history: null\nworld_books: text"); len(warnings) != 1 {
		t.Errorf("warnings %q", warnings)
	}
}

// Each condition has variables of its own, and uses the clock and the dice of the run.
func TestConditionsAreApart(t *testing.T) {
	contents, _, _ := summary(t, `
history: []
world_books:
  - {content: a, mode: conditional, condition: "{{setvar:x::true}}{{getvar:x}}"}
  - {content: b, mode: conditional, condition: "{{getvar:x}}"}
`)
	if got := strings.Join(contents, " "); got != "a" {
		t.Errorf("got %q", got)
	}
	env := calls.NewEnv()
	env.Clock = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	entry := `{content: x, mode: conditional, condition: "{{python:legacy_weekday_cn() == '星期四' and random.random() < 0.5}}"}`
	out, err := run(t, inchat.Definition(), params(t, "history: []\nworld_books: ["+strings.Repeat(entry+",", 100)+"]"), env)
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := out.Get("messages")
	if n := len(messages.List()); n < 20 || n > 80 {
		t.Errorf("%d of 100 entries with one chance in two", n)
	}
}

func TestLint(t *testing.T) {
	p := params(t, `
history: null
presets_in_chat:
  - {content: a, position: in-chat, depth: deep}
  - {content: a, position: in-chat, mode: conditional, condition: "<<keywords:a,b>>"}
world_books:
  entries:
    one/two: {content: a, mode: conditional, condition: "{{python:import os}}", order: [x]}
    three: {content: a, mode: conditional}
    four: {content: a, mode: conditional, condition: "{{keyword:a}}"}
    five: {content: a, mode: always, condition: "{{keyword:a}}"}
`)
	var got []string
	for _, problem := range inchat.Definition().Lint(p, calls.LintEnv{}) {
		if !problem.Warning {
			t.Errorf("not a warning: %v", problem)
		}
		got = append(got, problem.Error())
	}
	want := []string{
		`/presets_in_chat/0/depth: not an integer, so the entry is left out`,
		`/world_books/entries/one~1two/order: not an integer, so the entry is left out`,
		`/world_books/entries/one~1two/condition: python "import os": there is no variable import (chat variables are read with getvar); the condition is never true`,
		`/world_books/entries/three/condition: a conditional entry without a condition is never in (mode: always puts it in)`,
		`/world_books/entries/four/condition: unknown macro "keyword" stays as it is; did you mean "keywords"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A condition without a mode has no effect: the entry is always in.
func TestConditionWithoutMode(t *testing.T) {
	const with = `
history: [{role: user, content: hi}]
world_books:
  - {id: lost, content: x, condition: "<<keywords:Bob>>"}
  - {id: kept, content: y, mode: always, condition: "<<keywords:Bob>>"}
  - {id: blank, content: z, condition: " "}
`
	contents, _, warnings := summary(t, with)
	wantWarnings := []string{`1 entries have a condition and no mode, and are always in: write mode: conditional (the first is "lost")`}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" || len(contents) != 4 {
		t.Error(diff, contents)
	}
	problems := inchat.Definition().Lint(params(t, with), calls.LintEnv{})
	const want = `/world_books/0/condition: a condition without mode does nothing: the entry is always in (add mode: conditional, or take the condition out)`
	if len(problems) != 1 || problems[0].Warning || problems[0].Error() != want {
		t.Errorf("got %v, want %s", problems, want)
	}
}

// Fields and values that look misspelt take their default, so lint and the run report them. Fields of other
// programs, and the user's own, are passed on.
func TestMisspelt(t *testing.T) {
	const with = `
history: [{role: user, content: hi}]
presets_in_chat:
  - {identifier: a, position: in-chat, mode: conditional, condition: "<<keywords:hi>>", conditon: x, content: a}
  - {identifier: b, position: in-chat, conditon: "<<never>>", enabled: "fales", role: sytem, content: b}
  - {identifier: c, positon: in-chat, mode: conditonal, content: c}
  - {identifier: d, position: in chat, enabled: "false", role: System, content: d, injection_depth: 4, marker: false, mood: mine}
  - {identifier: e, position: in-chat, conditon: "<<never>>", role: null, content: e}
world_books:
  - {id: f, position: usr, content: f, mode: always, keys: [a], comment: x, tags: [], author: me}
  - entries: {"0": {uid: 1, key: [hi], position: 4, enabled: "no", content: g, role: 0, displayIndex: 3}}
  - [{id: h, position: "0", contnet: h, mode: always}, {id: i, position: before_char, content: i}, {id: j, position: 1, content: j, mode: 5}]
`
	var found, keys []string
	for _, p := range inchat.Definition().Lint(params(t, with), calls.LintEnv{}) {
		if !p.Warning {
			t.Errorf("%v is not a warning", p)
		}
		if p.Keyword == schema.UnknownKeyword {
			keys = append(keys, p.Pointer)
		}
		found = append(found, p.Error())
	}
	want := []string{
		`/presets_in_chat/1/conditon: unknown field "conditon": it does nothing (did you mean "condition"?)`,
		`/presets_in_chat/1/enabled: enabled is "fales", neither true nor false: the entry is on (did you mean "false"?)`,
		`/presets_in_chat/1/role: unknown role "sytem": the message is from user (did you mean "system"?)`,
		`/presets_in_chat/2/positon: unknown field "positon": it does nothing (did you mean "position"?)`,
		`/presets_in_chat/2/mode: unknown mode "conditonal": the entry is always in (did you mean "conditional"?)`,
		`/presets_in_chat/3/enabled: enabled is a text, not false: the entry is on (write false without quotes)`,
		`/presets_in_chat/3/position: unknown position "in chat": the entry is left out (did you mean "in-chat"?)`,
		`/presets_in_chat/4/conditon: unknown field "conditon": it does nothing (did you mean "condition"?)`,
		`/world_books/0/position: unknown position "usr": the entry goes into the chat as system (did you mean "user"?)`,
		`/world_books/1/entries/0/enabled: enabled is "no", neither true nor false: the entry is left out (write true or false)`,
		`/world_books/2/0/contnet: unknown field "contnet": it does nothing (did you mean "content"?)`,
		`/world_books/2/2/mode: unknown mode "5": the entry is always in (known are always, conditional)`,
		`/world_books/2/2/position: unknown position "1": the entry goes into the chat as system (known are system, user, assistant, before_char, after_char)`,
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if want := []string{want[0][:27], want[3][:26], want[7][:27], want[10][:24]}; !slices.Equal(want, keys) {
		t.Errorf("got the keys %q, want %q", keys, want)
	}
	env, told := calls.NewEnv(), warnings{}
	env.Warner = &told
	if _, err := run(t, inchat.Definition(), params(t, with), env); err != nil {
		t.Fatal(err)
	}
	first := calls.Warning{
		Code: "unknown-field", Pointer: "/presets_in_chat/1/conditon",
		Text: `preset "b", the first of 2: unknown field "conditon": it does nothing (did you mean "condition"?)`,
	}
	if len(told) < 2 || told[0] != first || told[1].Code != "unknown-value" || told[1].Pointer != "/presets_in_chat/1/enabled" {
		t.Errorf("got %+v", told)
	}
	// One warning of each but the second conditon, and one for the field keys.
	if len(told) != len(want) {
		t.Errorf("got %d warnings, want %d: %+v", len(told), len(want), told)
	}
}

// warnings are those that a call has given.
type warnings []calls.Warning

func (w *warnings) Warn(warning calls.Warning) { *w = append(*w, warning) }

// A message of the history that ends the call is an error of the flow; one that a template
// makes is not known.
func TestLintHistory(t *testing.T) {
	for _, c := range []struct{ history, want string }{
		{`[{role: user, content: a}, {role: usr, content: b}]`, `/history/1/role: invalid message role at history[1]: usr`},
		{`[{role: User, content: a}, {role: thinking}]`, ""},
		{`[text]`, `/history/0: history[0] is string, not a message`},
		{`[{content: a}]`, `/history/0: invalid message role at history[0]: `},
		{`[null, {role: null}]`, ""},
	} {
		got := ""
		for _, p := range inchat.Definition().Lint(params(t, "history: "+c.history), calls.LintEnv{}) {
			got += p.Pointer + ": " + p.Message
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.history, got, c.want)
		}
	}
}

func TestManyWarnings(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "  - {content: x, mode: conditional, condition: '<<keywords:!%d!>>'}\n", i)
	}
	_, trace, warnings := summary(t, "history: []\nworld_books:\n"+b.String())
	if len(trace) != 300 || len(warnings) != 101 {
		t.Errorf("%d lines of trace, %d warnings", len(trace), len(warnings))
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	def := inchat.Definition()
	call, err := def.New(params(t, def.Info.Examples[1].With))
	if err != nil {
		t.Fatal(err)
	}
	input, err := call.Init(ctx, &calls.Vars{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := callstest.CollectOutput(call.Exec(ctx, calls.NewEnv(), input)); calls.KindOf(err) != calls.Canceled {
		t.Errorf("got %v", err)
	}
}

// No world book and no condition makes the call fail, panic or hang.
func FuzzWorldBook(f *testing.F) {
	f.Add(`[{"content":"a","depth":-1}]`, `[{"content":"p","position":"in-chat","mode":"conditional","condition":"<<keywords:a>>"}]`)
	f.Add(`{"entries":{"0":{"content":"a","order":"1_0","position":"user"}}}`, `null`)
	f.Add(`{"world_book":{"entries":[[1],{"id":null,"wb_id":1,"type":2,"content":"x","depth":1e99}]}}`, `[null,5,{"position":"in-chat","content":"x"}]`)
	f.Add(`[[[{"content":"x","mode":"conditional","condition":"{{python:2**9}}"}]]]`, `[]`)
	def := inchat.Definition()
	history, _ := value.ParseJSON([]byte(`[{"role":"user","content":"a b"},{"role":"thinking"}]`))
	f.Fuzz(func(t *testing.T, books, presets string) {
		b, err := value.ParseJSON([]byte(books))
		if err != nil {
			return
		}
		p, err := value.ParseJSON([]byte(presets))
		if err != nil {
			return
		}
		params := value.OfMap(value.Pairs("history", history, "world_books", b, "presets_in_chat", p, "budget", 100))
		if def.Info.Params.Check(params) != nil {
			return
		}
		out, err := run(t, def, params, nil)
		if err != nil {
			t.Fatal(err)
		}
		messages, _ := out.Get("messages")
		trace, _ := out.Get("trace")
		included := 0
		for _, part := range trace.List() {
			if in, _ := part.Get("included"); in.JSON() == "true" {
				included++
			}
		}
		if len(messages.List()) != included+2 {
			t.Fatalf("%d messages, %d entries included", len(messages.List()), included)
		}
	})
}

// Every text knows the parameter that it was taken from, even if all are equal.
func TestOrigins(t *testing.T) {
	with := params(t, `
history: [{role: user, content: same}, {role: assistant, content: same}]
presets_in_chat: [{position: in-chat, content: same, depth: 1}]
world_books:
  - {entries: {a: {content: same, position: user, depth: 0}, b/c: {content: other, position: before_char}}}
  - {uid: 1, constant: true, position: 4, content: same}
`)
	out, err := run(t, inchat.Definition(), with, nil)
	if err != nil {
		t.Fatal(err)
	}
	var pointers []string
	for _, name := range []string{"parts", "trace"} {
		list, _ := out.Get(name)
		var parts []calls.Part
		if err := value.Decode(list, &parts); err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			o := p.Origins[0]
			pointers = append(pointers, o.Pointer)
			text := p.Text
			if p.Message != nil {
				message, _ := out.At(fmt.Sprintf("/messages/%d/content", *p.Message))
				text, _ = message.Str()
			}
			source, _ := with.At(o.Pointer)
			if want, _ := source.Str(); text != want || o.Start != 0 || o.End != len(text) {
				t.Errorf("%+v: %q is not %q", o, text, want)
			}
		}
	}
	want := []string{
		"/history/0/content", "/history/1/content", "/presets_in_chat/0/content",
		"/world_books/0/entries/a/content", "/world_books/0/entries/b~1c/content", "/world_books/1/content",
	}
	if diff := cmp.Diff(want, pointers); diff != "" {
		t.Error(diff)
	}
}
