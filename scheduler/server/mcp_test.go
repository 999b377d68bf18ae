package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// eras are the versions of the protocol that clients speak here: the last one with sessions,
// and the first one without.
func eras() []string { return []string{"2025-11-25", "2026-07-28"} }

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// person answers the questions to a client, in turn, and notes them.
type person struct {
	mu       sync.Mutex
	asked    []*sdk.ElicitParams
	answers  []*sdk.ElicitResult
	progress []string
}

func (p *person) elicit(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Params)
	if len(p.answers) == 0 {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	next := p.answers[0]
	p.answers = p.answers[1:]
	return next, nil
}

// connect connects a client of an era. A nil person cannot be asked.
func (f *fixture) connect(token, era string, p *person, modes *sdk.ElicitationCapabilities) *sdk.ClientSession {
	f.t.Helper()
	options := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}
	if p != nil {
		options.ElicitationHandler = p.elicit
		options.Capabilities.Elicitation = modes
		options.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.progress = append(p.progress, fmt.Sprintf("%v/%v %s", r.Params.Progress, r.Params.Total, r.Params.Message))
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	transport := &sdk.StreamableClientTransport{Endpoint: f.base + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1}
	session, err := client.Connect(f.t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		f.t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != era {
		f.t.Fatalf("the client speaks %s", got)
	}
	f.t.Cleanup(func() { _ = session.Close() })
	return session
}

// callTool calls a tool and returns its result and its text.
func callTool(t *testing.T, s *sdk.ClientSession, name string, arguments any) (*sdk.CallToolResult, value.Value) {
	t.Helper()
	params := &sdk.CallToolParams{Name: name, Arguments: arguments}
	params.SetProgressToken("p1")
	result, err := s.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := result.Content[0].(*sdk.TextContent)
	doc, err := value.ParseJSON([]byte(text.Text))
	if err != nil {
		doc = value.OfString(text.Text)
	}
	return result, doc
}

func textAt(doc value.Value, pointer string) string {
	v, _ := doc.At(pointer)
	if text, isText := v.Str(); isText {
		return text
	}
	return v.JSON()
}

// inEachEra runs a test for clients of both eras.
func inEachEra(t *testing.T, change func(*server.Options), test func(t *testing.T, f *fixture, era string)) {
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			test(t, newFixture(t, t.TempDir(), nil, change), era)
		})
	}
}

// TestMCPTools: flows are tools, and a call of one is a run.
func TestMCPTools(t *testing.T) {
	change := func(o *server.Options) { o.MCP.Calls = []string{"template", "nothing"} }
	inEachEra(t, change, func(t *testing.T, f *fixture, era string) {
		lin := f.token("lin", store.RunsRead, store.RunsWrite, store.CallsRun)
		p := &person{}
		s := f.connect(lin, era, p, nil)
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]*sdk.Tool{}
		for _, one := range tools.Tools {
			byName[one.Name] = one
		}
		want := []string{"answer_run", "call_template", "flow_echo", "flow_edited", "flow_mine", "flow_model", "flow_space", "flow_sub__wait", "flow_timed"}
		if got := slices.Sorted(maps.Keys(byName)); !slices.Equal(got, want) {
			t.Errorf("the tools are %v", got)
		}
		echo := value.Must(byName["flow_echo"])
		for pointer, text := range map[string]string{
			"/description": "Say it again.", "/inputSchema/required/0": "question",
			"/outputSchema/properties/outputs/properties/reply/type": "string", "/outputSchema/required/0": "run",
		} {
			if got := textAt(echo, pointer); got != text {
				t.Errorf("%s of the tool is %s", pointer, got)
			}
		}
		result, doc := callTool(t, s, "flow_echo", map[string]any{"question": "hello there"})
		if result.IsError || textAt(doc, "/state") != "finished" || textAt(doc, "/outputs/reply") != "hello there" {
			t.Errorf("the result is %s", doc.JSON())
		}
		if got := value.Must(result.StructuredContent); !value.Equal(got, doc) {
			t.Errorf("the structured content is %s", got.JSON())
		}
		run := f.do(lin, "GET", "/api/v1/runs/"+textAt(doc, "/run"), "")
		if run.at("/origin") != "mcp" || run.at("/owner") != "lin" {
			t.Errorf("the run is %s", run.text)
		}
		eventually(t, "progress", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.Contains(p.progress, "1/1 step.finished answer")
		})
		result, doc = callTool(t, s, "flow_echo", map[string]any{"question": ""})
		if !result.IsError || textAt(doc, "/error/kind") != "invalid" || !strings.Contains(textAt(doc, "/error/message"), "question") {
			t.Errorf("wrong arguments: %s", doc.JSON())
		}
		result, doc = callTool(t, s, "flow_mine", nil)
		if !result.IsError || textAt(doc, "/error/kind") != "invalid" {
			t.Errorf("a flow in the memory of another user: %s", doc.JSON())
		}
		result, doc = callTool(t, s, "call_template", map[string]any{"template": "a text"})
		if result.IsError || textAt(doc, "/text") != "a text" {
			t.Errorf("a call: %s", doc.JSON())
		}
		result, doc = callTool(t, s, "call_template", map[string]any{"tmplate": "x"})
		if !result.IsError || textAt(doc, "/error/kind") != "invalid" {
			t.Errorf("a wrong call: %s", doc.JSON())
		}
		for _, name := range []string{"flow_broken", "flow_none", "call_chat"} {
			if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("%s: %v", name, err)
			}
		}
		other := f.connect(f.token("bo", store.RunsWrite), era, nil, nil)
		if _, err := other.CallTool(t.Context(), &sdk.CallToolParams{Name: "call_template"}); err == nil {
			t.Error("a call without its scope was made")
		}
	})
}

