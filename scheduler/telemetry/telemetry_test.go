package telemetry_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/telemetry"
)

// operationOf has the operations of a registry with chat and agent.
func operationOf(call string) string {
	return map[string]string{"chat": "chat", "agent": "invoke_agent"}[call]
}

func newObserver(t *testing.T) *telemetry.Observer {
	t.Helper()
	o, err := telemetry.New(telemetry.Options{Version: "v1", OperationOf: operationOf})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// metrics returns the samples, without buckets.
func metrics(o *telemetry.Observer) string {
	answer := httptest.NewRecorder()
	o.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var b strings.Builder
	for line := range strings.Lines(answer.Body.String()) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") && !strings.HasPrefix(line, "go_") && !strings.HasPrefix(line, "process_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Commits are counted wherever a log of the journal comes from.
func TestWatchJournal(t *testing.T) {
	o := newObserver(t)
	j := o.WatchJournal(memory.New(time.Now))
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: "r1", Flow: "f", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), &journal.Event{Seq: 1, Run: "r1", Type: journal.FlowStarted, Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err = j.Reopen(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), &journal.Event{Seq: 2, Run: "r1", Type: journal.FlowFinished, Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if log, err := j.Reopen(t.Context(), "r2"); err == nil || log != nil {
		t.Errorf("a run that does not exist: %v, %v", log, err)
	}
	if text := metrics(o); !strings.Contains(text, "scheduler_journal_commit_seconds_count 2\n") {
		t.Error(text)
	}
}

// The usage of a step that runs others inside itself is counted once, and the usage of an earlier process is not.
func TestTokensOnce(t *testing.T) {
	o := newObserver(t)
	state := journal.NewRunState()
	ms, seq := 1.5, int64(0)
	observe := func(e *journal.Event) {
		seq++
		e.Seq, e.Run, e.Time = seq, "r1", time.Now()
		state.Add(e)
		o.ObserveEvent(telemetry.Run{ID: "r1", Flow: "f", StartedBy: "api", State: state}, e)
	}
	end := func(step string, in int) {
		observe(&journal.Event{Type: journal.StepFinished, Step: step, Data: &journal.Data{
			DurationMS: &ms, Usage: &llm.Usage{InputTokens: in}, LLM: &journal.ModelUse{Provider: "main", Model: "m", Requests: 1},
		}})
	}
	for _, e := range []*journal.Event{ // of an earlier process
		{Seq: 1, Type: journal.StepStarted, Step: "old", Data: &journal.Data{Call: "chat"}},
		{Seq: 2, Type: journal.StepFinished, Step: "old", Data: &journal.Data{Usage: &llm.Usage{InputTokens: 1000}}},
	} {
		state.Add(e)
	}
	observe(&journal.Event{Type: journal.FlowResumed})
	observe(&journal.Event{Type: journal.StepStarted, Step: "a", Data: &journal.Data{Call: "agent"}})
	observe(&journal.Event{Type: journal.StepStarted, Step: "a/chat-1", Data: &journal.Data{Call: "chat"}})
	end("a/chat-1", 10)
	end("a", 17)
	observe(&journal.Event{Type: journal.StepFailed, Step: "b", Data: &journal.Data{DurationMS: &ms, Error: &journal.ErrorInfo{Kind: calls.Internal}}})
	observe(&journal.Event{Type: journal.FlowFailed, Data: &journal.Data{DurationMS: &ms}})
	o.EndRun("r1")
	text := metrics(o)
	for _, line := range []string{
		`gen_ai_client_token_usage_sum{gen_ai_provider_name="main",gen_ai_request_model="m",gen_ai_token_type="input"} 17`,
		`scheduler_runs_total{flow="f",origin="api",state="failed"} 1`, `scheduler_build_info{version="v1"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the line %s is missing in\n%s", line, text)
		}
	}
}

// Events of another program's journal may have no data.
func TestEventsWithoutData(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(collector.Close)
	o, err := telemetry.New(telemetry.Options{Traces: telemetry.Traces{Endpoint: collector.URL, Content: true}, OperationOf: operationOf})
	if err != nil {
		t.Fatal(err)
	}
	state := journal.NewRunState()
	for _, kind := range []journal.EventType{
		journal.FlowStarted, journal.StepStarted, journal.StepInput, journal.StepRetrying, journal.StepWarning, journal.StepSkipped,
		journal.StepWaiting, journal.StepFailed, journal.StepFinished,
	} {
		o.ObserveEvent(telemetry.Run{ID: "r1", Flow: "f", State: state}, &journal.Event{Type: kind, Run: "r1", Step: "a", Time: time.Now()})
	}
	o.ObserveEvent(telemetry.Run{ID: "r1", Flow: "f", State: state}, &journal.Event{Type: journal.FlowFinished, Run: "r1", Time: time.Now()})
	if err := o.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if text := metrics(o); !strings.Contains(text, `scheduler_runs_total{flow="f",origin="",state="finished"} 1`) {
		t.Error(text)
	}
}

func TestLogHandler(t *testing.T) {
	var b strings.Builder
	log := slog.New(telemetry.LogHandler(slog.NewTextHandler(&b, nil))).With("request", "q1")
	log.Warn("closing a run", "run", "r1")
	log.Warn("other")
	lines := strings.Split(b.String(), "\n")
	if !strings.HasSuffix(lines[0], "request=q1 run=r1 trace_id="+telemetry.TraceID("r1")) || strings.Contains(lines[1], "trace_id") {
		t.Error(b.String())
	}
}

func TestEndpoint(t *testing.T) {
	for _, endpoint := range []string{"localhost:4318", "ftp://collector", "http://", "::"} {
		_, err := telemetry.New(telemetry.Options{Traces: telemetry.Traces{Endpoint: endpoint}})
		if err == nil || !strings.Contains(err.Error(), "write http://HOST:4318") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// TestFailedRunIsLogged: the log has the run that failed, its step, and the step's place in the flow.
func TestFailedRunIsLogged(t *testing.T) {
	var b strings.Builder
	o, err := telemetry.New(telemetry.Options{Log: slog.New(slog.NewTextHandler(&b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	failure := &journal.ErrorInfo{Kind: calls.Provider, Step: "answer", Position: "flows/desk.yaml:7:5", Message: "busy " + strings.Repeat("€", 1000)}
	run := telemetry.Run{ID: "r1", Flow: "desk", State: journal.NewRunState()}
	o.ObserveEvent(run, &journal.Event{Type: journal.StepFailed, Run: "r1", Step: "answer", Data: &journal.Data{Error: failure}})
	o.ObserveEvent(run, &journal.Event{Type: journal.FlowFailed, Run: "r1", Data: &journal.Data{Error: failure}})
	want := `level=WARN msg="run failed" run=r1 flow=desk step=answer position=flows/desk.yaml:7:5 kind=provider error="busy €`
	if text := b.String(); !strings.Contains(text, want) || strings.Count(text, "\n") != 1 || len(text) > 800 {
		t.Error(text)
	}
}
