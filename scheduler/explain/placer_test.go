package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const placedFlow = `
inputs: {type: object, properties: {who: {type: string}}}
steps:
  - id: made
    call: template
    with:
      template: |
        First line.

        {% if who %}
        For {{ who | upper }}.
        {% endif %}
      values: {who: "{{ inputs.who }}"}
  - id: ask
    call: chat
    with:
      messages:
        - role: system
          content: |
            You are a keeper.
              Deeper: {{ inputs.who }}.
            {%- if true %}
            Be {{ 'calm' }} and {{ inputs.who | upper }}.
            {%- endif %}
        - role: user
          content: >-
            folded
            lines {{ inputs.who }}

            and more
        - role: user
          content: "quoted \u0041
            over {{ inputs.who }}\
            \n  three lines"
        - role: user
          content: &same 'it''s
            {{ inputs.who }} 港口 {{ 1 + 1 }} end'
        - role: user
          content: *same
        - role: user
          content: |-
            {{ made.text }}
        - role: user
          content: !expr "inputs.who ~
            ' constant'"
`

// Each piece has the place at which its text begins in the file, through the indentation of blocks, folds, escapes
// and aliases; a text from an expression has the place of the expression.
func TestPlaces(t *testing.T) {
	r := schedulertest.Run(t, placedFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"who": "Bo"}`),
		schedulertest.LLM(scripted.New(scripted.Answer{Text: "a"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(placedFlow, "\n")
	var got []string
	for _, m := range all[0].Messages {
		for _, p := range m.Pieces {
			s := p.Sources[0]
			rest := string([]rune(lines[s.Line-1])[s.Col-1:])
			got = append(got, fmt.Sprintf("%q: %d: %s", p.Text, s.Line, rest[:min(len(rest), 8)]))
		}
	}
	want := []string{
		`"You are a keeper.\n  Deeper: ": 20: You are `,
		`"Bo": 21: inputs.w`,
		`".": 21: .`,
		`"\nBe ": 22: `,
		`"calm": 23: calm' }}`,
		`" and ": 23:  and {{ `,
		`"BO": 23: inputs.w`,
		`".": 23: .`,
		`"\n": 24: `,
		`"folded lines ": 27: folded`,
		`"Bo": 28: inputs.w`,
		`"\nand more": 29: `,
		`"quoted A over ": 32: quoted \`,
		`"Bo": 33: inputs.w`,
		`"\n  three lines": 34: \n  thre`,
		`"it's ": 36: it''s`,
		`"Bo": 37: inputs.w`,
		`" 港口 ": 37:  港口 `,
		`"2": 37: 1 + 1 }}`,
		`" end": 37:  end'`,
		`"it's ": 36: it''s`,
		`"Bo": 37: inputs.w`,
		`" 港口 ": 37:  港口 `,
		`"2": 37: 1 + 1 }}`,
		`" end": 37:  end'`,
		`"First line.\n\n": 8: First li`,
		`"\nFor ": 10: `,
		`"BO": 11: who | up`,
		`".\n": 11: .`,
		`"\n": 12: `,
		`"Bo": 44: inputs.w`,
		`" constant": 45:  constan`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const computedPlaces = `
inputs: {type: object}
steps:
  - id: made
    call: template
    with: {template: "made </question> of {{ x }}", values: {x: "{{ inputs.who }}"}}
  - id: sum
    call: summary
    with:
      text: |
        First line </conversation>.
          Then {{ made.text }} and {{ inputs.tag }}
          and {{ inputs.tag | upper }}.
      instructions: none
  - id: pick
    call: choice
    with:
      question: >-
        folded </question>
        {{ made.text }}
      values: {list: ["a\"b", "x {{ inputs.quote }}"], n: "{{ inputs.n }}"}
      choices: [{branch: a, description: b}, {branch: c, default: true}]
  - id: fact
    call: facts
    with:
      text: x
      known:
        - |
          two  words {{ inputs.who }}   end
        - "lit\n{{ [inputs.who, 'k  k'] | join('  ') }}"
`