// TestMCPWaiting: the user is asked a run's questions, again if an answer does not fit.
func TestMCPWaiting(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, f *fixture, era string) {
		p := &person{answers: []*sdk.ElicitResult{{Action: "accept", Content: map[string]any{"city": "Hangzhou", "days": 3}}}}
		s := f.connect(f.token("lin", store.RunsWrite), era, p, nil)
		result, doc := callTool(t, s, "flow_sub__wait", nil)
		if result.IsError || textAt(doc, "/state") != "finished" || len(p.asked) != 1 {
			t.Fatalf("asked %d times: %s", len(p.asked), doc.JSON())
		}
		if reply := f.do(f.token("lin", store.RunsRead), "GET", "/api/v1/runs/"+textAt(doc, "/run")+"/steps/place", ""); reply.at("/output/slot_data") != `{"city":"Hangzhou","days":3}` {
			t.Errorf("the answers are %s", reply.text)
		}
		form := value.Must(p.asked[0].RequestedSchema)
		if textAt(form, "/properties/city/description") != "The town" || textAt(form, "/properties/days/type") != "integer" || textAt(form, "/required") != `["city","days"]` {
			t.Errorf("the form is %s", form.JSON())
		}
		if !strings.Contains(p.asked[0].Message, "What is the town?\nHow many days?") {
			t.Errorf("the question is %q", p.asked[0].Message)
		}
	})
}

// TestMCPDeclined: a user who does not answer leaves a waiting run, which the tool answer_run continues.
func TestMCPDeclined(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, f *fixture, era string) {
		token := f.token("lin", store.RunsWrite)
		for name, p := range map[string]*person{"declines": {answers: []*sdk.ElicitResult{{Action: "decline"}}}, "cannot be asked": nil} {
			s := f.connect(token, era, p, nil)
			result, doc := callTool(t, s, "flow_sub__wait", nil)
			if result.IsError || textAt(doc, "/state") != "waiting" || textAt(doc, "/waiting/0/step") != "place" {
				t.Fatalf("%s: %s", name, doc.JSON())
			}
			run := textAt(doc, "/run")
			answers := func(days any) map[string]any {
				return map[string]any{"run": run, "answers": []any{map[string]any{"pointer": "/city", "value": "Hangzhou"}, map[string]any{"step": "place", "pointer": "/days", "value": days}}}
			}
			result, doc = callTool(t, s, "answer_run", answers("soon"))
			if !result.IsError || textAt(doc, "/error/kind") != "invalid" {
				t.Errorf("%s: a wrong answer: %s", name, doc.JSON())
			}
			result, doc = callTool(t, s, "answer_run", answers(2))
			if result.IsError || textAt(doc, "/state") != "finished" || textAt(doc, "/run") != run {
				t.Errorf("%s: %s", name, doc.JSON())
			}
			result, doc = callTool(t, s, "answer_run", answers(2))
			if !result.IsError || !strings.Contains(textAt(doc, "/error/message"), "finished") {
				t.Errorf("%s: an answer too late: %s", name, doc.JSON())
			}
		}
	})
}

