package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// datum is in every text of lin, with a word for its place, and in no request of bo. Ids have no such letters with a 9.
var datum = regexp.MustCompile(`zq9[a-z]+`)

// secretive are flows that keep data of the user who runs them: in memory, in their questions, in files of the
// run.
var secretive = map[string]string{
	"keep.yaml": `name: keep
inputs: {type: object, properties: {question: {type: string}, user: {type: string}}}
memory: {user: "{{ run.user }}"}
steps:
  - {id: save, call: memory-save, with: {content: "{{ inputs.question }}", role: user}}
  - {id: recall, call: memory-retrieve, with: {current_query: "{{ inputs.question }}", include: [content]}}
  - {id: prompt, call: context, with: {memories: "{{ recall.relevant_memories }}", current_message: "{{ inputs.question }}"}}
  - {id: answer, call: chat, with: {messages: "{{ prompt.messages }}"}, to_user: true}
`,
	"ask.yaml": `name: ask
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: place
    call: slot
    with: {current_schema: {type: object, required: [city], properties: {city: {type: string, title: "{{ inputs.question }}"}}}, stages: []}
  - {id: say, call: chat, with: {user: "{{ inputs.question }} {{ place.slot_data.city }}"}, to_user: true}
`,
}

// twoUsers is a server on which lin has something of every sort, and bo looks for it.
type twoUsers struct {
	*world
	waits, asks, over, memory, hook string
	before                          string // lin's things
}

func newTwoUsers(t *testing.T) *twoUsers {
	w := newWorld(t)
	for name, text := range secretive {
		writeFile(t, filepath.Join(w.dir, "flows", name), text)
	}
	u := &twoUsers{world: w}
	w.renew()
	headers := []string{"X-Session-Id", "table9", "Idempotency-Key", "key9"}
	kept := w.do(w.lin, "POST", "/api/v1/runs?wait=20s", `{"flow": "keep", "session": "table9", "labels": {"ticket": "zq9label"}, "inputs": {"question": "zq9input"}}`, headers...)
	if kept.at("/state") != "finished" {
		t.Fatal(kept.status, kept.text)
	}
	u.over = kept.at("/run")
	u.waits = w.do(w.lin, "POST", "/api/v1/runs?wait=20s", `{"flow": "ask", "session": "table9", "inputs": {"question": "zq9waits"}}`).at("/run")
	chat := w.chat(w.lin, "ask", messages("zq9chat"), "", headers...)
	u.asks = chat.at("/scheduler/run")
	u.memory = w.do(w.lin, "POST", "/api/v1/memory", `{"content": "zq9memory likes tea", "session": "table9", "context": {"place": "zq9context"}}`).at("/id")
	u.hook = w.do("", "POST", "/hooks/timed/push", "zq9hook", hookHeaders(t, "zq9hook")...).at("/run")
	if u.over == "" || u.waits == "" || u.asks == "" || u.memory == "" || u.hook == "" {
		t.Fatalf("lin lacks something: %q %q %q %q %q", u.over, u.waits, u.asks, u.memory, u.hook)
	}
	w.eventually("the run of the webhook to end", func() bool {
		return w.do(w.lin, "GET", "/api/v1/runs/"+u.hook, "").at("/state") == "finished"
	})
	u.before = u.linSees()
	for _, word := range []string{"zq9input", "zq9label", "zq9waits", "zq9chat", "zq9memory", "zq9context", "zq9hook"} {
		if !strings.Contains(u.before, word) {
			t.Fatalf("lin does not see %s of its own: %s", word, u.before)
		}
	}
	return u
}

// linSees returns all that lin has, to be compared.
func (u *twoUsers) linSees() string {
	var all strings.Builder
	lin := u.token("lin", store.Admin)
	for _, path := range []string{"/api/v1/runs?limit=200", "/api/v1/memory?limit=200", "/api/v1/waiting", "/api/v1/memory/snapshots"} {
		all.WriteString(u.do(lin, "GET", path, "").text)
	}
	for _, run := range []string{u.over, u.waits, u.asks, u.hook} {
		all.WriteString(u.do(lin, "GET", "/api/v1/runs/"+run+"/events?limit=200", "").text)
	}
	return all.String()
}

// sees fails if an answer to bo has data of lin.
func (u *twoUsers) sees(what string, r *reply) {
	u.t.Helper()
	if found := datum.FindString(r.text + fmt.Sprint(r.header)); found != "" {
		u.t.Errorf("%s: bo sees %s: %d %s", what, found, r.status, value.Truncate(r.text, 600))
	}
}

