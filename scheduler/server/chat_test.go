package server_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// messages returns the messages of a conversation, the user's first.
func messages(texts ...string) string {
	var list []value.Value
	for i, text := range texts {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		list = append(list, value.OfMap(value.Pairs("role", role, "content", text)))
	}
	return value.OfList(list...).JSON()
}

// chat asks a flow.
func (f *fixture) chat(token, model, messages, more string, headers ...string) *reply {
	f.t.Helper()
	return f.do(token, "POST", "/v1/chat/completions", fmt.Sprintf(`{"model": %q, "messages": %s%s}`, model, messages, more), headers...)
}

const said = "/choices/0/message/content"

// TestChat asks a flow as clients of the API do.
func TestChat(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	models := f.do(token, "GET", "/v1/models", "")
	if models.at("/object") != "list" || !strings.Contains(models.text, `"id":"echo"`) || strings.Contains(models.text, "broken") {
		t.Errorf("the models are %s", models.text)
	}
	r := f.chat(token, "echo", messages("hello there"), "")
	if r.status != http.StatusOK || r.at(said) != "hello there" || r.at("/choices/0/finish_reason") != "stop" || r.at("/object") != "chat.completion" || r.at("/scheduler/state") != "finished" {
		t.Errorf("got %d %s", r.status, r.text)
	}
	run := f.do(token, "GET", "/api/v1/runs/"+r.at("/scheduler/run"), "")
	if run.at("/origin") != "openai" || run.at("/owner") != "lin" {
		t.Errorf("the run is %s", run.text)
	}
	stream := f.chat(token, "echo", messages("hello there"), `, "stream": true, "stream_options": {"include_usage": true}`)
	text, _ := streamed(t, stream)
	if text != "hello there" || !strings.Contains(stream.text, `"choices":[],"usage":{"prompt_tokens"`) {
		t.Errorf("the stream has %q: %s", text, stream.text)
	}
	parts := f.chat(token, "echo", `[{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "in parts"}]}]`, "")
	if parts.at(said) != "in parts" {
		t.Errorf("content in parts: %s", parts.text)
	}
	called := f.chat(token, "echo", `[{"role": "assistant", "content": null, "tool_calls": []}, {"role": "user", "content": "after a tool"}]`, "")
	if called.at(said) != "after a tool" {
		t.Errorf("an assistant without a content: %s", called.text)
	}
}