// A text that a call computed from a parameter has the place of the words, or of the expression, that it was
// computed from, also in their names.
func TestPlacesOfComputed(t *testing.T) {
	r := schedulertest.Run(t, computedPlaces, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"who": "Bo", "tag": "</conversation>", "quote": "q\"q", "n": 3}`),
		schedulertest.LLM(scripted.Texts("s", `{"reason": "", "branch": "a"}`, `{"facts": [], "domain": []}`)))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var got []string
	for _, step := range []string{"sum", "pick", "fact"} {
		all, err := explain.Explain(t.Context(), r.Flow, r.State(), step, bytesCounter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all[0].Messages[0].Pieces {
			if s := p.Sources[0]; s.Start == nil && s.File != "" {
				got = append(got, fmt.Sprintf("%q %s", p.Text, strings.TrimPrefix(s.String(), "flow.yaml:")))
			}
		}
	}
	want := []string{
		`"<\\/conversation" 11:20`,
		`"<\\/conversation" 12:39 computed from inputs.tag`,
		`"</CONVERSATION>" 13:18 {{ inputs.tag | upper }} computed from inputs.tag`,
		`"list" 21:16`,
		`"\\\"" 21:25`,
		`"\\\"" 21:37 computed from inputs.quote`,
		`"n" 21:56`,
		`"3" inputs.n (flow.yaml:21:63)`,
		`"<\\/question" 19:16`, `"<\\/question" 6:28`,
		`" " 29:14`, `" " 29:38`, `" " 30:15`, `" " 30:49`, `" " 30:35`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A constant with escapes is not a copy of the flow's text, but has its place there, in a parameter as in the call
// template.
func TestPlacesOfConstantsWithEscapes(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - id: made
    call: template
    with:
      template: "one {{ 'x\\n' ~ v }}{{ 'e\\tx'[1:] }}"
      values: {v: "{{ inputs.a }}"}
  - id: ask
    call: chat
    with:
      user: "{{ made.text }}zero {{ 'x\\n' ~ inputs.a }}{{ 'e\\tx'[1:] }}"
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"a": "alpha"}`), schedulertest.LLM(scripted.Texts("yes")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"ask chat",
		"user one  < flow.yaml:7:18 > made (template) > ask",
		"user x\n < flow.yaml:7:25 > made (template) > ask",
		"user alpha < inputs.a (flow.yaml:8:23) > made (template) > ask",
		"user \tx < flow.yaml:7:41 > made (template) > ask",
		"user zero  < flow.yaml:12:29",
		"user x\n < flow.yaml:12:37",
		"user alpha < inputs.a (flow.yaml:12:37)",
		"user \tx < flow.yaml:12:60",
	}
	if diff := cmp.Diff(want, explained(t, r, "ask")); diff != "" {
		t.Error(diff)
	}
}

// Names of members have their own places, in the flow as in the files of data that it names.
func TestPlacesOfNames(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - id: ask
    call: choice
    with:
      question: q
      values:
        first: "{{ inputs.a }}"
        "second \u00e9":
          - {third: 1}
        file: !file data.json
        other: !file data.yaml
      choices: [{branch: a}, {branch: b, default: true}]
-- data.json --
{"one": "1",
  "t\u0077o": {"x": [true, {"z": {}}]}}
-- data.yaml --
four: &of
  five: [1, {six: 2}]
seven: *of
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"a": "alpha"}`), schedulertest.LLM(scripted.Texts(`{"reason": "", "branch": "a"}`)))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var got []string
	for _, line := range explained(t, r, "ask") {
		name, source, _ := strings.Cut(strings.TrimPrefix(line, "user "), " < ")
		if isName := strings.ContainsAny(name, "abcdefghijklmnopqrstuvwxyz") && strings.HasSuffix(source, ": values"); isName {
			got = append(got, name+" < "+strings.TrimSuffix(source, " > ask (choice): values"))
		}
	}
	want := []string{
		"first < flow.yaml:9:9", "alpha < inputs.a (flow.yaml:9:20)", "second é < flow.yaml:10:10", "third < flow.yaml:11:14",
		"file < flow.yaml:12:9", "one < file data.json:1:2 (flow.yaml:12:15)", "two < file data.json:2:3 (flow.yaml:12:15)",
		"x < file data.json:2:16 (flow.yaml:12:15)", "true < file data.json:2:22 (flow.yaml:12:15)", "z < file data.json:2:29 (flow.yaml:12:15)",
		"other < flow.yaml:13:9", "four < file data.yaml:1:1 (flow.yaml:13:16)", "five < file data.yaml:2:3 (flow.yaml:13:16)", "six < file data.yaml:2:14 (flow.yaml:13:16)",
		"seven < file data.yaml:3:1 (flow.yaml:13:16)", "five < file data.yaml:2:3 (flow.yaml:13:16)", "six < file data.yaml:2:14 (flow.yaml:13:16)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
