package journal_test

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// eventsOf reads events in a short form: TYPE STEP DATA, in which STEP may be -, and STEP[3] is an item.
func eventsOf(t *testing.T, text string) iter.Seq2[*journal.Event, error] {
	t.Helper()
	return func(yield func(*journal.Event, error) bool) {
		seq := int64(0)
		for line := range strings.Lines(text) {
			fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
			if fields[0] == "" {
				continue
			}
			seq++
			ev := &journal.Event{Seq: seq, Time: time.Unix(seq, 0), Run: "r", Type: journal.EventType(fields[0])}
			if len(fields) > 1 && fields[1] != "-" {
				ev.Step = fields[1]
				if name, item, ok := strings.Cut(fields[1], "["); ok && strings.HasSuffix(item, "]") {
					index := int(item[0] - '0')
					ev.Step, ev.Index = name, &index
				}
			}
			if len(fields) > 2 {
				if err := json.Unmarshal([]byte(fields[2]), &ev.Data); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct{ name, events, want string }{
		{"nothing", "", `{"state":"running","steps":[],"waiting":[],"usage":{"input_tokens":0,"output_tokens":0}}`},
		{
			"to the end", `
			flow.started - {"flow":"f","inputs":{"a":1}}
			step.ready one
			step.started one {"call":"chat"}
			step.retrying one {"attempt":1,"error":{"kind":"timeout","message":"slow"}}
			step.input one {"input":{"x":1}}
			step.finished one {"output":{"text":"hi"},"usage":{"input_tokens":3,"output_tokens":4},"duration_ms":5}
			step.skipped two {"reason":"no"}
			flow.finished - {"outputs":{"b":2},"usage":{"input_tokens":3,"output_tokens":4}}`,
			`{"state":"finished","steps":[
				{"id":"one","call":"chat","state":"finished","attempts":2,"duration_ms":5,"usage":{"input_tokens":3,"output_tokens":4}},
				{"id":"two","call":"","state":"skipped","attempts":0,"duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0},"reason":"no"}
			],"waiting":[],"outputs":{"b":2},"usage":{"input_tokens":3,"output_tokens":4}}`,
		},
		{
			"a failure cancels", `
			flow.started -
			step.ready one
			step.ready two
			step.ready three
			step.started one {"call":"a"}
			step.started two {"call":"b"}
			step.started three {"call":"c"}
			step.failed one {"error":{"kind":"provider","message":"no"},"duration_ms":1}
			step.failed two {"error":{"kind":"canceled","message":"stopped"},"duration_ms":2}
			flow.failed - {"error":{"kind":"provider","message":"no","step":"one"},"text":"sorry"}`,
			`{"state":"failed","steps":[
				{"id":"one","call":"a","state":"failed","attempts":1,"duration_ms":1,"usage":{"input_tokens":0,"output_tokens":0},"error":{"kind":"provider","message":"no"}},
				{"id":"two","call":"b","state":"cancelled","attempts":1,"duration_ms":2,"usage":{"input_tokens":0,"output_tokens":0},"error":{"kind":"canceled","message":"stopped"}},
				{"id":"three","call":"c","state":"cancelled","attempts":1,"duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0}}
			],"waiting":[],"error":{"kind":"provider","message":"no","step":"one"},"reply":"sorry","usage":{"input_tokens":0,"output_tokens":0}}`,
		},
		{
			"waiting", `
			flow.started -
			step.started one {"call":"slot"}
			step.waiting one {"remaining_schema":{"required":["/city"]}}
			step.started outer {"call":"flow"}
			step.started outer/two
			step.waiting outer/two[3] {"remaining_schema":{"required":["/day"]}}
			flow.waiting -
			step.answered one {"answers":{"/city":"x","/days":1}}
			step.answered one {"answers":{"/city":"y"}}`,
			`{"state":"waiting","steps":[
				{"id":"one","call":"slot","state":"waiting","attempts":1,"duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0}},
				{"id":"outer","call":"flow","state":"waiting","attempts":1,"duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0}},
				{"id":"outer/two","call":"","state":"waiting","attempts":1,"duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0},"items":[
					{"id":"outer/two[3]","call":"","state":"waiting","attempts":0,"duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0}}]}
			],"waiting":[{"step":"one","remaining_schema":{"required":["/city"]}},{"step":"outer/two[3]","remaining_schema":{"required":["/day"]}}],
			"usage":{"input_tokens":0,"output_tokens":0}}`,
		},
		{
			"going on", `
			flow.started -
			step.started one {"call":"slot"}
			step.waiting one {"remaining_schema":{}}
			flow.waiting -
			step.answered one {"answers":{"/city":"x"}}
			flow.resumed -
			step.started one {"call":"slot"}
			step.finished one {"output":{},"usage":{"input_tokens":1,"output_tokens":1}}
			step.started two {"call":"chat"}
			flow.resumed -`,
			`{"state":"running","steps":[
				{"id":"one","call":"slot","state":"finished","attempts":2,"duration_ms":0,"usage":{"input_tokens":1,"output_tokens":1}},
				{"id":"two","call":"chat","state":"pending","attempts":1,"duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0}}
			],"waiting":[],"usage":{"input_tokens":1,"output_tokens":1}}`,
		},
		{
			"again after a failure", `
			step.started one {"call":"a"}
			step.failed one {"error":{"kind":"provider","message":"no"},"usage":{"input_tokens":5,"output_tokens":0}}
			flow.failed - {"error":{"kind":"provider","message":"no"},"text":"sorry"}
			flow.resumed -
			step.ready one
			step.started one {"call":"a"}
			step.finished one {"output":{},"usage":{"input_tokens":6,"output_tokens":1}}
			flow.cancelled -`,
			`{"state":"cancelled","steps":[
				{"id":"one","call":"a","state":"finished","attempts":2,"duration_ms":0,"usage":{"input_tokens":11,"output_tokens":1}}
			],"waiting":[],"usage":{"input_tokens":11,"output_tokens":1}}`,
		},
		{
			"killed inside a step", `
			flow.started -
			step.started a {"call":"agent"}
			step.started a/round-1 {"call":"round"}
			step.finished a/round-1 {"output":{},"usage":{"input_tokens":5,"output_tokens":1}}
			step.started b {"call":"flow"}
			step.started b/c
			step.started b/c[0] {"call":"ask"}
			step.finished b/c[0] {"output":{},"usage":{"input_tokens":2,"output_tokens":2,"cached_tokens":1}}
			flow.resumed -
			step.started a {"call":"agent"}
			step.started a/round-2 {"call":"round"}
			step.failed a/round-2 {"error":{"kind":"provider","message":"no"},"usage":{"input_tokens":7,"output_tokens":0}}
			step.retrying a {"attempt":1,"error":{"kind":"provider","message":"no"}}
			step.started a/round-2 {"call":"round"}
			step.finished a/round-2 {"output":{},"usage":{"input_tokens":7,"output_tokens":1}}
			step.finished a {"output":{},"usage":{"input_tokens":20,"output_tokens":1}}`,
			`{"state":"running","steps":[
				{"id":"a","call":"agent","state":"finished","attempts":3,"duration_ms":0,"usage":{"input_tokens":25,"output_tokens":2}},
				{"id":"a/round-1","call":"round","state":"finished","attempts":1,"duration_ms":0,"usage":{"input_tokens":5,"output_tokens":1}},
				{"id":"b","call":"flow","state":"pending","attempts":1,"duration_ms":0,"usage":{"input_tokens":2,"output_tokens":2,"cached_tokens":1}},
				{"id":"b/c","call":"","state":"pending","attempts":1,"duration_ms":0,"usage":{"input_tokens":2,"output_tokens":2,"cached_tokens":1},"items":[
					{"id":"b/c[0]","call":"ask","state":"finished","attempts":1,"duration_ms":0,"usage":{"input_tokens":2,"output_tokens":2,"cached_tokens":1}}]},
				{"id":"a/round-2","call":"round","state":"finished","attempts":2,"duration_ms":0,"usage":{"input_tokens":14,"output_tokens":1}}
			],"waiting":[],"usage":{"input_tokens":27,"output_tokens":4,"cached_tokens":1}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			state, err := journal.Fold(eventsOf(t, test.events))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(t, []byte(test.want)), plain(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkChanges(t, test.events)
		})
	}
}

func plain(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestFoldKeepsWhatResumeNeeds(t *testing.T) {
	state, err := journal.Fold(eventsOf(t, `
		flow.started - {"inputs":{"a":1}}
		step.input one {"input":{"x":1}}
		step.finished one {"output":{"text":"hi"}}
		step.waiting two[1] {"remaining_schema":{"required":["/city"]}}
		step.answered two[1] {"answers":{"/city":"x","/days":1}}
		step.answered two[1] {"answers":{"/city":"y"}}`))
	if err != nil {
		t.Fatal(err)
	}
	one, two := state.Step("one"), state.Step("two[1]")
	for _, got := range []struct{ got, want string }{
		{state.Inputs.JSON(), `{"a":1}`},
		{one.Input.JSON(), `{"x":1}`},
		{one.Output.JSON(), `{"text":"hi"}`},
		{two.Remaining.JSON(), `{"required":["/city"]}`},
		{two.Answers.JSON(), `{"/city":"y","/days":1}`},
	} {
		if got.got != got.want {
			t.Errorf("got %s, want %s", got.got, got.want)
		}
	}
	if state.LastSeq != 6 || state.Step("three") != nil || len(state.Step("two").Items) != 1 {
		t.Errorf("the run is %+v", state)
	}
	broken := errors.New("the disk is gone")
	if _, err := journal.Fold(func(yield func(*journal.Event, error) bool) { yield(nil, broken) }); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestCompleteRunState(t *testing.T) {
	state, err := journal.Fold(eventsOf(t, `
		step.started c {"call":"flow"}
		step.started c/x/y {"call":"chat"}
		step.started c/x {"call":"flow"}
		step.started b {"call":"agent"}
		step.started b[1] {"call":"agent"}
		step.started b[1]/round-1 {"call":"round"}
		step.started b[0] {"call":"agent"}
		step.started b[0]/round-1 {"call":"round"}
		step.started b[1]/tool-1 {"call":"tool"}
		step.started b[1]/tool-1/chat-1 {"call":"chat"}
		step.started b[1]/round-2 {"call":"round"}
		step.skipped a`))
	if err != nil {
		t.Fatal(err)
	}
	flow := &flow.Flow{Steps: []*flow.Step{{ID: "a", Call: "input"}, {ID: "b", Call: "chat"}, {ID: "c", Call: "flow"}, {ID: "d", Call: "template"}}}
	state.Complete(scheduler.DeclaredSteps(flow))
	var got []string
	for _, st := range state.Steps {
		got = append(got, st.ID+" "+st.Call+" "+string(st.State))
	}
	want := []string{
		"a input skipped", "b agent running", "b[1]/round-1 round running", "b[1]/tool-1 tool running",
		"b[1]/tool-1/chat-1 chat running", "b[1]/round-2 round running", "b[0]/round-1 round running",
		"c flow running", "c/x flow running", "c/x/y chat running", "d template pending",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The reasons of a step that waits are in the language of the run, and a fold has them as the run
// gave them.
func TestReasonsInLanguage(t *testing.T) {
	found, err := value.ParseJSON([]byte(`{"slot_data": {"days": 90}, "sources": {"/days": "user"}, "rejected": [{"pointer": "/city", "value": 7, "reason": "/city：应为字符串，实为整数"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	remaining, err := value.ParseJSON([]byte(`{"type": "object", "properties": {"/city": {"type": "string"}, "/days": {"type": "integer", "maximum": 7}, "/unit": {"type": "string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for language, want := range map[string][]string{
		"zh": {"/city：没有采用 7：应为字符串，实为整数", "/days：先前的回答 90 不符合要求："},
		"en": {"/city: 7 was not taken: want string, got integer", "/days: the earlier answer 90 does not fit: "},
	} {
		w := journal.NewWaitingFor(language, "ask", found, remaining, false)
		if len(w.Reasons) != 2 || w.Reasons[0] != want[0] || !strings.HasPrefix(w.Reasons[1], want[1]) {
			t.Errorf("%s: got %q", language, w.Reasons)
		}
		if len(w.Why) != 3 || w.Why[2] != (journal.MissingValue{Pointer: "/unit", En: "it was not given", Zh: "没有给出"}) ||
			!strings.HasPrefix(w.Why[1].En, "the earlier answer 90 does not fit: ") || !strings.HasPrefix(w.Why[1].Zh, "先前的回答 90 不符合要求：") ||
			w.Why[0].Zh != "没有采用 7：应为字符串，实为整数" || w.Why[0].En != "7 was not taken: want string, got integer" {
			t.Errorf("%s: why is %q", language, w.Why)
		}
		told, err := json.Marshal(map[string]any{"waiting": []journal.WaitingFor{w}})
		if err != nil {
			t.Fatal(err)
		}
		events := "flow.started - {}\nstep.started ask {}\nstep.waiting ask {\"output\": " + found.JSON() + ", \"remaining_schema\": " + remaining.JSON() + "}\nflow.waiting - " + string(told)
		state, err := journal.Fold(eventsOf(t, events))
		if err != nil || len(state.Waiting) != 1 || !slices.Equal(state.Waiting[0].Reasons, w.Reasons) || !slices.Equal(state.Waiting[0].Why, w.Why) {
			t.Errorf("%s: the fold has %+v, %v", language, state, err)
		}
	}
}

// WarningEvents has an event for each of the warnings that the state counts.
func TestWarningEvents(t *testing.T) {
	events := slices.Collect(func(yield func(*journal.Event) bool) {
		for ev := range eventsOf(t, `
			flow.started -
			step.started one {"call":"a"}
			step.warning one {"code":"c","text":"void: the step is tried again"}
			step.retrying one {"attempt":1}
			step.warning one {"code":"c","text":"thin"}
			step.finished one {"output":{}}
			step.started two {"call":"b"}
			step.finished two[0] {"output":{}}
			step.finished two[1] {"error":{"kind":"provider","message":"down","position":"f.yaml:3:5"},"output":{}}
			step.finished two {"output":[]}
			step.failed three {"error":{"kind":"provider","message":"gone"}}
			flow.failed - {"error":{"kind":"provider","message":"gone"}}`) {
			if !yield(ev) {
				return
			}
		}
	})
	state := journal.NewRunState()
	for _, ev := range events {
		state.Add(ev)
	}
	var got []journal.WarningInfo
	for _, w := range journal.WarningEvents(events) {
		if w.Type != journal.StepWarning {
			t.Errorf("a warning is a %s", w.Type)
		}
		got = append(got, journal.WarningInfo{Step: journal.StepPath(w.Step, w.Index), Code: w.Data.Code, Text: w.Data.Text, Source: w.Data.Source})
	}
	want := []journal.WarningInfo{{Step: "one", Code: "c", Text: "thin"}, {Step: "two[1]", Code: journal.CodeFailed, Text: "down", Source: "f.yaml:3:5"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(state.Warnings, got); diff != "" {
		t.Errorf("the state counts others: %s", diff)
	}
}