// TestChatErrors: errors have the form that clients of the API read.
func TestChatErrors(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	for name, c := range map[string]struct {
		model, messages, more string
		status                int
		param                 string
	}{
		"an unknown model": {"nope", messages("x"), "", http.StatusNotFound, "model"},
		"a broken flow":    {"broken", messages("x"), "", http.StatusBadRequest, "model"},
		"no messages":      {"echo", "[]", "", http.StatusBadRequest, "messages"},
		"no question":      {"echo", `[{"role": "system", "content": "x"}]`, "", http.StatusBadRequest, "messages"},
		"tools":            {"echo", messages("x"), `, "tools": [{"type": "function"}]`, http.StatusBadRequest, "tools"},
		"two answers":      {"echo", messages("x"), `, "n": 2`, http.StatusBadRequest, "n"},
		"JSON":             {"echo", messages("x"), `, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}`, http.StatusBadRequest, "response_format"},
		"a required tool":  {"echo", messages("x"), `, "tool_choice": "required"`, http.StatusBadRequest, "tool_choice"},
		"audio":            {"echo", messages("x"), `, "modalities": ["text", "audio"]`, http.StatusBadRequest, "modalities"},
		"many logprobs":    {"echo", messages("x"), `, "top_logprobs": 2`, http.StatusBadRequest, "top_logprobs"},
		"a web search":     {"echo", messages("x"), `, "web_search_options": {}`, http.StatusBadRequest, "web_search_options"},
		"n is a text":      {"echo", messages("x"), `, "n": "1"`, http.StatusBadRequest, "n"},
		"usage is a text":  {"echo", messages("x"), `, "stream_options": {"include_usage": "yes"}`, http.StatusBadRequest, "stream_options.include_usage"},
		"an image":         {"echo", `[{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "data:,"}}]}]`, "", http.StatusBadRequest, "messages[0].content[1]"},
		"a number":         {"echo", `[{"role": "user", "content": 5}]`, "", http.StatusBadRequest, "messages[0].content"},
		"an object":        {"echo", `[{"role": "user", "content": "x"}, {"role": "user", "content": {}}]`, "", http.StatusBadRequest, "messages[1].content"},
		"an empty list":    {"echo", `[{"role": "user", "content": []}]`, "", http.StatusBadRequest, "messages[0].content"},
		"no content":       {"echo", `[{"role": "user"}]`, "", http.StatusBadRequest, "messages[0].content"},
		"a bare text":      {"echo", `["x"]`, "", http.StatusBadRequest, "messages[0]"},
		"no role":          {"echo", `[{"content": "x"}]`, "", http.StatusBadRequest, "messages[0].role"},
		"no type":          {"echo", `[{"role": "user", "content": [{"text": "x"}]}]`, "", http.StatusBadRequest, "messages[0].content[0].type"},
		"a part of text":   {"echo", `[{"role": "user", "content": ["x"]}]`, "", http.StatusBadRequest, "messages[0].content[0]"},
		"a text of 5":      {"echo", `[{"role": "user", "content": [{"type": "text", "text": 5}]}]`, "", http.StatusBadRequest, "messages[0].content[0].text"},
		"two errors":       {"echo", messages("x"), `, "stream": "yes", "stream_options": {"include_usage": "yes"}`, http.StatusBadRequest, "stream"},
		"a task of three":  {"echo", messages("### Task: x"), `, "n": 3`, http.StatusBadRequest, "n"},
		"logprobs":         {"echo", messages("x"), `, "logprobs": true`, http.StatusBadRequest, "logprobs"},
		"foreign memory":   {"mine", messages("x"), "", http.StatusBadRequest, "null"},
	} {
		token := f.token("lin", store.RunsWrite) // each may make so many requests a second
		for _, stream := range []string{"", `, "stream": true`} {
			if strings.Contains(c.more, `"stream":`) { // a member cannot be there twice
				stream = ""
			}
			r := f.chat(token, c.model, c.messages, c.more+stream)
			zh := f.chat(token, c.model, c.messages, c.more+stream, "Accept-Language", "zh-CN").at("/error/message")
			if name != "foreign memory" && !regexp.MustCompile(`\p{Han}`).MatchString(zh) { // a failure is in the language of its run
				t.Errorf("%s: in Chinese it is %s", name, zh)
			}
			if r.status != c.status || r.at("/error/param") != c.param || r.at("/error/type") != "invalid_request_error" || r.at("/error/message") == "" {
				t.Errorf("%s: got %d %s", name, r.status, r.text)
			}
		}
	}
	if r := f.chat("", "echo", messages("x"), ""); r.status != http.StatusUnauthorized || r.at("/error/type") != "authentication_error" {
		t.Errorf("without a token: %d %s", r.status, r.text)
	}
	if r := f.chat(f.token("lin", store.RunsRead), "echo", messages("x"), ""); r.status != http.StatusForbidden || r.at("/error/message") == "" {
		t.Errorf("without the scope: %d %s", r.status, r.text)
	}
}

