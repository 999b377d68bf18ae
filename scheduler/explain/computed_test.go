package explain_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// shownPieces returns the pieces of the last message of a step's prompt: text, kind or names of the
// first source, and its bytes.
func shownPieces(t *testing.T, r *schedulertest.Result, step string) (got []string) {
	t.Helper()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), step, bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	messages := all[len(all)-1].Messages
	for _, p := range messages[len(messages)-1].Pieces {
		s := p.Sources[0]
		shown := fmt.Sprintf("%q < ", p.Text)
		switch s.Kind {
		case explain.SourceFlow:
			shown += "flow"
		case explain.SourceComputed:
			shown += "{{ " + s.Name + " }} of " + strings.Join(s.From, " ")
		default:
			shown += s.Name
		}
		if s.Start != nil {
			shown += fmt.Sprintf(" [%d:%d]", *s.Start, *s.End)
		}
		got = append(got, shown)
	}
	return got
}

// Pieces of a template have the same sources in the call template as in a parameter: results of filters, operators
// and functions name the values that they were computed from.
func TestExplainComputedInTemplates(t *testing.T) {
	flows := map[string]string{"template": `
inputs: {type: object}
steps:
  - id: made
    call: template
    with:
      template: %q
      values: {inputs: "{{ inputs }}"}
  - {id: ask, call: chat, with: {user: "{{ made.text }}"}}
`, "parameter": `
inputs: {type: object}
steps:
  - {id: ask, call: chat, with: {user: %q}}
`}
	for text, want := range map[string][]string{
		".{{ inputs.a|length }}":                                        {`"." < flow [0:1]`, `"5" < {{ inputs.a|length }} of inputs.a`},
		".{{ inputs.a | upper }}.":                                      {`"." < flow [0:1]`, `"ALPHA" < {{ inputs.a | upper }} of inputs.a`, `"." < flow [23:24]`},
		".{{ inputs.a|truncate(4, true, '..', 0) }}":                    {`"." < flow [0:1]`, `"al" < inputs.a [0:2]`, `".." < flow [32:34]`},
		".{{ inputs.a|replace('a','0') }}":                              {`"." < flow [0:1]`, `"0lph0" < {{ inputs.a|replace('a','0') }} of inputs.a`},
		".{{ inputs.n+1 }}{{ inputs.n }}":                               {`"." < flow [0:1]`, `"42" < {{ inputs.n+1 }} of inputs.n`, `"41" < inputs.n`},
		".{{ inputs.a if inputs.c else inputs.b }}":                     {`"." < flow [0:1]`, `"alpha" < inputs.a [0:5]`},
		".{{ 'yes' if inputs.c else inputs.b }}":                        {`"." < flow [0:1]`, `"yes" < flow [5:8]`},
		".{{ inputs.a ~ inputs.b }}":                                    {`"." < flow [0:1]`, `"alpha" < inputs.a [0:5]`, `"beta" < inputs.b [0:4]`},
		".{{ [inputs.a, inputs.b]|join('-') }}":                         {`"." < flow [0:1]`, `"alpha" < inputs.a [0:5]`, `"-" < flow [31:32]`, `"beta" < inputs.b [0:4]`},
		".{{ [inputs.a, inputs.b]|tojson }}":                            {`"." < flow [0:1]`, `"[\"alpha\", \"beta\"]" < {{ [inputs.a, inputs.b]|tojson }} of inputs.a inputs.b`},
		"{% set s = inputs.a|upper %}.{{ s }}":                          {`"." < flow [28:29]`, `"ALPHA" < {{ s }} of inputs.a`},
		".{% filter upper %}x {{ inputs.a }}{% endfilter %}":            {`"." < flow [0:1]`, `"X ALPHA" < {{ upper }} of inputs.a`},
		".{% filter upper %}x{% endfilter %}":                           {`"." < flow [0:1]`, `"X" < {{ upper }} of `},
		"{% macro m(x) %}<{{ x }}{% endmacro %}{{ m(inputs.a|upper) }}": {`"<" < flow [16:17]`, `"ALPHA" < {{ x }} of inputs.a`},
		".{{ 1 + 1 }}": {`"." < flow [0:1]`, `"2" < {{ 1 + 1 }} of `},
	} {
		for name, flow := range flows {
			r := schedulertest.Run(t, fmt.Sprintf(flow, text), schedulertest.With(builtin.Calls()...),
				schedulertest.Inputs(`{"a": "alpha", "b": "beta", "c": true, "n": 41}`), schedulertest.LLM(scripted.Texts("yes")))
			if diff := cmp.Diff(want, shownPieces(t, r, "ask")); diff != "" {
				t.Errorf("%s in a %s (-want +got)\n%s", text, name, diff)
			}
		}
	}
}

