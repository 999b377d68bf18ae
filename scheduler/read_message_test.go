package scheduler_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const deskFlow = `
steps:
  - id: order
    call: slot
    with:
      stages: [llm]
      current_schema:
        type: object
        required: [order_number, days, gift]
        properties:
          order_number: {type: string, pattern: "^[A-Z]-[0-9]+$"}
          days: {type: integer, minimum: 1}
          gift: {type: boolean}
          colour: {oneOf: [{const: r, title: Red}, {const: b, title: Blue}]}
outputs: {data: "{{ order.slot_data }}"}
`

// talk is a run that waits, and the messages of its user.
type talk struct {
	*schedulertest.Result
	t    *testing.T
	exec *scheduler.StepExecutor
}

// newTalk runs a flow until it waits. A nil model is none.
func newTalk(t *testing.T, flow string, model llm.Provider, defs ...calls.Definition) *talk {
	t.Helper()
	r := &talk{t: t}
	options := []schedulertest.Option{schedulertest.With(append(defs, slot.Definition())...), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Journal = newJournal(t, e.Env.Clock)
		e.Env.LLM = calls.NewEnv().LLM
		if model != nil {
			e.Env.LLM = model
		}
		r.exec = e
	})}
	r.Result = schedulertest.Run(t, flow, options...)
	return r
}

// say answers the question of the run.
func (r *talk) say(text string, seen int64) {
	r.t.Helper()
	r.Result = r.Resume(scheduler.Resumption{Answers: []scheduler.Answer{{Message: text, Seen: seen}}})
}

// state returns the whole run.
func (r *talk) state() *journal.RunState {
	r.t.Helper()
	state, err := journal.Fold(r.exec.Journal.Events(r.t.Context(), "run-1", 1))
	if err != nil {
		r.t.Fatal(err)
	}
	return state
}

// waiting returns the places that the run waits for, and whether the last message had none of them.
func (r *talk) waiting() (pointers string, unread bool) {
	for _, w := range r.state().Waiting {
		return strings.Join(w.Pointers(), " "), w.Unread
	}
	return "", false
}

// hasOutputs checks how the run ended.
func (r *talk) hasOutputs(want string) {
	r.t.Helper()
	if r.Err != nil || r.Outputs.JSON() != want {
		r.t.Errorf("got %s, %v", r.Outputs.JSON(), r.Err)
	}
}