// TestChatFields: options of a request beside the question are followed, or reported as ignored.
func TestChatFields(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	const flow = `name: warm
inputs: {type: object, properties: {question: {type: string}, history: {type: array}, temperature: {type: number}, response_format: {type: object}}}
steps: [{id: say, call: template, to_user: true, with: {template: "{{ t }} {{ f }}", values: {t: "{{ inputs.temperature }}", f: "{{ inputs.response_format.type }}"}}}]
`
	if err := os.WriteFile(filepath.Join(dir, "flows", "warm.yaml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	token := f.token("lin", store.RunsWrite)
	const neutral = `, "n": 1, "store": true, "metadata": {"a": "b"}, "tools": [], "tool_choice": "auto", "logprobs": false, "top_logprobs": null, "stop": [], "logit_bias": {}, "user": "u",
		"parallel_tool_calls": true, "modalities": ["text"], "service_tier": "auto", "stream_options": {"include_usage": true}`
	for _, test := range []struct{ model, messages, more, said, ignored string }{
		{"echo", messages("x"), neutral + `, "response_format": {"type": "text"}`, "x", "null"},
		{"echo", messages("x"), `, "temperature": 0.5, "max_completion_tokens": 5, "max_tokens": 5, "reasoning_effort": "low", "stop": ["x"], "unheard_of": {}`, "x",
			`["max_completion_tokens","max_tokens","reasoning_effort","stop","temperature","unheard_of"]`},
		{"echo", messages("a", "b", "c"), "", "c", `["messages"]`},
		{"warm", messages("a", "b", "c"), neutral + `, "temperature": 0.5, "response_format": {"type": "json_object"}`, "0.5 json_object", "null"},
		{"warm", messages("a"), neutral + `, "temperature": 0.5, "response_format": {"type": "json_object"}, "seed": 7`, "0.5 json_object", `["seed"]`},
	} {
		r := f.chat(token, test.model, test.messages, test.more)
		if r.at(said) != test.said || r.at("/scheduler/ignored") != test.ignored {
			t.Errorf("%s %s: got %d %s", test.model, test.more, r.status, r.text)
		}
		stream := f.chat(token, test.model, test.messages, test.more+`, "stream": true`)
		if isTold := strings.Contains(stream.text, `"ignored":`+test.ignored); isTold != (test.ignored != "null") {
			t.Errorf("%s %s: the stream is %s", test.model, test.more, stream.text)
		}
	}
	if r := f.chat(token, "echo", messages("### Task: a title"), `, "max_tokens": 5`); r.at("/scheduler/ignored") != `["max_tokens"]` {
		t.Errorf("the task gets %s", r.text)
	}
}

// TestChatWaits: a run that waits asks in the conversation, and continues with the answers; a wrong one is
// reported.
func TestChatWaits(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsWrite)
	for _, session := range []string{"", "s1"} {
		headers := []string{"X-Session-Id", session}
		first := f.chat(token, "sub~wait", messages("Snow"), "", headers...)
		if first.at(said) != "What is the town?" || first.at("/choices/0/finish_reason") != "stop" || first.at("/scheduler/state") != "waiting" {
			t.Fatalf("got %s", first.text)
		}
		second := f.chat(token, "sub~wait", messages("Snow", first.at(said), "Hangzhou"), "", headers...)
		if second.at(said) != "How many days?" || second.at("/scheduler/run") != first.at("/scheduler/run") {
			t.Fatalf("got %s", second.text)
		}
		wrong := f.chat(token, "sub~wait", messages("Snow", first.at(said), "Hangzhou", second.at(said), "many"), "", headers...)
		if wrong.at(said) != "I could not find a number of days in that. What is it?" || wrong.at("/scheduler/state") != "waiting" {
			t.Fatalf("got %s", wrong.text)
		}
		third := f.chat(token, "sub~wait", messages("Snow", first.at(said), "Hangzhou", second.at(said), "many", wrong.at(said), "2"), "", headers...)
		if third.at(said) != "Snow in Hangzhou for 2" || third.at("/scheduler/run") != first.at("/scheduler/run") {
			t.Errorf("got %s", third.text)
		}
	}
}

// TestChatsThatBeginAlike: of two chats with the same first words, each answers its own run, whether its assistant asked or not.
func TestChatsThatBeginAlike(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	const flow = `name: mood
inputs: {type: object, properties: {question: {type: string}, temperature: {type: number}}}
steps:
  - {id: fine, call: template, to_user: true, when: "{{ inputs.temperature < 1 }}", with: {template: "Fine."}}
  - id: ask
    call: slot
    needs: []
    when: "{{ inputs.temperature >= 1 }}"
    with: {stages: [], current_schema: {type: object, required: [town], properties: {town: {type: string, title: town}}}}
`
	if err := os.WriteFile(filepath.Join(dir, "flows", "mood.yaml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	token := f.token("", store.RunsWrite)
	const cold, hot = `, "temperature": 0.5`, `, "temperature": 1.5`
	asked, told := f.chat(token, "mood", messages("Hi"), hot), f.chat(token, "mood", messages("Hi"), cold)
	if asked.at("/scheduler/state") != "waiting" || told.at(said) != "Fine." {
		t.Fatalf("got %s and %s", asked.text, told.text)
	}
	if next := f.chat(token, "mood", messages("Hi", told.at(said), "And now?"), cold); next.at(said) != "Fine." || next.at("/scheduler/run") == asked.at("/scheduler/run") {
		t.Errorf("the chat that was not asked gets %s", next.text)
	}
	if end := f.chat(token, "mood", messages("Hi", asked.at(said), "Lyon"), hot); end.at("/scheduler/run") != asked.at("/scheduler/run") || end.at("/scheduler/state") != "finished" {
		t.Errorf("the chat that was asked gets %s", end.text)
	}

	first, second := f.chat(token, "sub~wait", messages("Snow"), `, "user": "c1"`), f.chat(token, "sub~wait", messages("Snow"), `, "user": "c2"`)
	for user, begun := range map[string]*reply{"c1": first, "c2": second} {
		next := f.chat(token, "sub~wait", messages("Snow", begun.at(said), "Hangzhou"), `, "user": "`+user+`"`)
		if next.at("/scheduler/run") != begun.at("/scheduler/run") || next.at(said) != "How many days?" {
			t.Errorf("%s gets %s", user, next.text)
		}
	}
}

// TestChatChangesItsForm: the run that waits is found by a client that sends the same chat in another form: its instructions hold a
// clock, its texts come as parts.
func TestChatChangesItsForm(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("", store.RunsWrite)
	system := func(text string) string { return `{"role": "system", "content": ` + strconv.Quote(text) + `}` }
	asks := func(text string) string { return `{"role": "user", "content": ` + strconv.Quote(text) + `}` }
	parts := func(role, text string) string {
		return `{"content": [{"type": "text", "text": ` + strconv.Quote(text) + `, "cache_control": {}}], "role": "` + role + `", "name": null}`
	}
	const town = "What is the town?"
	told := `{"role": "assistant", "refusal": null, "content": "` + town + `"}`
	for name, c := range map[string]struct {
		headers []string
		first   []string
		next    []string
	}{
		"a clock":            {first: []string{system("It is 12:00."), asks("Snow")}, next: []string{system("It is 12:01."), asks("Snow"), told, asks("Hangzhou")}},
		"a developer":        {first: []string{asks("Rain")}, next: []string{`{"role": "developer", "content": "Be brief."}`, asks("Rain"), told, asks("Hangzhou")}},
		"instructions after": {first: []string{asks("Sun"), system("12:00")}, next: []string{asks("Sun"), told, system("12:00"), asks("Hangzhou"), system("12:01")}},
		"texts as parts":     {first: []string{asks("Ice")}, next: []string{parts("user", "Ice"), parts("assistant", town), parts("user", "Hangzhou")}},
		"parts as texts":     {first: []string{parts("user", "Hail ")}, next: []string{asks("Hail"), told, asks("Hangzhou")}},
		"a session":          {headers: []string{"X-Session-Id", "s"}, first: []string{system("12:00"), asks("Fog")}, next: []string{system("12:01"), asks("Fog"), told, asks("Hangzhou")}},
	} {
		t.Run(name, func(t *testing.T) {
			list := func(messages []string) string { return "[" + strings.Join(messages, ", ") + "]" }
			first := f.chat(token, "sub~wait", list(c.first), "", c.headers...)
			next := f.chat(token, "sub~wait", list(c.next), "", c.headers...)
			if first.at(said) != town || next.at(said) != "How many days?" || next.at("/scheduler/run") != first.at("/scheduler/run") {
				t.Errorf("got %s\nthen %s", first.text, next.text)
			}
			again := f.chat(token, "sub~wait", list(c.next), "", c.headers...)
			if again.at(said) != "How many days?" || again.at("/scheduler/run") != first.at("/scheduler/run") {
				t.Errorf("the same once more gets %s", again.text)
			}
		})
	}
}

// TestChatsOfTwoClients: of two clients that differ in their instructions alone, each answers its own run.
func TestChatsOfTwoClients(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("", store.RunsWrite)
	chat := func(client string, texts ...string) *reply {
		system := `[{"role": "system", "content": "You write for ` + client + `."}, `
		return f.chat(token, "sub~wait", system+strings.TrimPrefix(messages(texts...), "["), "")
	}
	ann, bob := chat("Ann", "Snow"), chat("Bob", "Snow")
	for client, begun := range map[string]*reply{"Ann": ann, "Bob": bob} {
		next := chat(client, "Snow", begun.at(said), "Hangzhou")
		if next.at("/scheduler/run") != begun.at("/scheduler/run") || next.at(said) != "How many days?" {
			t.Errorf("%s gets %s", client, next.text)
		}
	}
}

// TestChatsAlike: of two chats with the same words each answers its own run, which asks for the place that the chat ends with; and
// an answer that the user changes, after the run has moved on to another question, does not answer that question.
func TestChatsAlike(t *testing.T) {
	for _, test := range []struct {
		name    string
		headers [2][]string
	}{
		{name: "without a session"},
		{name: "with sessions", headers: [2][]string{{"X-Session-Id", "a"}, {"X-Session-Id", "b"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, t.TempDir(), nil, nil)
			token := f.token("", store.RunsWrite)
			chat := func(client int, texts ...string) *reply {
				return f.chat(token, "sub~wait", messages(texts...), "", test.headers[client]...)
			}
			const town, days = "What is the town?", "How many days?"
			runs := []string{chat(0, "Snow").at("/scheduler/run"), chat(1, "Snow").at("/scheduler/run")}
			second := chat(1, "Snow", town, "Paris")
			first := chat(0, "Snow", town, "Rome")
			if first.at(said) != days || second.at(said) != days {
				t.Fatalf("the answers get\n%s\n%s", first.text, second.text)
			}
			answered := []string{first.at("/scheduler/run"), second.at("/scheduler/run")}
			slices.Sort(runs)
			slices.Sort(answered)
			if !slices.Equal(runs, answered) {
				t.Errorf("the runs %v were answered, want %v", answered, runs)
			}
			edited := chat(0, "Snow", town, "Oslo")
			if edited.at(said) != town || slices.Contains(runs, edited.at("/scheduler/run")) {
				t.Errorf("a changed answer gets %s, want the question of a new run", edited.text)
			}
			next := chat(0, "Snow", town, "Rome", days, "3")
			if next.at("/scheduler/run") != first.at("/scheduler/run") && test.headers[0] == nil {
				t.Errorf("the chat goes on with %s", next.text)
			}
		})
	}
}

// TestChatKeepsNoRows: a run of a flow that cannot wait leaves nothing by which an answer to it would be found.
func TestChatKeepsNoRows(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("", store.RunsWrite)
	rows := func() (n int) {
		db, err := sql.Open("sqlite", filepath.Join(f.dir, "serve.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM serve_conversation").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 3 {
		if r := f.chat(token, "echo", messages("hi"), ""); r.at("/scheduler/state") != "finished" {
			t.Fatal(r.text)
		}
	}
	if n := rows(); n != 0 {
		t.Errorf("there are %d rows", n)
	}
	if r := f.chat(token, "sub~wait", messages("hi"), ""); r.at("/scheduler/state") != "waiting" || rows() == 0 {
		t.Errorf("%d rows after %s", rows(), r.text)
	}
}

// TestChatAsksInOrder: an answer is for the step that was asked for, even if a later step of the file began to
// wait first.
func TestChatAsksInOrder(t *testing.T) {
	slow := &gate{open: make(chan struct{})}
	f := serveFlow(t, `inputs: {type: object, properties: {question: {type: string}}}
llm: slow
steps:
  - {id: before, call: chat, with: {user: hello}}
  - {id: a, needs: [before], call: slot, with: {stages: [], current_schema: {type: object, required: [alpha], properties: {alpha: {type: string}}}}}
  - {id: b, needs: [], call: slot, with: {stages: [], current_schema: {type: object, required: [beta], properties: {beta: {type: string}}}}}
outputs: {reply: "{{ a.slot_data.alpha }} {{ b.slot_data.beta }}"}
`, slow)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	begun := make(chan *reply, 1)
	go func() { begun <- f.chat(token, "ends", messages("hi"), "") }()
	f.eventually("the second slot to wait", func() bool {
		runs := f.runsOf(token, "running")
		return len(runs) > 0 && strings.Contains(f.do(token, "GET", "/api/v1/runs/"+runs[0]+"/events", "").text, `"step.waiting"`)
	})
	close(slow.open)
	first := <-begun
	second := f.chat(token, "ends", messages("hi", first.at(said), "A"), "")
	third := f.chat(token, "ends", messages("hi", first.at(said), "A", second.at(said), "B"), "")
	if !strings.Contains(first.at(said), "alpha") || !strings.Contains(second.at(said), "beta") || third.at(said) != "A B" {
		t.Errorf("asked: %s, then: %s, then: %s", first.at(said), second.at(said), third.text)
	}
}

// TestChatRepeats: a client that sends the request again with which a run of its session began has not answered the question.
func TestChatRepeats(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsWrite)
	headers := []string{"X-OpenWebUI-Chat-Id", "c"}
	first := f.chat(token, "sub~wait", messages("Snow"), "", headers...)
	for range 2 {
		again := f.chat(token, "sub~wait", messages("Snow"), "", headers...)
		if again.at(said) != first.at(said) || again.at("/scheduler/run") != first.at("/scheduler/run") || again.at("/scheduler/state") != "waiting" {
			t.Fatalf("got %s after %s", again.text, first.text)
		}
	}
	for _, further := range [][]string{headers, nil} { // without a session, answers are known by the conversation
		if further == nil {
			first = f.chat(token, "sub~wait", messages("Snow"), "")
		}
		for range 2 { // "Hangzhou" is not taken for a number of days
			second := f.chat(token, "sub~wait", messages("Snow", first.at(said), "Hangzhou"), "", further...)
			if second.at(said) != "How many days?" || second.at("/scheduler/run") != first.at("/scheduler/run") {
				t.Errorf("after the first answer: %s", second.text)
			}
		}
		for range 2 { // "2" does not become the question of another run
			third := f.chat(token, "sub~wait", messages("Snow", first.at(said), "Hangzhou", "How many days?", "2"), "", further...)
			if third.at(said) != "Snow in Hangzhou for 2" || third.at("/scheduler/run") != first.at("/scheduler/run") {
				t.Errorf("after the second answer: %s", third.text)
			}
		}
	}
	again := f.chat(token, "sub~wait", messages("Snow"), "")
	second := f.chat(token, "sub~wait", messages("Snow", again.at(said), "Hangzhou"), "")
	if second.at("/scheduler/run") != again.at("/scheduler/run") || again.at("/scheduler/run") == first.at("/scheduler/run") {
		t.Errorf("the same conversation later: %s, then %s", again.text, second.text)
	}
	if other := f.chat(token, "sub~wait", messages("Snow"), "", headers...); other.at("/scheduler/run") == first.at("/scheduler/run") || other.at("/scheduler/state") != "waiting" {
		t.Errorf("after the end: %s", other.text)
	}
}

// TestChatRepeatsAfterFailure: an answer that is sent again after its run has failed continues the run.
func TestChatRepeatsAfterFailure(t *testing.T) {
	f := serveFlow(t, `inputs: {type: object, properties: {question: {type: string}}}
llm: slow
steps:
  - {id: a, call: slot, with: {stages: [], current_schema: {type: object, required: [alpha], properties: {alpha: {type: string}}}}}
  - {id: say, call: chat, with: {user: "{{ a.slot_data.alpha }}"}, to_user: true}
`, scripted.New(scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 400}}, scripted.Answer{Text: "done"}))
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	first := f.chat(token, "ends", messages("hi"), "")
	answer := messages("hi", first.at(said), "A")
	if failed := f.chat(token, "ends", answer, ""); !strings.Contains(failed.text, "did not answer as it should") || failed.status < 400 {
		t.Errorf("the failure is %d %s", failed.status, failed.text)
	}
	if again := f.chat(token, "ends", answer, ""); again.at(said) != "done" || again.at("/scheduler/run") != first.at("/scheduler/run") {
		t.Errorf("the repeat is %s", again.text)
	}
	if runs := f.runsOf(token, ""); len(runs) != 1 {
		t.Errorf("there are %d runs", len(runs))
	}
}

// TestChatRepeatsAfterFailedReading: a message that the model could not read, because its provider refused, is read when it is sent
// again. It does not become the question of another run, even if the client keeps the failed message in its
// conversation.
func TestChatRepeatsAfterFailedReading(t *testing.T) {
	refused := scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 401}}
	for name, again := range map[string][]string{
		"the same request":      {"It is A-1042"},
		"the message once more": {"It is A-1042", "It is A-1042"},
	} {
		f := serveFlow(t, `inputs: {type: object, properties: {question: {type: string}}}
llm: slow
steps:
  - {id: first, call: chat, with: {user: "{{ question }}"}}
  - {id: a, call: slot, with: {stages: [llm], current_schema: {type: object, required: [order], properties: {order: {type: string, pattern: "^[A-Z]-[0-9]{4}$"}}}}}
  - {id: say, call: template, with: {template: "order {{ a.slot_data.order }}"}, to_user: true}
`, scripted.New(scripted.Answer{Text: "hello"}, scripted.Answer{Text: "{}"}, refused, scripted.Answer{Text: `{"/order": "A-1042"}`}))
		token := f.token("lin", store.RunsRead, store.RunsWrite)
		first := f.chat(token, "ends", messages("hi"), "")
		if failed := f.chat(token, "ends", messages("hi", first.at(said), "It is A-1042"), ""); !strings.Contains(failed.text, "did not answer as it should") {
			t.Errorf("%s: the failure is %d %s", name, failed.status, failed.text)
		}
		list, err := value.ParseJSON([]byte(messages("hi", first.at(said))))
		if err != nil {
			t.Fatal(err)
		}
		all := list.List()
		for _, text := range again {
			all = append(all, value.OfMap(value.Pairs("role", "user", "content", text)))
		}
		r := f.chat(token, "ends", value.OfList(all...).JSON(), "")
		if r.at(said) != "order A-1042" || r.at("/scheduler/run") != first.at("/scheduler/run") {
			t.Errorf("%s: the repeat is %s", name, r.text)
		}
		if runs := f.runsOf(token, ""); len(runs) != 1 {
			t.Errorf("%s: there are %d runs", name, len(runs))
		}
	}
}