// boToken returns a fresh token of bo: the requests of one are limited.
func (u *twoUsers) boToken() string { return u.token("bo", store.Admin) }

// TestTwoUsers: no answer to a user has a datum of another one, by whichever endpoint, call, tool or stream it is asked for, and nothing
// that belongs to the other one changes.
func TestTwoUsers(t *testing.T) {
	u := newTwoUsers(t)
	t.Run("endpoints", u.tryEndpoints)
	t.Run("filters", u.tryFilters)
	t.Run("calls", u.tryCalls)
	t.Run("chat", u.tryChat)
	t.Run("mcp", u.tryMCP)
	t.Run("streams", u.tryStreams)
	u.world.t = t
	if after := u.linSees(); after != u.before {
		t.Errorf("what lin has is another:\n%s\nbefore:\n%s", after, u.before)
	}
}

// TestUsersOfOneToken: a token without a user serves many people, distinguished by the member user. No flow that
// the project ships gives one of them another's text, with or without the right to begin runs for users.
func TestUsersOfOneToken(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	tokens := map[string]string{"plain": f.token("", store.RunsRead, store.RunsWrite), "runs:as": f.token("", store.RunsRead, store.RunsWrite, store.RunsAs)}
	const talk = `
steps:
  - {id: recall, call: memory-retrieve, with: {current_query: "{{ question }}", include: [content]}}
  - {id: say, call: template, with: {template: "found {{ recall.relevant_memories | map(attribute='content') | join(', ') }}"}, to_user: true}
  - {id: save, call: memory-save, with: {content: "{{ question }}", role: user}}
`
	const inputs = `inputs: {type: object, properties: {question: {type: string}, user: {type: string}, session: {type: string, default: monday}}}`
	memoryLine := regexp.MustCompile(`(?m)^memory: .*$`)
	for _, dir := range []string{"../../flows", "../../cmd/scheduler/starter/chat/flows"} {
		files, err := filepath.Glob(dir + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			memory := memoryLine.FindString(string(text))
			if memory == "" {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			writeFile(t, filepath.Join(f.dir, "flows", "of_"+name+".yaml"), "name: of_"+name+"\n"+inputs+"\n"+memory+talk)
			for scope, token := range tokens {
				told := f.chat(token, "of_"+name, messages("My door code is 7719."), `, "user": "`+scope+`1"`)
				asked := f.chat(token, "of_"+name, messages("What is my door code?"), `, "user": "`+scope+`2"`)
				if told.status != http.StatusOK || asked.status != http.StatusOK || strings.Contains(asked.text, "7719") {
					t.Errorf("%s, %s: %s %s", file, scope, told.text, asked.text)
				}
			}
		}
	}
}

// tryEndpoints uses each endpoint of the document with all that lin has, as bo.
func (u *twoUsers) tryEndpoints(t *testing.T) {
	u.world.t = t
	known := requests()
	for _, op := range operations(t, u.do(u.bo, "GET", "/api/v1/openapi.json", "").doc) {
		if op.id == "follow-runs" {
			continue // see tryStreams
		}
		for _, run := range []string{u.over, u.waits, u.asks, u.hook} {
			names := strings.NewReplacer("RUN", run, "WAITS", run, "FAILED", run, "MEMORY", u.memory, "TOKEN", u.bo)
			r := known[op.id]
			headers := append(slices.Clone(r.header), "X-Session-Id", "table9", "Idempotency-Key", "key9")
			if r.media != "" {
				headers = append(headers, "Content-Type", r.media)
			}
			u.sees(op.id, u.do(u.boToken(), op.method, names.Replace(r.path), names.Replace(r.body), headers...))
			if !strings.Contains(op.path, "{id}") {
				break
			}
		}
	}
}

// tryFilters asks lists for lin's data.
func (u *twoUsers) tryFilters(t *testing.T) {
	u.world.t = t
	for _, path := range []string{"/api/v1/runs", "/api/v1/waiting", "/api/v1/memory", "/api/v1/memory/stats", "/api/v1/memory/export", "/api/v1/memory/snapshots", "/api/v1/flows", "/api/v1/schedules", "/api/v1/tests", "/api/v1/audit", "/api/v1/tokens", "/metrics", "/v1/models"} {
		for _, query := range []string{"user=lin", "user=", "user=*", "user=bo&user=lin", "session=table9", "q=z", "flow=keep", "origin=trigger", "q=zq9input", "view=live", "owner=lin", "label=owner=lin", "labels=owner:lin", "view=progress", "cursor=" + u.over, "before=2100-01-01"} {

			u.sees(path+"?"+query, u.do(u.boToken(), "GET", path+"?"+query, ""))
		}
	}
	for _, run := range []string{u.over, u.waits, u.asks, u.hook} {
		for _, path := range []string{"", "/events", "/events?from=1&limit=200", "/events?view=brief", "/steps/answer", "/steps/place", "/prompts", "/prompts?step=say", "/graph", "/files", "/files?path=keep.yaml"} {
			r := u.do(u.boToken(), "GET", "/api/v1/runs/"+run+path, "")
			u.sees(path, r)
			if r.status != http.StatusNotFound {
				t.Errorf("%s of a run of lin: %d %s", path, r.status, r.text)
			}
			for _, accept := range []string{eventStream, "*/*"} {
				u.sees(path, u.do(u.boToken(), "GET", "/api/v1/runs/"+run+path, "", "Accept", accept, "If-None-Match", `"1"`, "Last-Event-ID", "1"))
			}
		}
		for path, body := range map[string]string{
			"/answers": `{"values": {"city": "Bergen"}}`, "/answers?check=true": `{"values": {"city": "Bergen"}}`, "/resume": `{"flow": {"text": "steps: [{id: a, call: template, with: {template: x}}]"}}`, "/fork": `{}`, "/cancel": "",
		} {
			r := u.do(u.boToken(), "POST", "/api/v1/runs/"+run+path, body)
			u.sees(path, r)
			if r.status != http.StatusNotFound {
				t.Errorf("%s of a run of lin: %d %s", path, r.status, r.text)
			}
		}
	}
	u.sees("import for lin", u.do(u.boToken(), "POST", "/api/v1/memory/import?user=lin", `{"content": "x", "context": {"user_id": "lin"}}`, "Content-Type", "application/x-ndjson"))
	u.sees("import of lin", u.do(u.boToken(), "POST", "/api/v1/memory/import", `{"id": "`+u.memory+`", "content": "x", "context": {"user_id": "lin"}}`, "Content-Type", "application/x-ndjson"))
	u.sees("search", u.do(u.boToken(), "POST", "/api/v1/memory/search", `{"query": "likes tea", "session": "table9", "min_relevance": 0, "limit": 200}`))
	u.sees("as lin", u.do(u.boToken(), "POST", "/api/v1/runs?wait=20s", `{"flow": "keep", "user": "lin", "session": "table9", "inputs": {"question": "tea"}}`))
	u.sees("input user", u.do(u.boToken(), "POST", "/api/v1/runs?wait=20s", `{"flow": "keep", "session": "table9", "inputs": {"question": "likes tea", "user": "lin"}}`))
	u.sees("the same key", u.do(u.boToken(), "POST", "/api/v1/runs?wait=20s", `{"flow": "keep", "session": "table9", "labels": {"ticket": "l"}, "inputs": {"question": "i"}}`, "Idempotency-Key", "key9"))
}

// tryCalls makes each call with the session, the user and the ids of lin.
func (u *twoUsers) tryCalls(t *testing.T) {
	u.world.t = t
	list, _ := u.do(u.bo, "GET", "/api/v1/calls?limit=200", "").doc.Get("items")
	if len(list.List()) < 10 {
		t.Fatalf("the calls are %s", list.JSON())
	}
	for _, item := range list.List() {
		name, _ := item.Get("name")
		call, _ := name.Str()
		example, _ := u.do(u.boToken(), "GET", "/api/v1/calls/"+call, "").doc.Get("request")
		with, _ := example.Get("with")
		if with.Map() == nil {
			with = value.OfMap(nil)
		}
		for _, more := range []map[string]any{
			{}, {"current_query": "likes tea"}, {"current_query": "likes tea", "all_users": true}, {"id": u.memory, "content": "x"}, {"context": map[string]any{"user_id": "lin", "session_id": "table9"}, "content": "x"},
			{"user": "lin"}, {"session": "table9"}, {"memories": true}, {"flow": "keep"}, {"flow": "keep.yaml", "inputs": map[string]any{"question": "likes tea", "user": "lin"}}, {"limit": 200, "min_relevance": 0},
		} {
			params := with.Map().Clone()
			if params == nil {
				params = value.NewMap(1)
			}
			for key, v := range more {
				params.Set(key, value.Must(v))
			}
			for _, vars := range []string{`{}`, `{"user": "lin"}`, `{"session": "table9"}`, `{"sessions": "all"}`, `{"session": "table9", "inputs": {"user": "lin"}, "run": {"user": "lin"}}`} {
				body := `{"with": ` + value.OfMap(params).JSON() + `, "vars": ` + vars + `}`
				u.sees("call "+call+" "+body, u.do(u.boToken(), "POST", "/api/v1/calls/"+call, body))
			}
		}
	}
}

// tryChat writes into the conversations of lin.
func (u *twoUsers) tryChat(t *testing.T) {
	u.world.t = t
	for _, model := range []string{"ask", "keep", "echo"} {
		for _, headers := range [][]string{{"X-Session-Id", "table9"}, {"X-OpenWebUI-Chat-Id", "table9"}, {"X-OpenWebUI-User-Name", "lin"}, nil} {
			for _, more := range []string{"", `, "stream": true`, `, "user": "lin"`, `, "metadata": {"session": "table9", "user": "lin"}`} {
				for _, said := range []string{messages("Bergen"), messages("hi", "Which city?", "Bergen"), messages("cancel")} {
					u.sees("chat "+model+more, u.chat(u.boToken(), model, said, more, headers...))
				}
			}
		}
	}
}

// tryMCP uses all tools and resources of the protocol.
func (u *twoUsers) tryMCP(t *testing.T) {
	for _, era := range eras() {
		u.world.t = t
		s := u.connect(u.boToken(), era, nil, nil)
		check := func(what string, v any, err error) {
			text := fmt.Sprint(err)
			if err == nil {
				text = value.Must(v).JSON()
			}
			u.sees("mcp "+what, &reply{text: text})
		}
		resources, err := s.ListResources(t.Context(), nil)
		check("resources", resources, err)
		tools, err := s.ListTools(t.Context(), nil)
		check("tools", tools, err)
		prompts, err := s.ListPrompts(t.Context(), nil)
		check("prompts", prompts, err)
		for _, run := range []string{u.over, u.waits, u.asks, u.hook} {
			for _, uri := range []string{"run://" + run, "run://" + run + "/prompts/answer", "run://" + run + "/prompts/say", "run://" + run + "/prompts/place"} {
				read, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				check(uri, read, err)
				if err == nil {
					t.Errorf("bo reads %s", uri)
				}
			}
			answer := map[string]any{"run": run, "answers": []any{map[string]any{"step": "place", "pointer": "/city", "value": "Bergen"}}}
			called, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "answer_run", Arguments: answer})
			check("answer_run", called, err)
			called, err = s.CallTool(t.Context(), &sdk.CallToolParams{Name: "answer_run", Arguments: map[string]any{"run": run, "message": "cancel"}})
			check("answer_run", called, err)
		}
		for _, name := range []string{"flow_keep", "flow_ask", "flow_echo"} {
			called, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: map[string]any{"question": "likes tea", "user": "lin"}})
			check(name, called, err)
		}
	}
}