// Texts that a call itself computes from its parameters name them.
func TestExplainComputedByCalls(t *testing.T) {
	const flow = `
inputs: {type: object}
steps:
  - id: prompt
    call: in-chat
    with:
      history: [{role: user, content: "Hi"}]
      variables: {who: "{{ inputs.a }}", count: "{{ inputs.n }}", list: "{{ inputs.l }}"}
      world_books: {entries: [{keys: [Hi], enabled: true, insertion_order: 1, extensions: {position: 4, depth: 0, role: 0}, content: "<{{getvar::who}}> {{getvar::count}} {{getvar::list}} {{random::x::x}}{{random::{{getvar::who}}::{{getvar::who}}}}"}]}
  - {id: ask, call: chat, with: {messages: "{{ prompt.messages }}"}}
`
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...),
		schedulertest.Inputs(`{"a": "alpha", "n": 41, "l": ["x"]}`), schedulertest.LLM(scripted.Texts("yes")))
	want := []string{
		`"<" < flow [0:1]`, `"alpha" < inputs.a [0:5]`, `"> " < flow [16:18]`, `"41" < inputs.n`, `" " < flow [35:36]`,
		`"['x']" < {{  }} of inputs.l.0`, `" " < flow [52:53]`, `"x" < {{ random::x::x }} of `,
		`"alpha" < {{ random::{{getvar::who}}::{{getvar::who}} }} of inputs.a`,
	}
	if diff := cmp.Diff(want, shownPieces(t, r, "ask")); diff != "" {
		t.Error(diff)
	}
}

// Data of the call slot may have pointers as keys: a value in its place in the schema is credited to the key that
// gave it, even if two keys give the same value.
func TestExplainDataByPointers(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - id: fill
    call: slot
    with:
      data: {city: "{{ inputs.a }}", "/city": "{{ inputs.b }}", "/stay/hotel": "{{ inputs.c }}", "/stay/nights": "{{ inputs.d }}", day: "{{ inputs.e }}"}
      current_schema:
        type: object
        properties: {city: {type: string}, day: {type: string}, stay: {type: object, properties: {hotel: {type: string}, nights: {type: string}}}}
  - id: ask
    call: chat
    with: {user: "{{ fill.slot_data.city }}{{ fill.slot_data.stay.hotel }}{{ fill.slot_data.stay.nights }}{{ fill.slot_data.day }}"}
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"a": "same", "b": "same", "c": "same", "d": "same", "e": "same"}`), schedulertest.LLM(scripted.Texts("yes")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"ask chat",
		"user same < inputs.b (flow.yaml:7:51) > fill (slot) > ask",
		"user same < inputs.c (flow.yaml:7:84) > fill (slot) > ask",
		"user same < inputs.d (flow.yaml:7:118) > fill (slot) > ask",
		"user same < inputs.e (flow.yaml:7:141) > fill (slot) > ask",
	}
	if diff := cmp.Diff(want, explained(t, r, "ask")); diff != "" {
		t.Error(diff)
	}
}

// The texts of a content of several parts keep their sources. JSON around the members of another value is the
// call's own, and the members' names belong to the value.
func TestExplainJSONOfParts(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: talk, call: in-chat, with: {history: [{role: user, content: "{{ inputs.parts }}"}, {role: user, content: "{{ inputs.data }}"}]}}
  - {id: ask, call: chat, with: {messages: "{{ talk.messages }}"}}
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.Texts("yes")),
		schedulertest.Inputs(`{"parts": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "you"}], "data": {"name": "Bo"}}`))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	const own, passedOn = " < talk (in-chat) > ask", " > talk (in-chat) > ask"
	from := func(name string) string { return " < inputs." + name + " > ask" }
	want := []string{
		"ask chat",
		"Hi < inputs.parts.0.text" + passedOn, "you < inputs.parts.1.text" + passedOn,
		`{"` + own, "name" + from("data"), `":"` + own, "Bo" + from("data.name"), `"}` + own,
	}
	var got []string
	for _, line := range explained(t, r, "ask") {
		line = strings.TrimPrefix(line, "user ")
		got = append(got, place.ReplaceAllString(line, ""))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The names of members in a content of several parts are words of the call that put the message out; its parts
// describe the texts, and the rest comes from its parameters.
func TestExplainWordsAroundTexts(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - id: made
    call: context
    with:
      identity: You help.
      current_message: Now.
      history:
        - role: user
          content:
            - {type: text, text: "{{ inputs.a | upper }}."}
            - {type: text, text: "{{ inputs.b }}"}
            - {type: image_url, image_url: {url: "https://example.com/a.png"}}
  - {id: sum, call: summary}
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"question": "Why?", "a": "alpha", "b": "bravo"}`), schedulertest.LLM(scripted.Texts("yes")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	const own = " < made (context) > sum (summary): conversation"
	const given = " > made (context) > sum (summary): conversation"
	const passedOn = " > made: history 0 user > sum (summary): conversation"
	want := []string{
		"type" + own, "text < flow.yaml:12:22" + given, "text" + own,
		"ALPHA < flow.yaml:12:38 {{ inputs.a | upper }} computed from inputs.a" + passedOn,
		". < flow.yaml:12:57" + passedOn,
		"type" + own, "text < flow.yaml:13:22" + given, "text" + own,
		"bravo < inputs.b" + passedOn,
		"type" + own, "image_url < flow.yaml:14:22" + given, "image_url" + own, "url" + own, "https://example.com/a.png < flow.yaml:14:51" + given,
	}
	lines := explained(t, r, "sum")
	first := slices.Index(lines, "user content"+own) // of the system prompt
	first += 1 + slices.Index(lines[first+1:], "user content"+own)
	var got []string
	for _, line := range lines[first+1:] {
		line = place.ReplaceAllString(strings.TrimPrefix(line, "user "), "")
		if line == "role"+own { // of the message behind
			break
		}
		if isBetween := strings.HasSuffix(line, " < sum (summary): conversation"); !isBetween {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// place matches the place at which the flow mentions a name.
var place = regexp.MustCompile(` \(flow\.yaml:[0-9:]+\)`)