// TestChatGoesOnAfterReplyToFailure: the next message answers the run that failed while it read the message before, also if the flow
// has a reply of its own for failures, which the client keeps in the conversation. No step is done again.
func TestChatGoesOnAfterReplyToFailure(t *testing.T) {
	refused := scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 401}}
	f := serveFlow(t, `inputs: {type: object, properties: {question: {type: string}}}
llm: slow
on_error: Sorry, later please.
steps:
  - {id: first, call: chat, with: {user: "{{ question }}"}}
  - {id: a, call: slot, with: {stages: [llm], current_schema: {type: object, required: [order], properties: {order: {type: string, pattern: "^[A-Z]-[0-9]{4}$"}}}}}
  - {id: say, call: template, with: {template: "order {{ a.slot_data.order }}"}, to_user: true}
`, scripted.New(scripted.Answer{Text: "hello"}, scripted.Answer{Text: "{}"}, refused, scripted.Answer{Text: `{"/order": "A-1042"}`}))
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	first := f.chat(token, "ends", messages("hi"), "")
	failed := f.chat(token, "ends", messages("hi", first.at(said), "It is A-1042"), "")
	if failed.at(said) != "Sorry, later please." {
		t.Fatalf("the failure is %d %s", failed.status, failed.text)
	}
	next := f.chat(token, "ends", messages("hi", first.at(said), "It is A-1042", failed.at(said), "A-1042, I said"), "")
	if next.at(said) != "order A-1042" || next.at("/scheduler/run") != first.at("/scheduler/run") {
		t.Errorf("the next message gets %s", next.text)
	}
	if runs := f.runsOf(token, ""); len(runs) != 1 {
		t.Errorf("there are %d runs", len(runs))
	}
}