// tryStreams listens while lin works.
func (u *twoUsers) tryStreams(t *testing.T) {
	u.world.t = t
	var all []<-chan string
	for _, path := range []string{"/api/v1/events", "/api/v1/events?user=lin"} {
		for _, last := range []string{"", "1", "0-0"} {
			lines, stop := u.follow(u.boToken(), path, "Last-Event-ID", last)
			defer stop()
			all = append(all, lines)
		}
	}
	linRun := u.do(u.lin, "POST", "/api/v1/runs?wait=20s", `{"flow": "echo", "labels": {"ticket": "zq9later"}, "inputs": {"question": "zq9stream"}}`).at("/run")
	own := u.start(u.boToken(), "echo", `{"question": "own"}`)
	for _, lines := range all {
		deadline := time.After(20 * time.Second)
		for isOver := false; !isOver; {
			select {
			case line, open := <-lines:
				u.sees("stream", &reply{text: line})
				if strings.Contains(line, linRun) {
					t.Errorf("bo sees the run of lin: %s", line)
				}
				isOver = !open || strings.Contains(line, own) && strings.Contains(line, "finished")
			case <-deadline:
				t.Fatal("bo does not see its own run")
			}
		}
	}
	if r := u.do(u.lin, "DELETE", "/api/v1/runs/"+linRun, ""); r.status != http.StatusNoContent {
		t.Fatal(r.status, r.text)
	}
}

// hookHeaders signs a request of the webhook push.
func hookHeaders(t *testing.T, body string) []string {
	t.Helper()
	secret, _ := secretOf("HOOK_KEY")
	h := http.Header{}
	if err := trigger.SetStandard(h, secret, "msg_two_users", time.Now(), []byte(body)); err != nil {
		t.Fatal(err)
	}
	return []string{"webhook-id", h.Get("Webhook-Id"), "webhook-timestamp", h.Get("Webhook-Timestamp"), "webhook-signature", h.Get("Webhook-Signature"), "X-Event", "push"}
}