// TestMCPMessage: the user's text is passed on unchanged; a text that does not answer repeats the question, and a
// cancel word cancels.
func TestMCPMessage(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, f *fixture, era string) {
		s := f.connect(f.token("lin", store.RunsWrite), era, nil, nil)
		say := func(run, message string) value.Value {
			_, doc := callTool(t, s, "answer_run", map[string]any{"run": run, "message": message})
			return doc
		}
		_, doc := callTool(t, s, "flow_sub__wait", nil)
		run := textAt(doc, "/run")
		if got := textAt(doc, "/question"); got != "What is the town?" {
			t.Errorf("the first question is %q", got)
		}
		if got := textAt(say(run, "Hangzhou"), "/question"); got != "How many days?" {
			t.Errorf("the second question is %q", got)
		}
		doc = say(run, "a few")
		if got := textAt(doc, "/question"); got != "I could not find a number of days in that. What is it?" || textAt(doc, "/state") != "waiting" {
			t.Errorf("after no answer: %s", doc.JSON())
		}
		if doc = say(run, "2"); textAt(doc, "/state") != "finished" {
			t.Errorf("after the answers: %s", doc.JSON())
		}
		_, doc = callTool(t, s, "flow_sub__wait", nil)
		if doc = say(textAt(doc, "/run"), "取消"); textAt(doc, "/state") != "cancelled" || textAt(doc, "/text") == "" {
			t.Errorf("after a cancel: %s", doc.JSON())
		}
	})
}

const deepFlow = `name: deep
steps:
  - id: place
    call: slot
    with: {current_schema: {type: object, required: [towns], properties: {towns: {type: array, minItems: 1, items: {type: object, required: [name], properties: {name: {type: string}}}}}}, stages: []}
outputs: {towns: "{{ place.slot_data.towns }}"}
`

// TestMCPPage: questions that no form can ask are asked on a page, and the call continues when they have been
// answered there.
func TestMCPPage(t *testing.T) {
	var document bytes.Buffer
	w := gzip.NewWriter(&document)
	_, _ = w.Write([]byte("<!doctype html>"))
	_ = w.Close() // a buffer takes all
	change := func(o *server.Options) { o.Page = fstest.MapFS{"index.html.gz": {Data: document.Bytes()}} }
	inEachEra(t, change, func(t *testing.T, f *fixture, era string) {
		if err := os.WriteFile(filepath.Join(f.dir, "flows", "deep.yaml"), []byte(deepFlow), 0o600); err != nil {
			t.Fatal(err)
		}
		token := f.token("lin", store.RunsWrite, store.RunsRead)
		both := &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
		_, doc := callTool(t, f.connect(token, era, &person{}, nil), "flow_deep", nil)
		if textAt(doc, "/state") != "waiting" {
			t.Errorf("a client with forms alone: %s", doc.JSON())
		}
		p := &person{answers: []*sdk.ElicitResult{{Action: "accept"}}}
		s := f.connect(token, era, p, both)
		done := make(chan value.Value, 1)
		go func() {
			result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "flow_deep"})
			if err != nil {
				t.Error(err)
				done <- value.Value{}
				return
			}
			done <- value.Must(result.StructuredContent)
		}()
		asked := func() int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.asked)
		}
		eventually(t, "a question", func() bool { return asked() == 1 })
		link := p.asked[0].URL
		run := link[strings.LastIndexByte(link, '/')+1:]
		if p.asked[0].Mode != "url" || link != f.base+"/runs/"+run {
			t.Fatalf("asked %+v", p.asked[0])
		}
		if r := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"values": {"towns": [{"name": "Hangzhou"}]}}`); r.status != http.StatusAccepted {
			t.Fatal(r.status, r.text)
		}
		if doc := <-done; textAt(doc, "/outputs/towns/0/name") != "Hangzhou" || textAt(doc, "/run") != run {
			t.Errorf("the result is %s", doc.JSON())
		}
	})
}

// answeredMeanwhile is a journal in which a run is answered once, just before it is read to be shown while it waits.
type answeredMeanwhile struct {
	journal.Journal
	answer func(run string)
	done   atomic.Bool
}

func (j *answeredMeanwhile) Events(ctx context.Context, run string, from int64) iter.Seq2[*journal.Event, error] {
	if info, err := j.Run(ctx, run); err == nil && info.State == journal.RunWaiting && info.Holder == nil && from == 1 && j.done.CompareAndSwap(false, true) {
		j.answer(run)
	}
	return j.Journal.Events(ctx, run, from)
}

// TestMCPAnsweredMeanwhile: a call continues to its end if another client answers the run just before this one is
// asked.
func TestMCPAnsweredMeanwhile(t *testing.T) {
	dir, g := t.TempDir(), &gate{open: make(chan struct{})}
	parts := newParts(dir, g)
	open, j := parts.Journal, &answeredMeanwhile{}
	parts.Journal = func(ctx context.Context, create bool) (_ journal.Journal, err error) {
		j.Journal, err = open(ctx, create)
		return j, err
	}
	s := service.New(parts)
	t.Cleanup(func() { _ = s.Close() })
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Service = s })
	const text = `name: held