// TestChatTriesAgain: the same request, or a message that asks for it, continues the run that has failed, and no
// step is paid for again. Any other message, a message of another user, or one after the flow was changed begins a
// new run.
func TestChatTriesAgain(t *testing.T) {
	const flow = `inputs: {type: object, properties: {question: {type: string}}}
llm: slow
steps:
  - {id: costly, call: chat, with: {user: "{{ question }}"}}
  - {id: say, call: chat, with: {user: "{{ costly.text }}"}, to_user: true}
`
	then := func(more ...string) func(failed string) string {
		return func(failed string) string {
			list := []string{`{"role": "user", "content": "hi"}`}
			for _, one := range more {
				role, text, _ := strings.Cut(one, ": ")
				list = append(list, fmt.Sprintf(`{"role": %q, "content": %q}`, role, strings.ReplaceAll(text, "FAILED", failed)))
			}
			return "[" + strings.Join(list, ",") + "]"
		}
	}
	const session = `, "metadata": {"session": "s"}`
	for _, c := range []struct {
		name    string
		first   string // more of the first request
		says    func(failed string) string
		more    string
		onError string
		edit    bool
		isNew   bool
	}{
		{name: "the same request", says: then()},
		{name: "the same request as a stream", says: then(), more: `, "stream": true`},
		{name: "again", says: then("user: again")},
		{name: "after the words of the failure", says: then("assistant: FAILED", "user: Try again!")},
		{name: "in Chinese", says: then("assistant: FAILED", "user: 重试。")},
		{name: "a reply of the flow", onError: "on_error: Sorry.\n", says: then("assistant: FAILED", "user: retry")},
		{name: "a session without the talk", first: session, more: session, says: func(string) string { return messages("重试") }},
		{name: "another message", says: then("assistant: FAILED", "user: something else"), isNew: true},
		{name: "another first message", says: func(string) string { return messages("hello") }, isNew: true},
		{name: "another user", first: `, "user": "lin"`, more: `, "user": "bo"`, says: then("user: again"), isNew: true},
		{name: "another session", first: session, more: `, "metadata": {"session": "t"}`, says: then("user: again"), isNew: true},
		{name: "another field", more: `, "temperature": 1`, says: then(), isNew: true},
		{name: "a flow that was changed", says: then("user: again"), edit: true, isNew: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := scripted.New(scripted.Answer{Text: "paid"}, scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 401}}, scripted.Answer{Text: "done"}, scripted.Answer{Text: "done anew"})
			f := serveFlow(t, c.onError+flow, model)
			token := f.token("", store.RunsRead, store.RunsWrite)
			failed := f.chat(token, "ends", messages("hi"), c.first)
			if len(f.runsOf(token, "failed")) != 1 {
				t.Fatalf("the failure is %s", failed.text)
			}
			if c.edit {
				writeFile(t, filepath.Join(f.dir, "flows", "ends.yaml"), flow+"# changed\n")
			}
			words := failed.at("/error/message")
			if c.onError != "" {
				words = failed.at(said)
			}
			r := f.chat(token, "ends", c.says(words), c.more)
			runs, requests := len(f.runsOf(token, "")), len(model.Requests())
			isNew := runs == 2 && requests == 4
			if isNew != c.isNew || !c.isNew && (runs != 1 || requests != 3) || !strings.Contains(r.text, "done") {
				t.Errorf("%d runs, %d requests: %s", runs, requests, r.text)
			}
		})
	}
}

