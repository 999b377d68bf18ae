package server_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// notebook is a model that notes its prompts.
type notebook struct {
	mu    sync.Mutex
	asked []string
}

func (n *notebook) Chat(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, err := json.Marshal(req)
	n.asked = append(n.asked, string(text))
	answer := "Well said."
	if len(req.ResponseSchema) > 0 {
		answer = `{"kind": "damage", "damaged": true}`
	}
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Text: answer, FinishReason: "stop"}, err) }
}

// take returns the prompts since the last time, sorted, because steps run in parallel.
func (n *notebook) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.asked
	n.asked = nil
	slices.Sort(asked)
	return asked
}

// doorFlows are loaded besides the project's flows: one without a memory that uses the memory in every way that a
// flow can, and the same with one.
var doorFlows = func() map[string]string {
	const probe = `inputs: {type: object, properties: {question: {type: string, default: tea}}}
steps:
  - {id: said, call: context, with: {current_message: "{{ question }}"}}
  - id: told
    call: input
    with:
      user_input: "{{ question }}"
      config: {context_template: [{module_name: a, segments: [{type: variable, value: short_term_history_content}, {type: variable, value: long_term_memory_content}, {type: variable, value: user}, {type: variable, value: vars.last_user_message}, {type: text, value: "{{ vars.session }}|"}]}]}
  - {id: first, call: chat, with: {messages: "{{ said.messages }}"}}
  - {id: second, call: chat, with: {user: "{{ told.prompt }} {{ vars.last_user_message | default('nothing') }} {{ vars.session | default('') }}"}}
outputs: {reply: "{{ second.text }}"}
`
	return map[string]string{
		"probe.yaml":      "name: probe\n" + probe,
		"probed.yaml":     "name: probed\nmemory: {user: \"{{ run.user or 'lin' }}\", session: monday}\n" + probe,
		"probed_all.yaml": "name: probed_all\nmemory: {user: \"{{ run.user or 'lin' }}\", sessions: all}\n" + probe,
	}
}()

// triggers is added to flows: webhooks and schedules for no user and for lin. They set the inputs; a webhook passes on the messages that it gets.
const triggers = `
triggers:
  webhooks:
    - {id: open, verify: none, inputs: %[1]s, conversation: "{{ webhook.body.json.thread }}"}
    - {id: bound, verify: none, user: lin, inputs: %[1]s, conversation: "{{ webhook.body.json.thread }}"}
  schedules:
    - {id: open, cron: "0 0 1 1 *", inputs: %[1]s}
    - {id: bound, cron: "0 0 1 1 *", user: lin, inputs: %[1]s}
`

// talk has the messages before the question, in the runs that have a conversation.
const talk = `[
	{"role": "system", "content": "The visitor reads on a phone."},
	{"role": "user", "name": "lin", "content": [{"type": "text", "text": "Is the tea from Hangzhou?"}]},
	{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "stock", "arguments": "{}"}}]},
	{"role": "tool", "tool_call_id": "c1", "content": "12 bags from Hangzhou"},
	{"role": "assistant", "content": "It is."}
]`

var doorsNow = time.Date(2026, 3, 3, 18, 0, 0, 0, time.UTC)

// house is a server over the flows of the project, with a stopped clock.
type house struct {
	*fixture
	book    *notebook
	service *service.Service
	flows   map[string]*flow.Flow
	// isOpen: the store of memories may be used.
	isOpen atomic.Bool
	// before is the conversation of the runs, a list; null for none.
	before value.Value
}

