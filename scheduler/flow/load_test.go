package flow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// The calls below do nothing: lint only uses their definitions.

type inert struct{}

func (inert) Init(context.Context, *calls.Vars) (struct{}, error) { return struct{}{}, nil }
func (inert) Exec(context.Context, *calls.Env, struct{}) iter.Seq2[calls.Chunk, error] {
	return calls.Data(struct{}{})
}

type (
	chatParams struct {
		inert
		Messages    []message `json:"messages,omitempty" doc:"The conversation."`
		User        string    `json:"user,omitempty"`
		Temperature float64   `json:"temperature,omitempty" min:"0" max:"2"`
		Effort      string    `json:"effort,omitempty" enum:"low|high"`
		Stop        []string  `json:"stop,omitempty"`
	}
	message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	chatOutput struct {
		Text      string    `json:"text"`
		Usage     usage     `json:"usage"`
		ToolCalls []message `json:"tool_calls"`
	}
	usage         struct{ Tokens int }
	contextParams struct {
		inert
		Workspace      string        `json:"workspace"`
		CurrentMessage string        `json:"current_message"`
		Memories       []value.Value `json:"memories,omitempty"`
	}
	contextOutput struct {
		System   string    `json:"system"`
		Messages []message `json:"messages"`
	}
	templateParams struct {
		inert
		Template string      `json:"template"`
		Values   value.Value `json:"values,omitzero" type:"object"`
	}
	templateOutput struct {
		Text string `json:"text"`
	}
	slotParams struct {
		inert
		CurrentSchema value.Value `json:"current_schema" type:"object"`
	}
	slotOutput struct {
		SlotData        value.Value `json:"slot_data" type:"object"`
		RemainingSchema value.Value `json:"remaining_schema" type:"object"`
	}
	flowParams struct {
		inert
		Path   string      `json:"path"`
		Inputs value.Value `json:"inputs,omitzero" type:"object"`
	}
	pickParams struct {
		inert
		From []string `json:"from"`
		By   string   `json:"by,omitempty"`
	}
	conditionalParams struct{ inert }
)

func (p pickParams) Validate() error {
	if len(p.From) == 0 {
		return calls.Errorf(calls.Invalid, "nothing to pick from").WithHint("list at least one")
	}
	return nil
}

func (conditionalParams) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("type", "object",
		"properties", value.Pairs("mode", value.Pairs("type", "string"), "size", value.Pairs("type", "integer"),
			"either", value.Pairs("anyOf", []value.Value{keySchema("type", "integer"), keySchema("type", "object", "properties", keySchema("n", keySchema("type", "integer")))})),
		"if", value.Pairs("properties", value.Pairs("mode", value.Pairs("const", "fixed")), "required", []string{"mode"}),
		"then", value.Pairs("required", []string{"size"})))
}

// lintPick returns the hook that looks for importance functions.
func lintPick(params value.Value, env calls.LintEnv) []schema.Problem {
	by, ok := params.Get("by")
	name, _ := by.Str()
	if _, known := env.Registry.Importance(name); !ok || known {
		return nil
	}
	if name == "outdated" {
		return []schema.Problem{{Pointer: "/by", Message: "an old name", Warning: true}}
	}
	if name == "panic" {
		panic("oh")
	}
	return []schema.Problem{{
		Pointer: "/by", Message: fmt.Sprintf("there is no importance function %q", name),
		Hint: "there are " + strings.Join(env.Registry.ImportanceNames(), ", "),
	}}
}

func fakeRegistry(t testing.TB) *calls.Registry {
	t.Helper()
	pick := calls.Define[pickParams, struct{}, contextOutput](calls.Info{Name: "pick"})
	pick.Lint = lintPick
	reg, err := calls.NewRegistry(
		calls.Define[chatParams, struct{}, chatOutput](calls.Info{Name: "chat", Summary: calls.Text{En: "Ask a model."}}),
		calls.Define[contextParams, struct{}, contextOutput](calls.Info{Name: "context"}),
		calls.Define[templateParams, struct{}, templateOutput](calls.Info{Name: "template", Literal: []string{"template"}}),
		calls.Define[slotParams, struct{}, slotOutput](calls.Info{Name: "slot", Literal: []string{"current_schema"}}),
		calls.Define[flowParams, struct{}, value.Value](calls.Info{Name: "flow"}),
		calls.Define[conditionalParams, struct{}, value.Value](calls.Info{Name: "conditional"}),
		pick,
	)
	if err != nil {
		t.Fatal(err)
	}
	clock := plugins.ResolverFunc(func(context.Context, plugins.State, string) (any, error) { return "now", nil })
	relevant := plugins.ImportanceFunc(func(context.Context, plugins.State, plugins.Item) (plugins.Verdict, error) {
		return plugins.Verdict{}, nil
	})
	if err := errors.Join(reg.AddResolver(clock, "clock", "weather"), reg.AddImportance("is_relevant", relevant)); err != nil {
		t.Fatal(err)
	}
	return reg
}