// TestSessionsOfUsers: a session belongs to the user that the client names, and to the token: the same name of another user is
// another session.
func TestSessionsOfUsers(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	ours, theirs := f.token("", store.RunsWrite), f.token("", store.RunsWrite)
	of := func(user string) string { return fmt.Sprintf(`, "user": %q, "metadata": {"session": "s"}`, user) }
	lin := f.chat(ours, "sub~wait", messages("Snow"), of("lin"))
	run := lin.at("/scheduler/run")
	for _, c := range []struct{ name, token, more, says string }{
		{"the same first message of another user", ours, of("bo"), "Snow"},
		{"another message of another user", ours, of("ann"), "Lyon"},
		{"nobody", ours, `, "metadata": {"session": "s"}`, "Lyon"},
		{"another token", theirs, of("lin"), "Lyon"},
	} {
		if r := f.chat(c.token, "sub~wait", messages(c.says), c.more); r.at("/scheduler/run") == run || r.at(said) != "What is the town?" {
			t.Errorf("%s gets into the session: %s", c.name, r.text)
		}
	}
	if r := f.chat(ours, "sub~wait", messages("Snow", lin.at(said), "Lyon"), of("bo")); r.at("/scheduler/run") == run {
		t.Errorf("another user with the talk gets into the session: %s", r.text)
	}
	if r := f.chat(ours, "sub~wait", messages("Oslo"), of("lin")); r.at("/scheduler/run") != run || r.at(said) != "How many days?" {
		t.Errorf("the user does not get into the session: %s", r.text)
	}
}