// TestMessage: a message that is a value is used as one, another is read by the model, once, and values that do
// not fit are dropped.
func TestMessage(t *testing.T) {
	usage := &llm.Usage{InputTokens: 10, OutputTokens: 2}
	model := scripted.New(scripted.Answer{Text: "{}", Usage: usage},
		scripted.Answer{Text: `{"/order_number": "A-1042", "/days": 0, "/gift": null}`, Usage: usage}, // two values, one of which does not fit
		scripted.Answer{Text: "I do not know.", Usage: usage})
	r := newTalk(t, deskFlow, model)
	r.say("It is A-1042, please", 0)
	if got, unread := r.waiting(); got != "/days /gift" || unread {
		t.Errorf("after a message with a value it waits for %s, unread %t: %v", got, unread, r.Err)
	}
	if request := model.Requests()[1].Messages[0]; !strings.Contains(string(request), "It is A-1042, please") {
		t.Errorf("the model was asked %s", request)
	}
	r.say("soon", 0)
	if got, unread := r.waiting(); got != "/days /gift" || !unread {
		t.Errorf("after a message without one it waits for %s, unread %t: %v", got, unread, r.Err)
	}
	if used := r.state().Usage; used.OutputTokens != 6 || r.state().Step("order").Usage != used {
		t.Errorf("the readings are not on the bill: %v, of the step %v", used, r.state().Step("order").Usage)
	}
	r.say("3.", 0)
	if got, unread := r.waiting(); got != "/gift" || unread {
		t.Errorf("after a value it waits for %s, unread %t: %v", got, unread, r.Err)
	}
	r.say("是", 0)
	r.hasOutputs(`{"data":{"order_number":"A-1042","days":3,"gift":true}}`)
	if n := len(model.Requests()); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestMessageWithoutModel: a message that no model reads changes nothing.
func TestMessageWithoutModel(t *testing.T) {
	for name, r := range map[string]*talk{
		"no provider":   newTalk(t, strings.Replace(deskFlow, "[llm]", "[default]", 1), nil),
		"only checks":   newTalk(t, strings.Replace(deskFlow, "[llm]", "[]", 1), scripted.Texts()),
		"only defaults": newTalk(t, strings.Replace(deskFlow, "[llm]", "[default]", 1), scripted.Texts()),
	} {
		before := r.state().LastSeq
		r.say("It is A-1042", 0)
		if calls.KindOf(r.Err) != calls.Invalid || r.state().LastSeq != before {
			t.Errorf("%s: %v", name, r.Err)
		}
		r.say("A-1042", 0)
		if got, _ := r.waiting(); got != "/days /gift" {
			t.Errorf("%s: a value is not taken: %v, %v", name, got, r.Err)
		}
	}
}

// TestMessageIsLate: a message for a run that has continued since the user was asked is refused.
func TestMessageIsLate(t *testing.T) {
	r := newTalk(t, deskFlow, scripted.Texts("{}"))
	seen := r.state().LastSeq
	r.say("A-1042", seen)
	if got, _ := r.waiting(); got != "/days /gift" {
		t.Fatalf("waits for %v: %v", got, r.Err)
	}
	r.say("3", seen)
	if got, _ := r.waiting(); calls.KindOf(r.Err) != calls.Invalid || got != "/days /gift" {
		t.Errorf("got %v, it waits for %s", r.Err, got)
	}
}

// TestMessageIsReadAgain: a message that a process had recorded, and did not read before it died, is read by the
// next one.
func TestMessageIsReadAgain(t *testing.T) {
	model := scripted.Texts("{}", `{"/order_number": "A-1042"}`)
	r := newTalk(t, strings.Replace(deskFlow, "[order_number, days, gift]", "[order_number]", 1), model)
	taken, err := r.exec.Answer(t.Context(), "run-1", scripted1042)
	if err != nil || taken[0].Message != scripted1042.Message || taken[0].Step != "order" {
		t.Fatalf("recorded %v, %v", taken, err)
	}
	r.Result = r.Resume(scheduler.Resumption{})
	r.hasOutputs(`{"data":{"order_number":"A-1042"}}`)
}

// scripted1042 is a message with an order number in it.
var scripted1042 = scheduler.Answer{Message: "my order is A-1042"}

// TestMessageOfSeveralValues: with several values missing, a text of several words is not taken as the first of them
// before the model has looked; after that it is.
func TestMessageOfSeveralValues(t *testing.T) {
	const flow = `
steps:
  - id: who
    call: slot
    with: {stages: [llm], current_schema: {type: object, required: [name, mail], properties: {name: {type: string}, mail: {type: string, format: email}}}}
outputs: {data: "{{ who.slot_data }}"}
`
	model := scripted.Texts("{}", "{}")
	r := newTalk(t, flow, model)
	for _, text := range []string{"Lin Chen", "Lin Chen", "lin@example.com"} {
		r.say(text, 0)
	}
	r.hasOutputs(`{"data":{"name":"Lin Chen","mail":"lin@example.com"}}`)
	if n := len(model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

type place struct {
	City string `json:"city" enum:"Lyon|Oslo"`
}

// TestMessageFills: the parameters of a step that asks for them are filled from a message too.
func TestMessageFills(t *testing.T) {
	weather := calls.Func("weather", calls.Text{En: "Tells the weather.", Zh: "告知天气。"}, func(_ context.Context, _ *calls.Env, p place) (place, error) { return p, nil })
	model := scripted.Texts("{}", "{}", `{"/city": "Oslo"}`)
	r := newTalk(t, "steps: [{id: a, call: weather, enable_filling: true}]", model, weather)
	r.say("the capital of Norway", 0)
	r.hasOutputs(`{"a":{"city":"Oslo"}}`)
}

// TestReadText: typed text is read as a value by the schema.
func TestReadText(t *testing.T) {
	for _, c := range []struct{ schema, text, want string }{
		{"{type: integer}", " 3 ", "3"},
		{"{type: integer}", "three", ""},
		{"{type: boolean}", "是", "true"},
		{"{type: boolean}", "No.", "false"},
		{"{type: string}", "Yes.", `"Yes."`},
		{"{enum: [red, Blue]}", "blue!", `"Blue"`},
		{"{enum: [red, Blue]}", "2", `"Blue"`},
		{"{enum: [10, 2]}", "2", "2"},
		{"{enum: [r, b], enumNames: [红色, 蓝色]}", "蓝色", `"b"`},
		{"{oneOf: [{const: r, title: Red}, {const: b, title: Blue}]}", "red", `"r"`},
		{"{type: array, items: {type: integer}}", "1，2、3", "[1,2,3]"},
		{"{type: array, items: {enum: [red, blue]}}", "RED, blue", `["red","blue"]`},
		{"{type: string, format: email}", "lin@example.com.", `"lin@example.com"`},
		{"{type: string, format: email}", "It is lin@example.com", ""},
		{"{type: string, format: uri}", "https://example.com/a?b", `"https://example.com/a?b"`},
		{"{type: string, format: uri}", "the one on my card", ""},
		{"{type: array, items: {type: object}}", "a, b", ""},
		{"{type: array, items: {enum: [red, blue]}}", "red and blue", `["red","blue"]`},
		{"{type: array, items: {enum: [红, 蓝]}}", "红和蓝", `["红","蓝"]`},
		{"{type: array, items: {type: string}}", "salt and pepper", `["salt and pepper"]`},
		{"{type: object}", "colour: red, size：3", `{"colour":"red","size":3}`},
		{"{type: object, additionalProperties: {type: integer}}", "a: 1; b: two", ""},
		{"{type: object, minProperties: 2}", "a: 1", ""},
		{"{type: object, properties: {a: {type: string}}}", "a: 1", ""},
		{`{type: string, pattern: "^[A-Z]-[0-9]+$"}`, "A-1042.", `"A-1042"`},
		{`{type: string, pattern: "^[A-Z]-[0-9]+$"}`, "It is A-1042", ""},
	} {
		s, err := schema.Parse(mustYAML(t, c.schema))
		if err != nil {
			t.Fatal(err)
		}
		v, err := scheduler.ReadText(s, c.text)
		if got := v.JSON(); err == nil && got != c.want || err != nil && c.want != "" {
			t.Errorf("%s: %q is %s, %v", c.schema, c.text, got, err)
		}
	}
}

func mustYAML(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMessageAfterFailure: a provider that fails while it reads a message fails the step; the message is read again when
// the run is resumed, and an answer to a run that was cancelled is refused.
func TestMessageAfterFailure(t *testing.T) {
	down := scripted.Answer{Error: &llm.Error{Status: 401, Message: "the key is wrong"}}
	model := scripted.New(scripted.Answer{Text: "{}"}, down, scripted.Answer{Text: `{"/order_number": "A-1042"}`})
	r := newTalk(t, strings.Replace(deskFlow, "[order_number, days, gift]", "[order_number]", 1), model)
	r.say("my order is A-1042", 0)
	if got := r.state().State; got != journal.RunFailed || calls.KindOf(r.Err) != calls.Provider {
		t.Errorf("the run is %s: %v", got, r.Err)
	}
	r.Result = r.Resume(scheduler.Resumption{})
	r.hasOutputs(`{"data":{"order_number":"A-1042"}}`)

	r = newTalk(t, deskFlow, scripted.Texts("{}"))
	if err := r.exec.Journal.Cancel(t.Context(), "run-1"); err != nil {
		t.Fatal(err)
	}
	r.say("A-1042", 0)
	if got := r.state(); calls.KindOf(r.Err) != calls.Invalid || got.State != journal.RunCancelled {
		t.Errorf("after a cancel: %v, the run is %s", r.Err, got.State)
	}
}

// TestMessageForFreeText: any text fits a name, so the model reads a message first; a message in which it finds
// nothing is the value when it is repeated or names the place, unless it is a question or a refusal. Without a
// model it is the value at once.
func TestMessageForFreeText(t *testing.T) {
	const flow = `
steps:
  - id: who
    call: slot
    with: {stages: [llm], current_schema: {type: object, required: [name], properties: {name: PROPERTY}}}
outputs: {data: "{{ who.slot_data }}"}
`
	for _, c := range []struct {
		name, property string
		says           []string
		answers        []string // of the model: to the question of the run, then to each message that it reads
		want           string   // "": it still waits
	}{
		{name: "a name", property: "{type: string}", says: []string{"Lin"}, answers: []string{"{}", `{"/name": "Lin"}`}, want: `{"data":{"name":"Lin"}}`},
		{name: "a sentence", property: "{type: string, minLength: 2}", says: []string{"It is Lin"}, answers: []string{"{}", `{"/name": "Lin"}`}, want: `{"data":{"name":"Lin"}}`},
		{name: "no answers", property: "{type: string}", says: []string{"why?", "skip", "为什么？", "hello", "When do you open?"}, answers: []string{"{}", "{}", "{}", "{}", "{}", "{}"}},
		{name: "a model that takes a refusal", property: "{type: string}", says: []string{"why?", "跳过"}, answers: []string{"{}", `{"/name": "why?"}`, `{"/name": "跳过"}`}},
		{name: "said again", property: "{type: string}", says: []string{"Lin", "Lin"}, answers: []string{"{}", "{}"}, want: `{"data":{"name":"Lin"}}`},
		{name: "a question said again", property: "{type: string}", says: []string{"你们几点开门", "你们几点开门", "do you deliver", "do you deliver"}, answers: []string{"{}", "{}", "{}"}},
		{name: "a refusal said again", property: "{type: string}", says: []string{"nope", "nope", "不要", "不要", "I won't tell you", "I won't tell you"}, answers: []string{"{}", "{}", "{}", "{}"}},
		{name: "a refusal that is named", property: "{type: string, title: Full name}", says: []string{"Nope", "full name: Nope"}, answers: []string{"{}", "{}"}, want: `{"data":{"name":"Nope"}}`},
		{name: "named by its description", property: "{type: string, description: The nickname.}", says: []string{"why", "Nickname： Why: not"}, answers: []string{"{}", "{}"}, want: `{"data":{"name":"Why: not"}}`},
		{name: "named at once may hold more", property: "{type: string}", says: []string{"name: Lin, phone: 123"}, answers: []string{"{}", `{"/name": "Lin"}`}, want: `{"data":{"name":"Lin"}}`},
		{name: "a sentence after no answer", property: "{type: string}", says: []string{"why?", "It is Lin"}, answers: []string{"{}", "{}", `{"/name": "Lin"}`}, want: `{"data":{"name":"Lin"}}`},
		{name: "anything", property: "{}", says: []string{"what?"}, answers: []string{"{}", "{}"}},
		{name: "a list of texts", property: "{type: array, items: {type: string}}", says: []string{"what?", "red, blue", "red, blue"}, answers: []string{"{}", "{}", "{}"}, want: `{"data":{"name":["red","blue"]}}`},
		{name: "a question that is a value", property: "{type: string, description: Your question}", says: []string{"When do you open?"}, answers: []string{"{}", `{"/name": "When do you open?"}`}, want: `{"data":{"name":"When do you open?"}}`},
		{name: "a pattern", property: "{type: string, pattern: '^[a-z]+$'}", says: []string{"skip"}, answers: []string{"{}"}, want: `{"data":{"name":"skip"}}`},
		{name: "JSON", property: "{type: string}", says: []string{`{"name": "Lin"}`}, answers: []string{"{}", `{"/name": "Lin"}`}, want: `{"data":{"name":"Lin"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.Texts(c.answers...)
			r := newTalk(t, strings.Replace(flow, "PROPERTY", c.property, 1), model)
			for _, text := range c.says {
				r.say(text, 0)
			}
			if n := len(model.Requests()); n != len(c.answers) {
				t.Errorf("the model was asked %d times, want %d", n, len(c.answers))
			}
			if c.want != "" {
				r.hasOutputs(c.want)
			} else if got, _ := r.waiting(); got != "/name" {
				t.Errorf("it waits for %q: %s %v", got, r.Outputs.JSON(), r.Err)
			}
		})
	}
	r := newTalk(t, strings.Replace(strings.Replace(flow, "PROPERTY", "{type: string}", 1), "[llm]", "[default]", 1), nil)
	r.say("why?", 0)
	if calls.KindOf(r.Err) != calls.Invalid {
		t.Errorf("a refusal without a model: %v", r.Err)
	}
	r.say("When do you open?", 0)
	r.hasOutputs(`{"data":{"name":"When do you open?"}}`)
}

// TestMessageAfterFailedReading: a run that failed as the model read a message accepts another one, a value or a
// text.
func TestMessageAfterFailedReading(t *testing.T) {
	down := scripted.Answer{Error: &llm.Error{Status: 401, Message: "the key is wrong"}}
	flow := strings.Replace(deskFlow, "[order_number, days, gift]", "[order_number]", 1)
	for _, c := range []struct {
		name, says string
		reads      int
	}{{"a value", "A-1042", 2}, {"words", "no, A-1042 please", 3}} {
		model := scripted.New(scripted.Answer{Text: "{}"}, down, scripted.Answer{Text: `{"/order_number": "A-1042"}`})
		r := newTalk(t, flow, model)
		r.say("my order is B-1", 0)
		if got, _ := r.waiting(); got != "/order_number" || !r.state().TakesAnswers() || r.state().State != journal.RunFailed {
			t.Fatalf("%s: the run is %s and waits for %q", c.name, r.state().State, got)
		}
		r.say(c.says, r.state().LastSeq)
		r.hasOutputs(`{"data":{"order_number":"A-1042"}}`)
		if n := len(model.Requests()); n != c.reads {
			t.Errorf("%s: the model was asked %d times", c.name, n)
		}
		if last := model.Requests()[c.reads-1].Messages[0]; c.reads == 3 && strings.Contains(string(last), "B-1") {
			t.Errorf("%s: the first message is read again: %s", c.name, last)
		}
	}
}

// TestMessageIsReadWithItsQuestion: the model that reads an answer gets the question too.
func TestMessageIsReadWithItsQuestion(t *testing.T) {
	model := scripted.Texts("{}", `{"/days": 2}`)
	r := newTalk(t, deskFlow, model)
	r.exec.Question = func(language string, place journal.AskedPlace) string { return language + " asks for " + place.Pointer }
	r.say("A-1042", 0)
	r.say("the day after tomorrow", 0)
	if got := string(model.Requests()[1].Messages[0]); !regexp.MustCompile(`asked(>|\\u003e)\\n(en)? asks for /days`).MatchString(got) {
		t.Errorf("the model is asked %s", got)
	}
}

// TestPlaceholdersFromModels: data that a template takes from a step which asks a model has no value for texts
// such as "N/A"; other data has.
func TestPlaceholdersFromModels(t *testing.T) {
	reads := func(name string, options ...calls.Option) calls.Definition {
		return calls.Func(name, calls.Text{En: "Reads.", Zh: "读取。"}, func(context.Context, *calls.Env, struct{}) (found, error) {
			return found{City: "N/A", Inner: found2{Zip: "none"}, Text: "unknown"}, nil
		}, options...)
	}
	defs := []calls.Definition{reads("ask-model", calls.WithLLM()), reads("ask-disk")}
	weather := calls.Func("weather", calls.Text{En: "Tells the weather.", Zh: "告知天气。"}, func(_ context.Context, _ *calls.Env, p free) (free, error) { return p, nil })
	for _, c := range []struct{ name, steps, want string }{
		{"a whole object", `{id: read, call: ask-model}, {id: s, call: slot, with: {stages: [], data: "{{ read }}", current_schema: SCHEMA}}`, "/city"},
		{"a member", `{id: read, call: ask-model}, {id: s, call: slot, with: {stages: [], data: {city: "{{ read.city }}"}, current_schema: SCHEMA}}`, "/city"},
		{"a text", `{id: read, call: ask-model}, {id: s, call: slot, with: {stages: [], data: {city: " {{ read.text }} "}, current_schema: SCHEMA}}`, "/city"},
		{"a default of the flow", `{id: read, call: ask-model}, {id: s, call: slot, with: {stages: [], data: {city: "{{ read.nothing | default('none') }}"}, current_schema: SCHEMA}}`, ""},
		{"written in the flow", `{id: s, call: slot, with: {stages: [], data: {city: unknown}, current_schema: SCHEMA}}`, ""},
		{"from elsewhere", `{id: read, call: ask-disk}, {id: s, call: slot, with: {stages: [], data: "{{ read }}", current_schema: SCHEMA}}`, ""},
		{"an input", `{id: s, call: slot, with: {stages: [], data: {city: "{{ inputs.city }}"}, current_schema: SCHEMA}}`, ""},
		{"an item", `{id: read, call: ask-model}, {id: s, call: slot, for_each: "{{ [read.city] }}", with: {stages: [], data: {city: "{{ item }}"}, current_schema: SCHEMA}}`, "/city"},
		{"by a sub-flow", `{id: sub, call: flow, with: {path: inner.yaml}}, {id: s, call: slot, with: {stages: [], data: {city: "{{ sub.found }}"}, current_schema: SCHEMA}}]
-- inner.yaml --
steps: [{id: read, call: ask-model}]
outputs: {found: "{{ read.city }}"}
`, "/city"},
		{"by a sub-flow that asks none", `{id: sub, call: flow, with: {path: inner.yaml}}, {id: s, call: slot, with: {stages: [], data: {city: "{{ sub.found }}"}, current_schema: SCHEMA}}]
-- inner.yaml --
steps: [{id: read, call: ask-disk}]
outputs: {found: "{{ read.city }}"}
`, ""},
		{"in a sub-flow", `{id: read, call: ask-model}, {id: sub, call: flow, with: {path: inner.yaml, inputs: {town: "{{ read.city }}"}}}]
-- inner.yaml --
inputs: {type: object, properties: {town: {type: string}}}
steps: [{id: s, call: slot, with: {stages: [], data: {city: "{{ inputs.town }}"}, current_schema: SCHEMA}}]
`, "/city"},
		{"from another slot", `{id: read, call: slot, with: {stages: [], data: {city: none}, current_schema: SCHEMA}}, {id: s, call: slot, with: {stages: [], data: "{{ read.slot_data }}", current_schema: SCHEMA}}`, ""},
		{"filled parameters", `{id: read, call: ask-model}, {id: s, call: weather, enable_filling: true, with: {city: "{{ read.city }}"}}`, "/city"},
		{"filled parameters from elsewhere", `{id: read, call: ask-disk}, {id: s, call: weather, enable_filling: true, with: {city: "{{ read.city }}"}}`, ""},
	} {
		steps := strings.ReplaceAll(c.steps, "SCHEMA", "{type: object, required: [city], properties: {city: {type: string}}}")
		end := "]\n"
		if strings.Contains(steps, "-- inner.yaml --") {
			end = ""
		}
		r := newTalk(t, "inputs: {type: object, properties: {city: {type: string, default: none}}}\nsteps: ["+steps+end, nil, append(defs, weather, flowcall.Definition())...)
		if got, _ := r.waiting(); got != c.want {
			t.Errorf("%s: it waits for %q, want %q: %v", c.name, got, c.want, r.Err)
		}
		if c.want != "" {
			r.Result = r.Resume(scheduler.Resumption{Answers: []scheduler.Answer{{Pointer: "/city", Value: value.OfString("none")}}})
			if r.Err != nil || !strings.Contains(r.Outputs.JSON(), `"city":"none"`) {
				t.Errorf("%s: a person's answer is not taken: %s, %v", c.name, r.Outputs.JSON(), r.Err)
			}
		}
	}
}

type free struct {
	City string `json:"city"`
}

type found struct {
	City    string `json:"city"`
	Inner   found2 `json:"inner"`
	Text    string `json:"text"`
	Nothing string `json:"nothing,omitempty"`
}

type found2 struct {
	Zip string `json:"zip"`
}