func fakeLoader(t testing.TB) *Loader {
	return &Loader{
		Registry: fakeRegistry(t), Providers: []string{"local"}, Plugins: []string{"tools"}, Secrets: []string{"API_KEY"},
	}
}

// A fault in a file of data is reported at its place there; a file at a wrong place is reported at its tag.
func TestProblemsInData(t *testing.T) {
	files := map[string]string{
		"turns.json": "[\n  {\"role\": \"user\"},\n  {\"role\": 5, \"content\": \"hi\"}]",
		"turns.yaml": "- role: user\n  content: hi\n- role: [user]\n  content: hi\n",
	}
	loader := fakeLoader(t)
	loader.ReadFile = func(path string) ([]byte, error) { return []byte(files[path]), nil }
	_, problems := loader.Parse("flow.yaml", []byte(`steps:
  - {id: a, call: chat, with: {messages: !file turns.json}}
  - {id: b, call: chat, with: {messages: !file turns.yaml}}
  - {id: c, call: chat, with: {user: !file turns.yaml, mesages: !file turns.json}}
`))
	var got []string
	for _, p := range problems {
		got = append(got, p.Pos.String())
	}
	want := []string{"flow.yaml:4:38", "flow.yaml:4:56", "turns.json:2:3", "turns.json:3:12", "turns.yaml:3:9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s\n%v", diff, problems)
	}
}

// A variable may be called like a method of dicts: its name after a dot is the variable.
func TestVariableLikeMethod(t *testing.T) {
	loader := fakeLoader(t)
	never := plugins.ResolverFunc(func(context.Context, plugins.State, string) (any, error) { return nil, errors.New("never") })
	if err := loader.Registry.AddResolver(never, "items"); err != nil {
		t.Fatal(err)
	}
	_, problems := loader.Parse("flow.yaml", []byte(`steps: [{id: a, call: chat, with: {user: "{{ vars['items'] }} {{ vars.items }}"}}]`))
	if len(problems) > 0 {
		t.Errorf("got %s", problems)
	}
}

// expectation is a comment in a flow file that describes lint's report there.
type expectation struct {
	file string
	line int
	kind string
	text *regexp.Regexp
}

var expectComment = regexp.MustCompile(`# (ERROR|WARNING) "((?:[^"\\]|\\.)*)"`)

func expectations(t *testing.T, file string, src []byte) (list []expectation) {
	t.Helper()
	for i, line := range strings.Split(string(src), "\n") {
		for _, m := range expectComment.FindAllStringSubmatch(line, -1) {
			re, err := regexp.Compile(strings.ReplaceAll(m[2], `\"`, `"`))
			if err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			list = append(list, expectation{file, i + 1, m[1], re})
		}
	}
	return list
}

// TestLint loads every flow in testdata/lint and compares the reports with the comments # ERROR "regexp" and #
// WARNING "regexp" on the lines: exactly those must be there, including the sub-flows.
func TestLint(t *testing.T) {
	files, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no flows", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			read := map[string][]byte{}
			loader := fakeLoader(t)
			loader.ReadFile = func(path string) ([]byte, error) {
				src, err := os.ReadFile(path)
				read[path] = src
				return src, err
			}
			flow, problems := loader.Load(file)
			var want []expectation
			for path, src := range read {
				want = append(want, expectations(t, path, src)...)
			}
			errorsWanted := slices.ContainsFunc(want, func(e expectation) bool { return e.kind == "ERROR" })
			if (flow == nil) != errorsWanted {
				t.Errorf("flow is nil: %v", flow == nil)
			}
			for _, p := range problems {
				kind := "ERROR"
				if p.Warning {
					kind = "WARNING"
				}
				i := slices.IndexFunc(want, func(e expectation) bool {
					return e.file == p.Pos.File && e.line == p.Pos.Line && e.kind == kind && e.text.MatchString(p.String())
				})
				if i < 0 {
					t.Errorf("not expected: %s", p)
					continue
				}
				want = slices.Delete(want, i, i+1)
			}
			for _, e := range want {
				t.Errorf("%s:%d: not reported: %s %s", e.file, e.line, e.kind, e.text)
			}
			checkOrder(t, problems)
		})
	}
}