// TestChatRepeatsAtOnce: of requests with the same answer that come at once, none begins another run: each gets the answer of the
// run, or learns that another one has it.
func TestChatRepeatsAtOnce(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	for round := range 5 {
		token := f.token("lin", store.RunsRead, store.RunsWrite) // each may make so many requests a second
		question := fmt.Sprint("Snow ", round)
		first := f.chat(token, "sub~wait", messages(question), "")
		second := f.chat(token, "sub~wait", messages(question, first.at(said), "Hangzhou"), "")
		answer := messages(question, first.at(said), "Hangzhou", second.at(said), "2")
		replies := make(chan *reply)
		for range 6 {
			go func() { replies <- f.chat(token, "sub~wait", answer, "") }()
		}
		for range 6 {
			r := <-replies
			isSame := r.at(said) == question+" in Hangzhou for 2" && r.at("/scheduler/run") == first.at("/scheduler/run")
			if !isSame && r.status != http.StatusConflict {
				t.Errorf("round %d: got %d %s", round, r.status, r.text)
			}
		}
		if runs := f.runsOf(token, ""); len(runs) != round+1 {
			t.Errorf("after %d rounds there are %d runs", round+1, len(runs))
		}
	}
}

// TestChatWaitsForOne: an answer reaches the caller's own run only.
func TestChatWaitsForOne(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	lin, bo := f.token("lin", store.RunsWrite), f.token("bo", store.RunsWrite)
	first := f.chat(lin, "sub~wait", messages("Snow"), "")
	for _, headers := range [][]string{nil, {"X-Session-Id", "s"}} {
		other := f.chat(bo, "sub~wait", messages("Snow", first.at(said), "Hangzhou"), "", headers...)
		if other.at("/scheduler/run") == first.at("/scheduler/run") {
			t.Errorf("another user answers: %s", other.text)
		}
	}
}