llm: slow
steps:
  - {id: place, call: slot, with: {current_schema: {type: object, required: [city], properties: {city: {type: string}}}, stages: []}}
  - {id: say, call: chat, with: {user: "{{ place.slot_data.city }}"}}
`
	if err := os.WriteFile(filepath.Join(dir, "flows", "held.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	token := f.token("lin", store.RunsWrite, store.RunsRead)
	j.answer = func(run string) {
		if r := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"values": {"city": "Hangzhou"}}`); r.status != http.StatusAccepted {
			t.Error(r.status, r.text)
		}
		time.AfterFunc(100*time.Millisecond, func() { close(g.open) })
	}
	result, doc := callTool(t, f.connect(token, eras()[1], nil, nil), "flow_held", nil)
	if result.IsError || textAt(doc, "/state") != "finished" {
		t.Errorf("the result is %s", doc.JSON())
	}
}

// TestMCPState: the state that a client carries to its next request is only valid for its run and its user.
func TestMCPState(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	lin, bo := f.token("lin", store.RunsWrite), f.token("bo", store.RunsWrite)
	call := func(token, more string) *reply {
		const meta = `"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}`
		return f.do(token, "POST", "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flow_sub__wait", "arguments": {}, `+meta+more+`}}`,
			"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "flow_sub__wait")
	}
	result := func(r *reply) value.Value {
		for line := range strings.Lines(r.text) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				doc, err := value.ParseJSON([]byte(data))
				if err != nil {
					t.Fatal(err)
				}
				result, _ := doc.Get("result")
				return result
			}
		}
		t.Fatalf("got %d %s", r.status, r.text)
		return value.Value{}
	}
	first := result(call(lin, ""))
	state := textAt(first, "/requestState")
	if textAt(first, "/resultType") != "input_required" || textAt(first, "/inputRequests/place/method") != "elicitation/create" || state == "null" {
		t.Fatalf("the result is %s", first.JSON())
	}
	answers := func(state, days string) string {
		quoted, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`, "requestState": %s, "inputResponses": {"place": {"action": "accept", "content": {"city": "Hangzhou", "days": %s}}}`, quoted, days)
	}
	forged := state[:len(state)-2] + "xx"
	for name, r := range map[string]*reply{"another user": call(bo, answers(state, "1")), "forged": call(lin, answers(forged, "1")), "empty": call(lin, answers("x", "1"))} {
		if got := result(r); textAt(got, "/isError") != "true" || strings.Contains(got.JSON(), "Hangzhou") {
			t.Errorf("%s: %s", name, got.JSON())
		}
	}
	again := result(call(lin, answers(state, `"soon"`)))
	if textAt(again, "/resultType") != "input_required" || !strings.Contains(textAt(again, "/inputRequests/place/params/message"), "days") {
		t.Errorf("a wrong answer: %s", again.JSON())
	}
	if last := result(call(lin, answers(state, "2"))); textAt(last, "/structuredContent/state") != "finished" {
		t.Errorf("the answer: %s", last.JSON())
	}
	if late := result(call(lin, answers(state, "2"))); textAt(late, "/structuredContent/state") != "finished" {
		t.Errorf("the answer once more: %s", late.JSON())
	}
}

// TestMCPResources: runs, prompts and flows can be read by users with the right, and never another user's.
func TestMCPResources(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, f *fixture, era string) {
		lin := f.token("lin", store.RunsWrite, store.RunsRead, store.FlowsRead)
		bo := f.connect(f.token("bo", store.RunsWrite, store.RunsRead), era, nil, nil)
		s := f.connect(lin, era, nil, nil)
		run := f.start(lin, "echo", `{"question": "lin's secret"}`)
		read := func(s *sdk.ClientSession, uri string) string {
			r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				return err.Error()
			}
			return r.Contents[0].Text
		}
		for uri, want := range map[string]string{
			"run://" + run: `"state":"finished"`, "run://" + run + "/prompts/answer": "lin's secret", "flow://echo": "name: echo", "flow://sub~wait": "name: wait",
			"run://none": "not found", "run://" + run + "/prompts/none": "not found", "flow://none": "not found", "flow://..%2Fserve": "not found",
		} {
			if got := read(s, uri); !strings.Contains(got, want) || strings.Contains(got, f.dir) {
				t.Errorf("%s is %s", uri, got)
			}
		}
		if got := read(s, "run://"+run+"/prompts/answer"); !strings.Contains(got, `"file":"echo.yaml"`) {
			t.Errorf("the sources of the prompt do not name their flow: %s", got)
		}
		for _, uri := range []string{"run://" + run, "run://" + run + "/prompts/answer", "flow://echo"} {
			if got := read(bo, uri); !strings.Contains(got, "not found") {
				t.Errorf("bo reads %s: %s", uri, got)
			}
		}
		_, doc := callTool(t, bo, "answer_run", map[string]any{"run": run, "answers": []any{map[string]any{"pointer": "", "value": 1}}})
		_, none := callTool(t, bo, "answer_run", map[string]any{"run": "none", "answers": []any{map[string]any{"pointer": "", "value": 1}}})
		if textAt(doc, "/error/kind") != "notfound" || strings.ReplaceAll(doc.JSON(), run, "none") != none.JSON() {
			t.Errorf("bo answers the run of lin: %s, and one that does not exist: %s", doc.JSON(), none.JSON())
		}
		list, err := s.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) < 5 || list.Resources[0].URI != "flow://broken" {
			t.Errorf("the resources are %v, %v", value.Must(list).JSON(), err)
		}
	})
}

// TestMCPSessions: a session is of no use to others, and ends with the server.
func TestMCPSessions(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	lin, bo := f.token("lin", store.RunsWrite), f.token("bo", store.RunsWrite)
	accept := []string{"Accept", "application/json, text/event-stream"}
	r := f.do(lin, "POST", "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}`, accept...)
	id := r.header.Get("Mcp-Session-Id")
	if r.status != http.StatusOK || id == "" {
		t.Fatal(r.status, r.text)
	}
	ping := `{"jsonrpc": "2.0", "id": 2, "method": "ping"}`
	for name, c := range map[string]struct {
		token, id string
		status    int
	}{
		"its own": {lin, id, http.StatusOK}, "of another": {bo, id, http.StatusNotFound}, "made up": {lin, "abc", http.StatusNotFound},
		"no token": {"", id, http.StatusUnauthorized}, "another scope": {f.token("lin", store.RunsRead), id, http.StatusForbidden},
	} {
		if r := f.do(c.token, "POST", "/mcp", ping, append(accept, "Mcp-Session-Id", c.id)...); r.status != c.status {
			t.Errorf("%s: got %d %s", name, r.status, r.text)
		}
	}
	if r := f.do(lin, "DELETE", "/mcp", "", "Mcp-Session-Id", id); r.status != http.StatusNoContent {
		t.Errorf("ending it: %d %s", r.status, r.text)
	}
	if r := f.do(lin, "POST", "/mcp", ping, append(accept, "Mcp-Session-Id", id)...); r.status != http.StatusNotFound {
		t.Errorf("after its end: %d %s", r.status, r.text)
	}
	for _, body := range []string{"", "{", "[]", `{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": 1}`} {
		if r := f.do(lin, "POST", "/mcp", body, append(accept, "Content-Type", "application/json")...); r.status < 400 && !strings.Contains(r.text, `"error"`) {
			t.Errorf("the body %q: %d %s", body, r.status, r.text)
		}
	}
}

// TestMCPCancel: a client that cancels a call ends its run.
func TestMCPCancel(t *testing.T) {
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			slow := &gate{open: make(chan struct{})}
			f := newFixture(t, t.TempDir(), slow, nil)
			token := f.token("lin", store.RunsWrite, store.RunsRead)
			s := f.connect(token, era, nil, nil)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "flow_model"})
				done <- err
			}()
			state := func() string { return f.do(token, "GET", "/api/v1/runs?flow=model", "").at("/items/0/state") }
			eventually(t, "a run", func() bool { return state() == "running" })
			cancel()
			if err := <-done; err == nil {
				t.Error("the call went on")
			}
			eventually(t, "the end of the run", func() bool { return state() == "cancelled" })
		})
	}
}

// eventually waits for something that comes by itself.
func eventually(t *testing.T, what string, has func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !has(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s came", what)
		}
	}
}