// newHouse copies the flows of the project, and starts a server over them.
func newHouse(t *testing.T) *house {
	dir := t.TempDir()
	h := &house{book: &notebook{}, flows: map[string]*flow.Flow{}}
	for _, from := range []string{"../../flows", "../../cmd/scheduler/starter/hello/flows"} {
		if err := os.CopyFS(filepath.Join(dir, "flows"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range doorFlows {
		writeFile(t, filepath.Join(dir, "flows", name), text)
	}
	parts := newParts(dir, h.book)
	executor := parts.Executor
	parts.Executor = func(f *flow.Flow, o service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
		e, notes, err := executor(f, o)
		e.Env.LLM, e.Env.Clock = h.book, func() time.Time { return doorsNow }
		return e, notes, err
	}
	parts.Memory = func(ctx context.Context, _ service.MemoryOptions) (*memory.SnapshotProcessor, error) {
		if !h.isOpen.Load() {
			t.Error("a flow without memory opens a store")
			return nil, errors.New("the store is closed")
		}
		s, err := sqlmemory.OpenFile(ctx, dir, sqlmemory.FileOptions{})
		return &memory.SnapshotProcessor{Store: s, Clock: func() time.Time { return doorsNow }, IDSeed: "doors"}, err
	}
	h.service = service.New(parts)
	h.fixture = newFixture(t, dir, h.book, func(o *server.Options) { o.Service = h.service })
	t.Cleanup(func() { h.stop(); _ = h.service.Close() })
	h.loadFlows()
	return h
}

// loadFlows gives the flows of the project their hooks and reads them.
func (h *house) loadFlows() {
	files, err := filepath.Glob(filepath.Join(h.dir, "flows", "*.yaml"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if strings.Contains(name, ".") || flows[name+".yaml"] != "" { // a test, a cassette, or a flow of other tests
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			h.t.Fatal(err)
		}
		h.flows[name] = h.loadFlow(file)
		writeFile(h.t, file, string(text)+fmt.Sprintf(triggers, h.inputs(name).JSON()))
		h.flows[name] = h.loadFlow(file)
	}
}

func (h *house) loadFlow(file string) *flow.Flow {
	f, problems, _, err := h.service.Load(h.t.Context(), file)
	if f == nil || err != nil {
		h.t.Fatal(problems, err)
	}
	return f
}

func writeFile(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// remembered has lin's earlier messages.
var remembered = []memory.BaseMemory{
	{ID: "memory_01890a5d-ac96-774b-bcce-b302099a8001", Content: "I like jasmine tea, and I am allergic to peanuts.", Timestamp: doorsNow.Add(-time.Hour), Context: memory.Context{UserID: "lin", SessionID: "monday"}},
	{ID: "memory_01890a5d-ac96-774b-bcce-b302099a8002", Content: "My cat drinks tea.", Timestamp: doorsNow.Add(-2 * time.Hour), Context: memory.Context{UserID: "lin", SessionID: "sunday"}},
	{ID: "memory_01890a5d-ac96-774b-bcce-b302099a8003", Content: "The tea of bo.", Timestamp: doorsNow.Add(-time.Hour), Context: memory.Context{UserID: "bo", SessionID: "monday"}},
}

// remember fills the store of memories.
func (h *house) remember() {
	p, err := h.service.Memory(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range remembered {
		m.SetRole("user")
		if _, err := p.ProcessMemory(h.t.Context(), m); err != nil {
			h.t.Fatal(err)
		}
	}
}

// question returns the default of the input, or else another one.
func (h *house) question(name string) string {
	v, _ := h.flows[name].Inputs.Doc().At("/properties/question/default")
	text, _ := v.Str()
	return cmp.Or(text, "Does my cat drink tea?")
}

// inputs returns the inputs that every door gives. A chat with the token of a user fills in an input of the name
// user, others do not.
func (h *house) inputs(name string) value.Value {
	given := value.Pairs("question", h.question(name))
	if h.wantsUser(name) {
		given.Set("user", value.OfString("lin"))
	}
	return value.OfMap(given)
}

func (h *house) wantsUser(name string) bool {
	_, wants := h.flows[name].Inputs.Doc().At("/properties/user")
	return wants
}

// await waits until a run is over or waits for values.
func (h *house) await(run string) {
	h.t.Helper()
	for range 1000 {
		info, err := h.service.Run(h.t.Context(), service.Principal{}, run)
		if err != nil {
			h.t.Fatal(err)
		}
		if info.State.IsOver() || info.State == "waiting" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.t.Fatal("the run does not end")
}

// collect runs a session as far as it comes.
func (h *house) collect(session *service.Session, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	_, _ = scheduler.Collect(session.Events())
}

// request is the run of a flow for callers of the service.
func (h *house) request(name string) service.StartRequest {
	return service.StartRequest{Flow: h.flows[name], Inputs: h.inputs(name), Conversation: h.before}
}

// doors are the ways to run a flow; user is the user that the door is bound to, "" for none.
func doors() map[string]func(h *house, name string) {
	scopes := []store.Scope{store.RunsRead, store.RunsWrite, store.FlowsRead}
	start := func(user, more string) func(h *house, name string) {
		return func(h *house, name string) {
			r := h.do(h.token(user, scopes...), "POST", "/api/v1/runs", `{"flow": "`+name+`", "inputs": `+h.inputs(name).JSON()+`, "conversation": `+h.before.JSON()+more+`}`)
			if r.status != http.StatusCreated {
				h.t.Fatal(r.status, r.text)
			}
			h.await(r.at("/run"))
		}
	}
	chat := func(user string) func(h *house, name string) {
		return func(h *house, name string) {
			more := ""
			if h.wantsUser(name) {
				more = `, "user": "lin"`
			}
			said := append(slices.Clone(h.before.List()), value.OfMap(value.Pairs("role", "user", "content", h.question(name))))
			r := h.chat(h.token(user, scopes...), name, value.OfList(said...).JSON(), more)
			run := r.at("/scheduler/run")
			if run == "null" || run == "" {
				run = r.header.Get("X-Scheduler-Run")
			}
			if run != "" {
				h.await(run)
			}
		}
	}
	mcp := func(user string) func(h *house, name string) {
		return func(h *house, name string) {
			s := h.connect(h.token(user, scopes...), eras()[0], nil, nil)
			arguments := h.inputs(name)
			if h.flows[name].ReadsConversation {
				arguments.Map().Set("conversation", h.before)
			}
			if _, err := s.CallTool(h.t.Context(), &sdk.CallToolParams{Name: "flow_" + name, Arguments: arguments}); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	hook := func(id string) func(h *house, name string) {
		return func(h *house, name string) {
			r := h.do("", "POST", "/hooks/"+name+"/"+id, `{"thread": `+h.before.JSON()+`}`)
			if r.status != http.StatusAccepted {
				h.t.Fatal(r.status, r.text)
			}
			h.await(r.at("/run"))
		}
	}
	schedule := func(id string) func(h *house, name string) {
		return func(h *house, name string) {
			r := h.do(h.token("", store.Admin), "POST", "/api/v1/schedules/"+name+":"+id+"/fire", "")
			if r.status != http.StatusAccepted {
				h.t.Fatal(r.status, r.text)
			}
			h.await(r.at("/run"))
		}
	}
	command := func(p service.Principal) func(h *house, name string) {
		return func(h *house, name string) {
			session, _, err := h.service.NewSession(h.t.Context(), p, h.request(name))
			h.collect(session, err)
		}
	}
	worker := func(p service.Principal) func(h *house, name string) {
		return func(h *house, name string) {
			info, _, err := h.service.Enqueue(h.t.Context(), p, h.request(name))
			if err != nil {
				h.t.Fatal(err)
			}
			session, _, err := h.service.ReopenSession(h.t.Context(), service.Principal{}, service.ResumeRequest{Run: info.ID, OnWorker: true})
			if err != nil {
				h.t.Fatal(err)
			}
			_, _ = scheduler.Collect(session.Continue(h.t.Context(), scheduler.Resumption{}))
		}
	}
	return map[string]func(h *house, name string){
		"run": command(service.Principal{}), "run --user": command(service.Principal{User: "lin"}), "run, ephemeral": func(h *house, name string) {
			if h.flows[name].User != nil { // its memory is empty
				command(service.Principal{})(h, name)
				return
			}
			request := h.request(name)
			request.Ephemeral = true
			session, _, err := h.service.NewSession(h.t.Context(), service.Principal{}, request)
			h.collect(session, err)
		},
		"serve": start("", ""), "serve, bound": start("lin", ""), "page": start("lin", `, "session": "s1"`), "chat": chat(""), "chat, bound": chat("lin"), "mcp": mcp(""), "mcp, bound": mcp("lin"),
		"webhook": hook("open"), "webhook, bound": hook("bound"), "schedule": schedule("open"), "schedule, bound": schedule("bound"), "worker": worker(service.Principal{}), "worker, bound": worker(service.Principal{User: "lin", Bound: true}),
		"test": test,
	}
}

// test runs a flow as the case of a test, with the memories in the case.
func test(h *house, name string) {
	one := value.Pairs("name", "one", "now", doorsNow.Format(time.RFC3339), "inputs", h.inputs(name), "expect", []value.Value{value.OfMap(value.Pairs("run", "finished"))})
	if h.flows[name].User != nil {
		var list []value.Value
		for i, m := range remembered {
			list = append(list, value.OfMap(value.Pairs("id", fmt.Sprint("m", i), "content", m.Content, "role", "user", "user", m.Context.UserID, "session", m.Context.SessionID, "timestamp", m.Timestamp.Format(time.RFC3339))))
		}
		one.Set("memory", value.OfList(list...))
	}
	if !h.before.IsNull() {
		one.Set("conversation", h.before)
	}
	file := filepath.Join(h.dir, "flows", name+".test.yaml")
	writeFile(h.t, file, value.OfMap(value.Pairs("cases", []value.Value{value.OfMap(one)})).JSON())
	parts := newParts(h.dir, h.book).Tests
	loader, _, err := parts.Loader("en")
	if err != nil {
		h.t.Fatal(err)
	}
	tests, problems := loader.Load(h.t.Context(), file)
	if tests == nil {
		h.t.Fatal(problems)
	}
	o := parts.Options("en")
	o.Mode = result.Live
	o.Models.Open = func(string) (llm.Provider, error) { return h.book, nil }
	if h.flows[name].User == nil {
		o.Memory = func(context.Context, func() time.Time) (*memory.SnapshotProcessor, error) {
			h.t.Errorf("%s opens a store", name)
			return nil, errors.New("there is no store")
		}
	}
	if _, err := flowtest.Run(h.t.Context(), []*suite.Suite{tests}, o); err != nil {
		h.t.Fatal(err)
	}
}

// TestPromptsOfAllDoors: every flow of the project asks the model the same, to the byte, through whichever door a run comes, with a conversation
// before the question and without; one without memory opens no store.
func TestPromptsOfAllDoors(t *testing.T) {
	t.Parallel() // it waits for runs most of the time
	want, withTalk := map[string][]string{}, map[string][]string{}
	all := doors()
	for _, door := range append([]string{"run"}, slices.Sorted(keysBut(all, "run"))...) {
		t.Run(door, func(t *testing.T) {
			newHouse(t).compareDoor(door, want)
			if !strings.HasPrefix(door, "schedule") { // time says nothing
				h := newHouse(t)
				h.before = value.Must(json.RawMessage(talk))
				h.compareDoor(door, withTalk)
			}
		})
	}
	for name, says := range withTalk {
		isRead := strings.Contains(strings.Join(says, ""), "from Hangzhou")
		if isRead != (name != "summarise" && name != "quickstart") {
			t.Errorf("%s asks %s", name, says)
		}
	}
	for name, says := range map[string]string{"probed": "jasmine", "probed_all": "My cat drinks tea"} {
		if text := strings.Join(want[name], ""); !strings.Contains(text, says) || strings.Contains(text, "tea of bo") || (name == "probed") == strings.Contains(want[name][0], "My cat") {
			t.Errorf("%s asks %s", name, text)
		}
	}
	if text := strings.Join(want["probe"], ""); strings.Contains(text, "jasmine") || strings.Contains(text, "My cat") {
		t.Errorf("a flow without memory asks %s", text)
	}
}

// flowsByMemory lists the flows, those without memory first.
func (h *house) flowsByMemory() []string {
	rank := map[bool]int{true: 1}
	names := slices.Sorted(keysBut(h.flows, ""))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(rank[h.flows[a].User != nil], rank[h.flows[b].User != nil])
	})
	return names
}

// openMemory lets the store be used from the first flow with memory on.
func (h *house) openMemory(name string) {
	if h.flows[name].User != nil && !h.isOpen.Load() {
		h.isOpen.Store(true)
		h.remember()
	}
}

// compareDoor runs the flows through a door, and compares their prompts with their prompts through the first one.
func (h *house) compareDoor(door string, want map[string][]string) {
	for _, name := range h.flowsByMemory() {
		h.openMemory(name)
		doors()[door](h, name)
		got := h.book.take()
		if len(got) == 0 {
			h.t.Errorf("%s asks no model", name)
		}
		if door == "run" {
			want[name] = got
		}
		if diff := gocmp.Diff(want[name], got); diff != "" {
			h.t.Errorf("%s asks through %q otherwise than through \"run\", conversation %s (-want +got):\n%s", name, door, h.before.JSON(), diff)
		}
	}
}

// TestPromptDoor: the prompts that clients of MCP get have the messages of the last request of the run.
func TestPromptDoor(t *testing.T) {
	h := newHouse(t)
	s := h.connect(h.token("lin", store.RunsRead, store.RunsWrite), eras()[1], nil, nil)
	for _, name := range h.flowsByMemory() {
		if service.PromptStep(h.flows[name]) == nil {
			continue
		}
		h.openMemory(name)
		for _, before := range []string{"", talk} {
			h.before = value.Value{}
			arguments := map[string]string{"question": h.question(name)}
			if h.wantsUser(name) {
				arguments["user"] = "lin"
			}
			if before != "" && h.flows[name].ReadsConversation {
				h.before = value.Must(json.RawMessage(before))
				arguments["conversation"] = before
			}
			h.book.take()
			got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name, Arguments: arguments})
			if name == "weather" && err != nil && strings.Contains(err.Error(), "the flow asks the user first") {
				continue // the model of this test names no town
			}
			if err != nil {
				t.Fatal(name, err)
			}
			asked := h.book.take()
			doors()["run --user"](h, name)
			whole := h.book.take()
			if len(asked) != len(whole)-1 {
				t.Errorf("%s asks %d times for its prompt, and %d in a run", name, len(asked), len(whole))
			}
			last := slices.DeleteFunc(whole, func(one string) bool { return slices.Contains(asked, one) })
			for _, m := range got.Messages {
				text, _ := m.Content.(*sdk.TextContent)
				written, _ := json.Marshal(text.Text) // as the notebook writes it
				isPicture := strings.HasPrefix(text.Text, "[image/")
				if len(last) != 1 || !isPicture && !strings.Contains(last[0], string(written)) {
					t.Errorf("the prompt of %s has %s, and the run asked %s", name, written, last)
				}
			}
		}
	}
}

// keysBut yields the keys of a map except one.
func keysBut[V any](m map[string]V, but string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range m {
			if key != but && !yield(key) {
				return
			}
		}
	}
}
