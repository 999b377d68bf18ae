package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const secretFlow = `
inputs: {type: object, properties: {who: {type: string}}}
steps:
  - id: made
    call: template
    with: {template: "Before {{ key }} after {{ who }}", values: {key: "{{ secrets.KEY }}", who: "{{ inputs.who }}"}}
  - id: prompt
    call: context
    with:
      identity: "I am {{ secrets.KEY }} of {{ inputs.who }}."
      workspace: ws
      current_message: "{{ made.text }} / {{ secrets.KEY | urlencode }}!"
  - {id: talk, call: in-chat, with: {history: "{{ prompt.messages }}"}}
  - {id: ask, call: chat, with: {messages: "{{ talk.messages }}"}}
  - {id: sum, call: summary, with: {text: "  {{ secrets.KEY }}, {{ made.text }}", instructions: By the way}}
-- ws/SOUL.md --
Be calm.
Say hunter+2+secret twice.
`

// The mask in place of a secret in a prompt has the secret as its source, and the text around it keeps its sources
// and bytes.
func TestExplainSecrets(t *testing.T) {
	r := schedulertest.Run(t, secretFlow, schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", "hunter+2+secret"),
		schedulertest.Inputs(`{"who": "Mei"}`), schedulertest.LLM(scripted.Texts("yes", "notes")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var got []string
	for _, step := range []string{"ask", "sum"} {
		all, err := explain.Explain(t.Context(), r.Flow, r.State(), step, bytesCounter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all[0].Messages {
			for _, p := range m.Pieces {
				if p.Sources[0].Kind == explain.SourceText {
					continue
				}
				span := ""
				if s := p.Sources[0]; s.Start != nil {
					span = fmt.Sprintf(" [%d, %d)", *s.Start, *s.End)
				}
				got = append(got, fmt.Sprintf("%q < %s%s", p.Text, p.Way().En, span))
			}
		}
	}
	want := []string{
		`"I am " < flow.yaml:10:18 > prompt: identity > talk > ask [0, 5)`,
		`"***" < secrets.KEY (flow.yaml:10:26) > prompt: identity > talk > ask`,
		`" of " < flow.yaml:10:40 > prompt: identity > talk > ask [22, 26)`,
		`"Mei" < inputs.who (flow.yaml:10:47) > prompt: identity > talk > ask [0, 3)`,
		`"." < flow.yaml:10:60 > prompt: identity > talk > ask [42, 43)`,
		`"\n\n---\n\n" < prompt: separator bootstrap files > talk > ask`,
		`"## SOUL.md\n\n" < prompt: file SOUL.md > talk > ask`,
		`"Be calm.\nSay " < prompt: file SOUL.md > talk > ask [0, 13)`,
		`"***" < prompt: file SOUL.md > talk > ask`,
		`" twice.\n" < prompt: file SOUL.md > talk > ask [28, 36)`,
		`"Before " < flow.yaml:6:23 > made (template) > prompt: message current_message > talk > ask [0, 7)`,
		`"***" < secrets.KEY (flow.yaml:6:76) > made (template) > prompt: message current_message > talk > ask`,
		`" after " < flow.yaml:6:39 > made (template) > prompt: message current_message > talk > ask [16, 23)`,
		`"Mei" < inputs.who (flow.yaml:6:102) > made (template) > prompt: message current_message > talk > ask [0, 3)`,
		`" / " < flow.yaml:12:40 > prompt: message current_message > talk > ask [15, 18)`,
		`"***" < flow.yaml:12:46 {{ secrets.KEY | urlencode }} computed from secrets.KEY > prompt: message current_message > talk > ask`,
		`"!" < flow.yaml:12:72 > prompt: message current_message > talk > ask [47, 48)`,
	}
	if len(got) < len(want) {
		t.Fatal(got)
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Error(diff)
	}
	want = []string{
		`"***" < secrets.KEY (flow.yaml:15:49) > sum (summary): conversation`,
		`", " < flow.yaml:15:63 > sum (summary): conversation [19, 21)`,
		`"Before " < flow.yaml:6:23 > made (template) > sum (summary): conversation [0, 7)`,
		`"***" < secrets.KEY (flow.yaml:6:76) > made (template) > sum (summary): conversation`,
		`" after " < flow.yaml:6:39 > made (template) > sum (summary): conversation [16, 23)`,
		`"Mei" < inputs.who (flow.yaml:6:102) > made (template) > sum (summary): conversation [0, 3)`,
		`"150" < sum (summary): max_words`,
		`"By the way" < flow.yaml:15:97 > sum (summary): instructions [0, 10)`,
	}
	if diff := cmp.Diff(want, got[len(got)-len(want):]); diff != "" {
		t.Error(diff)
	}
}

// A text made of a secret names it in every record, and the rest of the text keeps its sources.
func TestExplainWhatIsMadeOfSecrets(t *testing.T) {
	const flow = `
inputs: {type: object, properties: {who: {type: string}}}
steps:
  - {id: ask, call: chat, with: {user: %q}}
`
	for text, want := range map[string][]string{
		"a {{ secrets.KEY | list | join }} {{ inputs.who }}":                         {`"a " < 4:41`, `"***" < secrets.KEY`, `" " < 4:74`, `"Mei" < inputs.who`},
		"{{ secrets.KEY | length }} letters":                                         {`"15" < secrets.KEY`, `" letters" < 4:67`},
		"{{ inputs.who }}: {{ secrets.KEY | urlencode | upper }}":                    {`"Mei" < inputs.who`, `": " < 4:57`, `"***" < secrets.KEY`},
		"{{ secrets.KEY }}{{ secrets.TWO | lower }}.":                                {`"***" < secrets.KEY secrets.TWO`, `"." < 4:83`},
		"{{ 'k=' ~ secrets.KEY ~ inputs.who }}":                                      {`"k=" < 4:45`, `"***" < secrets.KEY`, `"Mei" < inputs.who`},
		"{{ (secrets.KEY and inputs.who) | upper }}":                                 {`"MEI" < inputs.who`},
		"{{ {'a': secrets.KEY, 'b': inputs.who}['b'] | upper }}":                     {`"MEI" < inputs.who`},
		"{{ secrets.KEY | upper }} and {{ secrets.TWO | lower }}.":                   {`"***" < secrets.KEY`, `" and " < 4:66`, `"***" < secrets.TWO`, `"." < 4:96`},
		"{{ secrets.KEY | upper }}, {{ secrets.TWO | lower }}.":                      {`"***" < secrets.KEY`, `", " < 4:66`, `"***" < secrets.TWO`, `"." < 4:93`},
		"{{ secrets.KEY }}{{ inputs.who }}{{ secrets.TWO }}":                         {`"***" < secrets.KEY`, `"Mei" < inputs.who`, `"***" < secrets.TWO`},
		"{{ 'yes' if secrets.KEY == 'hunter+2+secret' else 'no' }}{{ secrets.TWO }}": {`"yes" < 4:45`, `"***" < secrets.TWO`},
	} {
		r := schedulertest.Run(t, fmt.Sprintf(flow, text), schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", "hunter+2+secret"),
			schedulertest.Secret("TWO", "Other-Secret"), schedulertest.Inputs(`{"who": "Mei"}`), schedulertest.LLM(scripted.Texts("yes")))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range all[0].Messages[0].Pieces {
			s := p.Sources[0]
			name := s.Name
			switch s.Kind { //nolint:exhaustive // of the others the name is wanted
			case explain.SourceFlow:
				name = fmt.Sprintf("%d:%d", s.Line, s.Col)
			case explain.SourceComputed:
				name = strings.Join(s.From, " ")
			}
			got = append(got, fmt.Sprintf("%q < %s", p.Text, name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

// A text with a mask in it keeps its sources if a list passes the message on unchanged.
func TestExplainMaskInPassedOnMessage(t *testing.T) {
	const flow = `
inputs: {type: object, properties: {who: {type: string}}}
steps:
  - {id: made, call: template, with: {template: "a {{ key }} b {{ who }}", values: {key: "{{ secrets.KEY }}", who: "{{ inputs.who }}"}}}
  - {id: talk, call: in-chat, with: {history: [{role: user, content: "{{ made.text }}"}]}}
  - {id: ask, call: chat, with: {messages: "{{ talk.messages + [{'role': 'user', 'content': 'X'}] }}"}}
`
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", "hunter+2+secret"),
		schedulertest.Inputs(`{"who": "Mei"}`), schedulertest.LLM(scripted.Texts("yes")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all[0].Messages[0].Pieces {
		got = append(got, fmt.Sprintf("%q < %s", p.Text, p.Way().En))
	}
	want := []string{
		`"a " < flow.yaml:4:50 > made (template) > talk > ask`,
		`"***" < secrets.KEY (flow.yaml:4:94) > made (template) > talk > ask`,
		`" b " < flow.yaml:4:61 > made (template) > talk > ask`,
		`"Mei" < inputs.who (flow.yaml:4:120) > made (template) > talk > ask`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A mask that hides names beside secrets names them, whatever calls the text went through: for example a template
// that joins secrets and other values.
func TestExplainNamesBesideSecrets(t *testing.T) {
	const flow = `
inputs: {type: object, properties: {who: {type: string}}}
steps:
  - id: made
    call: template
    with:
      template: %q
      values: {a: "{{ secrets.KEY }}", b: "{{ secrets.TWO }}", who: "{{ inputs.who }}"}
  - {id: prompt, call: context, with: {current_message: "{{ made.text }}"}}
  - {id: ask, call: chat, with: {messages: "{{ prompt.messages }}"}}
`
	for text, want := range map[string][]string{
		"{{ a }}{{ who }}{{ b }}":                       {`"***" < secrets.KEY`, `"Mei" < inputs.who`, `"***" < secrets.TWO`},
		"{{ (a ~ who) | upper }}":                       {`"***" < secrets.KEY inputs.who`},
		"{{ (a ~ who) | urlencode }} and {{ who }}":     {`"***" < secrets.KEY inputs.who`, `" and " < 7`, `"Mei" < inputs.who`},
		"{{ [a, who] | tojson }} of {{ who | upper }}!": {`"***" < secrets.KEY inputs.who`, `" of " < 7`, `"MEI" < inputs.who`, `"!" < 7`},
		"{{ a | upper }}, {{ who }}":                    {`"***" < secrets.KEY`, `", " < 7`, `"Mei" < inputs.who`},
	} {
		r := schedulertest.Run(t, fmt.Sprintf(flow, text), schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", "hunter+2+secret"),
			schedulertest.Secret("TWO", "Other-Secret"), schedulertest.Inputs(`{"who": "Mei"}`), schedulertest.LLM(scripted.Texts("yes")))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		pieces := all[0].Messages[len(all[0].Messages)-1].Pieces
		for _, p := range pieces {
			s := p.Sources[0]
			name := s.Name
			switch s.Kind { //nolint:exhaustive // of the others the name is wanted
			case explain.SourceFlow:
				name = fmt.Sprint(s.Line)
			case explain.SourceComputed:
				name = strings.Join(s.From, " ")
			}
			got = append(got, fmt.Sprintf("%q < %s", p.Text, name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

// A text that a template computes from a secret names it. The words of a branch or of a loop that a secret has
// decided come from the flow: the run has recorded which branch it took.
func TestExplainWhatSecretsDecide(t *testing.T) {
	flows := []string{`
inputs: {type: object}
steps:
  - {id: ask, call: chat, with: {user: %q}}
`, `
inputs: {type: object}
steps:
  - id: made
    call: template
    with: {template: %q, values: {inputs: "{{ inputs }}", secrets: {KEY: "{{ secrets.KEY }}", N: "{{ secrets.N }}"}}}
  - {id: ask, call: chat, with: {user: "{{ made.text }}"}}
`, `
inputs: {type: object}
steps:
  - {id: inner, call: flow, with: {path: sub.yaml, inputs: {who: "{{ inputs.who }}", b: "{{ inputs.b }}", key: "{{ secrets.KEY }}", n: "{{ secrets.N }}"}}}
  - {id: ask, call: chat, with: {user: "{{ inner.text }}"}}
-- sub.yaml --
inputs: {type: object}
steps:
  - id: made
    call: template
    with: {template: %q, values: {inputs: "{{ inputs }}", secrets: {KEY: "{{ inputs.key }}", N: "{{ inputs.n }}"}}}
outputs: {text: "{{ made.text }}"}
`}
	for text, want := range map[string][]string{
		"Pay {{ secrets.N | int + 1 }} to {{ inputs.who }}, please":             {`"Pay " < flow [0:4]`, `"***" < {{ secrets.N | int + 1 }} of secrets.N`, `" to " < flow [29:33]`, `"Mei" < inputs.who [0:3]`, `", please" < flow [49:57]`},
		"{{ secrets.KEY.split('+')[2] }} of {{ inputs.who }}":                   {`"***" < {{ secrets.KEY.split('+')[2] }} of secrets.KEY`, `" of " < flow [31:35]`, `"Mei" < inputs.who [0:3]`},
		"{{ secrets.KEY }} {{ secrets.N }} {{ inputs.who }}":                    {`"***" < secrets.KEY`, `" " < flow [17:18]`, `"***" < secrets.N`, `" " < flow [33:34]`, `"Mei" < inputs.who [0:3]`},
		"{% for c in secrets.KEY | list %}{{ c }}{% endfor %} {{ inputs.who }}": {`"***" < {{ c }} of secrets.KEY`, `" " < flow [52:53]`, `"Mei" < inputs.who [0:3]`},
		"{% for c in secrets.KEY.split('+') %}{{ c }} and {{ inputs.who }}; {% endfor %}for {{ inputs.b }}": {
			`"***" < {{ c }} of secrets.KEY`, `" and " < flow [44:49]`, `"Mei" < inputs.who [0:3]`, `"; " < flow [65:67]`,
			`"***" < {{ c }} of secrets.KEY`, `" and " < flow [44:49]`, `"Mei" < inputs.who [0:3]`, `"; " < flow [65:67]`,
			`"***" < {{ c }} of secrets.KEY`, `" and " < flow [44:49]`, `"Mei" < inputs.who [0:3]`, `"; " < flow [65:67]`,
			`"for " < flow [79:83]`, `"beta" < inputs.b [0:4]`,
		},
		"{% if secrets.N | int > 5 %}yes {{ inputs.who }}{% else %}no{% endif %} {{ inputs.b }}": {`"yes " < flow [28:32]`, `"Mei" < inputs.who [0:3]`, `" " < flow [71:72]`, `"beta" < inputs.b [0:4]`},
		"{% if secrets.KEY %}yes {{ inputs.who }}{% endif %} {{ secrets.N | upper }}":            {`"yes " < flow [20:24]`, `"Mei" < inputs.who [0:3]`, `" " < flow [51:52]`, `"***" < {{ secrets.N | upper }} of secrets.N`},
		"{% for x in [secrets.KEY, inputs.who] %}{{ x }}, {% endfor %}":                          {`"***" < secrets.KEY`, `", " < flow [47:49]`, `"Mei" < inputs.who [0:3]`, `", " < flow [47:49]`},
	} {
		for i, flow := range flows {
			r := schedulertest.Run(t, fmt.Sprintf(flow, text), schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", "hunter+many+words"),
				schedulertest.Secret("N", "41007"), schedulertest.Inputs(`{"who": "Mei", "b": "beta"}`), schedulertest.LLM(scripted.Texts("yes")))
			if diff := cmp.Diff(want, shownPieces(t, r, "ask")); diff != "" {
				t.Errorf("%s in flow %d (-want +got)\n%s", text, i, diff)
			}
		}
	}
}

// Items of a list that was made of a secret name it, however many there are.
func TestExplainListOfSecret(t *testing.T) {
	const flow = `
inputs: {type: object}
steps:
  - {id: ask, call: chat, for_each: "{{ secrets.KEY.split(' ') }}", with: {user: "{{ item }}"}}
`
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", "alpha beta gamma delta epsilon omega"), schedulertest.LLM(scripted.Texts("1", "2", "3", "4", "5", "6")))
	for _, item := range []string{"ask[0]", "ask[5]"} {
		all, err := explain.Explain(t.Context(), r.Flow, r.State(), item, bytesCounter{})
		if err != nil {
			t.Fatal(err)
		}
		if s := all[0].Messages[0].Pieces[0].Sources[0]; s.Name != "secrets.KEY" && !slices.Equal(s.From, []string{"secrets.KEY"}) {
			t.Errorf("%s is from %+v", item, s)
		}
	}
}

// A text in which a call masked the result of a secret keeps the sources around the mask. Items may be made of
// secrets too.
func TestExplainTextsMaskedByCalls(t *testing.T) {
	const flow = `
inputs: {type: object}
steps:
  - {id: ask, call: chat, with: {user: "Pay {{ secrets.N | int + 1 }} to {{ inputs.who }}."}}
  - {id: sum, call: summary, with: {text: "Pay {{ secrets.N | int + 1 }} to {{ inputs.who }}.", instructions: By the way}}
  - {id: each, call: chat, for_each: ["Pay {{ secrets.N | int + 1 }} to {{ inputs.who }}."], with: {user: "{{ item }}"}}
`
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Secret("N", "41007"), schedulertest.Inputs(`{"who": "Mei"}`),
		schedulertest.LLM(scripted.Texts("1", "2", "3")))
	want := []string{`"Pay " < flow [0:4]`, `"***" < {{ secrets.N | int + 1 }} of secrets.N`, `" to " < flow [29:33]`, `"Mei" < inputs.who [0:3]`, `"." < flow [49:50]`}
	for _, step := range []string{"ask", "sum", "each[0]"} {
		got := shownPieces(t, r, step)
		if step == "sum" {
			first := slices.IndexFunc(got, func(p string) bool { return strings.HasPrefix(p, `"Pay `) })
			got = got[first : first+len(want)]
			got[1] = strings.Replace(got[1], "{{  }}", "{{ secrets.N | int + 1 }}", 1) // the call has made it of the mask
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", step, diff)
		}
	}
}