// checkOrder checks that problems come in the order of the file.
func checkOrder(t *testing.T, problems Problems) {
	t.Helper()
	for i := 1; i < len(problems); i++ {
		a, b := problems[i-1].Pos, problems[i].Pos
		if a.File == b.File && (a.Line > b.Line || a.Line == b.Line && a.Col > b.Col) {
			t.Errorf("%s comes after %s", b, a)
		}
	}
}

// TestMessages pins the whole wording of the problems people meet most, and of problems in files that allow no
// comments.
func TestMessages(t *testing.T) {
	for name, tc := range map[string]struct{ src, want string }{
		"key": {"steps:\n  - {id: a, call: chat, nede: []}\n",
			`f.yaml:2:25: unknown key "nede" in step (did you mean "needs"?)`},
		"duplicate": {"name: a\nname: b\nsteps: [{id: a, call: chat}]\n",
			`f.yaml:2:1: duplicate key "name" (first at f.yaml:1:1) (keep one of them)`},
		"unquoted": {"steps:\n  - {id: a, call: chat}\n  - id: b\n    call: chat\n    with:\n      user: {{ a.text }}\n",
			`f.yaml:6:13: a template must be quoted: YAML reads {{ a.text }} as a map (quote it: "{{ a.text }}")`},
		"unquoted, text after": {"steps:\n  - id: b\n    call: chat\n    with:\n      user: {{ inputs.x }} and more\n",
			`f.yaml:5:13: a template must be quoted: YAML takes { for the start of a map (quote the whole value: "{{ inputs.x }} and more")`},
		"unquoted, statement": {"steps:\n  - id: b\n    call: chat\n    with:\n      user: {% if x %}a{% endif %}\n",
			`f.yaml:5:13: a template must be quoted: YAML takes { for the start of a map (quote the whole value: "{% if x %}a{% endif %}")`},
		"tab":     {"steps:\n\t- id: a\n", `f.yaml:2:1: a tab in the indentation (YAML is indented with spaces)`},
		"empty":   {"", `f.yaml:1:1: the file is empty (a flow has steps: [{id: ..., call: ...}])`},
		"comment": {"# nothing\n", `f.yaml:1:1: the file is empty (a flow has steps: [{id: ..., call: ...}])`},
		"list":    {"- a\n", `f.yaml:1:1: the flow must be a map of keys, not a list`},
		"no steps": {"name: x\n",
			`f.yaml:1:1: the flow has no steps (add steps: [{id: ..., call: ...}])`},
		"documents": {"steps: [{id: a, call: chat}]\n---\na: 1\n",
			`f.yaml:2:1: a second YAML document starts here; only one is read (take the --- out, or make it a file of its own)`},
		"encoding": {"name: \xff\n", `f.yaml:1:7: the text is not UTF-8 here; it looks like Windows-1252 (save it as UTF-8)`},
		"bomb": {"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
			`f.yaml:1:22: more than 1000000 nodes, counting those that aliases stand for`},
		"output field": {"steps:\n  - {id: prompt, call: context, with: {workspace: w, current_message: m}}\n  - {id: b, call: chat, with: {messages: \"{{ prompt.mesages }}\"}}\n",
			`f.yaml:3:46: the output of step "prompt" has no "mesages" (did you mean "messages"?)`},
		"template place": {"steps:\n  - id: a\n    call: chat\n    with:\n      user: >-\n        first line\n        and {{ inpust.x }}\n",
			`f.yaml:7:16: unknown name "inpust" (did you mean "inputs"?)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := fakeLoader(t).Parse("f.yaml", []byte(tc.src))
			for i := range problems {
				problems[i].Snippet = "" // a test of its own has it
			}
			if diff := cmp.Diff(tc.want, problems.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An unreadable line is shown, with a caret below the place.
func TestSyntaxSnippet(t *testing.T) {
	_, problems := fakeLoader(t).Parse("f.yaml", []byte("steps:\n  - id: a\n    call: chat\n    with: {user: x system: y}\n"))
	const want = `f.yaml:4:26: a colon inside a text without quotes (put the text in quotes, or a comma before system if that is a key)
        with: {user: x system: y}
                             ^`
	if diff := cmp.Diff(want, problems.Error()); diff != "" {
		t.Error(diff)
	}
}