// TestChatTask: a chat page's requests beside the chat run no flow.
func TestChatTask(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	r := f.chat(token, "echo", messages("### Task:\nGenerate a concise title"), "")
	if !strings.Contains(r.at(said), "concise title") || r.at("/scheduler") != "null" {
		t.Errorf("got %s", r.text)
	}
	if runs := f.do(token, "GET", "/api/v1/runs", ""); strings.Contains(runs.text, `"run"`) {
		t.Errorf("it ran a flow: %s", runs.text)
	}
}

// TestSeed sends the request of the document that the call in-chat comes from to the path of the document, and
// gets its answer. Fields that the document leaves out ("...") may have any value.
func TestSeed(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	request, err := os.ReadFile("testdata/seed_request.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/seed_answer.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := value.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/modules/smarttavern/in_chat_constructor/construct"
	token := f.token("", store.CallsRun)
	r := f.do(token, "POST", path, string(request))
	if r.status != http.StatusOK || r.doc.Map().Len() != 1 {
		t.Fatalf("got %d %s", r.status, r.text)
	}
	if curl := f.do(token, "POST", path, string(request), "Content-Type", "application/x-www-form-urlencoded"); curl.text != r.text {
		t.Errorf("curl -d gets %d %s", curl.status, curl.text)
	}
	for _, lacking := range []string{`{"presets_in_chat":[],"world_books":[]}`, `{"history":[],"world_books":[]}`, `{"history":[],"presets_in_chat":[]}`} {
		if r := f.do(token, "POST", path, lacking); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.text, "required property") {
			t.Errorf("%s: got %d %s", lacking, r.status, r.text)
		}
	}
	got, _ := r.doc.Get("messages")
	if len(got.List()) != len(want.List()) {
		t.Fatalf("got %s", r.text)
	}
	for i, w := range want.List() {
		g := got.List()[i]
		for _, pointer := range []string{"/role", "/content"} {
			x, _ := g.At(pointer)
			y, _ := w.At(pointer)
			if !value.Equal(x, y) {
				t.Errorf("message %d has %s %s, want %s", i, pointer, x, y)
			}
		}
		source, _ := w.Get("source")
		for key, y := range source.Map().All() {
			if x, _ := g.At("/source/" + key); key != "..." && !value.Equal(x, y) {
				t.Errorf("message %d has the source %s %s, want %s", i, key, x, y)
			}
		}
	}
}
