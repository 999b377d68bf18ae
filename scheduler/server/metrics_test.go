package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/telemetry"
)

// otlpReceiver takes spans as a collector does.
type otlpReceiver struct {
	mu      sync.Mutex // guards the fields below
	spans   []*tracespb.Span
	headers http.Header
}

func (c *otlpReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	data, err := io.ReadAll(body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(data, &request) != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "not spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// tree returns the spans of a run, each as the path of names from the root, sorted.
func (c *otlpReceiver) tree(run string) (paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*tracespb.Span{}
	for _, s := range c.spans {
		byID[string(s.SpanId)] = s
	}
	for _, s := range c.spans {
		if fmt.Sprintf("%x", s.TraceId) != telemetry.TraceID(run) {
			continue
		}
		path := s.Name
		for parent := byID[string(s.ParentSpanId)]; parent != nil; parent = byID[string(parent.ParentSpanId)] {
			path = parent.Name + " > " + path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// attributes returns the attributes of all spans, as text.
func (c *otlpReceiver) attributes() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, s := range c.spans {
		for _, a := range s.Attributes {
			fmt.Fprintf(&b, "%s: %s=%s\n", s.Name, a.Key, a.Value)
		}
		fmt.Fprintf(&b, "%s: status=%s\n", s.Name, s.Status)
	}
	return b.String()
}

// sentLog fails the test when spans cannot be sent.
type sentLog struct{ *testing.T }

func (l sentLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("sending traces")) {
		l.Errorf("%s", line)
	}
	return len(line), nil
}

// newObserver returns an observer that sends spans to a receiver.
func newObserver(t *testing.T, content bool) (*telemetry.Observer, *otlpReceiver) {
	t.Helper()
	receiver := &otlpReceiver{}
	at := httptest.NewServer(receiver)
	t.Cleanup(at.Close)
	observer, err := telemetry.New(telemetry.Options{
		Version: "test", OperationOf: func(call string) string { return map[string]string{"chat": "chat", "agent": "invoke_agent"}[call] }, Log: slog.New(slog.NewTextHandler(sentLog{t}, nil)),
		Traces: telemetry.Traces{Endpoint: at.URL, Headers: map[string]string{"authorization": "key-of-the-collector"}, Content: content},
	})
	if err != nil {
		t.Fatal(err)
	}
	return observer, receiver
}

// waitForState polls a run until it has a state.
func (f *fixture) waitForState(token, run string, want journal.RunStatus) {
	f.t.Helper()
	for range 3000 {
		if f.do(token, "GET", "/api/v1/runs/"+run, "").at("/state") == string(want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.t.Fatalf("the run %s does not come to %s", run, want)
}

// The spans of a run match its events, and the parts of a run that waited are joined.
func TestTraces(t *testing.T) {
	for _, content := range []bool{false, true} {
		observer, receiver := newObserver(t, content)
		f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Telemetry = observer })
		token := f.token("lin", store.RunsRead, store.RunsWrite)
		run := f.do(token, "POST", "/api/v1/runs", `{"flow": "sub~wait", "inputs": {"question": "Is it wet?"}}`).at("/run")
		f.waitForState(token, run, journal.RunWaiting)
		f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"values": {"city": "Hangzhou", "days": 2}}`)
		f.waitForState(token, run, journal.RunFinished)
		f.stop()
		if err := observer.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"invoke_workflow wait", "invoke_workflow wait", "invoke_workflow wait > chat", "invoke_workflow wait > step place", "invoke_workflow wait > step place",
		}
		if got := receiver.tree(run); !slices.Equal(got, want) {
			t.Errorf("the spans are %q, want %q", got, want)
		}
		text := receiver.attributes()
		if has := strings.Contains(text, "Hangzhou"); has != content {
			t.Errorf("content %v, but what was answered is there: %v\n%s", content, has, text)
		}
		if strings.Contains(text, "lin") || receiver.headers.Get("Authorization") != "key-of-the-collector" {
			t.Errorf("%s\n%v", text, receiver.headers)
		}
	}
}

// GET /metrics has the counts in a form that Prometheus reads, and names neither users nor runs.
func TestMetrics(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := f.do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "hello"}}`).at("/run")
	f.waitForState(token, run, journal.RunFinished)
	waiting := f.do(token, "POST", "/api/v1/runs", `{"flow": "sub~wait"}`).at("/run")
	f.waitForState(token, waiting, journal.RunWaiting)

	if got := f.do(token, "GET", "/metrics", ""); got.status != http.StatusForbidden {
		t.Errorf("without the scope: %d", got.status)
	}
	scraper := f.token("", store.Metrics)
	var got *reply
	f.eventually("no run to be at work", func() bool { // it may be for a moment after its last event
		got = f.do(scraper, "GET", "/metrics", "")
		return strings.Contains(got.text, "scheduler_active_runs 0\n")
	})
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader([]byte(got.text)))
	if err != nil || got.status != http.StatusOK {
		t.Fatalf("%d, %v\n%s", got.status, err, got.text)
	}
	for _, line := range []string{
		`scheduler_runs_total{flow="echo",origin="api",state="finished"} 1`, `scheduler_runs_total{flow="wait",origin="api",state="waiting"} 1`,
		`scheduler_step_duration_seconds_count{call="chat"} 1`, `scheduler_waiting_runs 1`, `scheduler_queue_depth 0`,
		`gen_ai_client_token_usage_count{gen_ai_provider_name="",gen_ai_request_model="",gen_ai_token_type="input"} 1`,
	} {
		if !strings.Contains(got.text, line+"\n") {
			t.Errorf("the line %s is missing in\n%s", line, linesOf(got.text, "gen_ai", "_runs", "commit"))
		}
	}
	for _, name := range []string{"scheduler_sse_clients", "scheduler_run_duration_seconds", "scheduler_journal_commit_seconds", "gen_ai_client_operation_duration_seconds", "scheduler_build_info"} {
		if families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	if strings.Contains(got.text, "lin") && strings.Contains(got.text, `"lin"`) || strings.Contains(got.text, run) {
		t.Errorf("a user or a run is named:\n%s", got.text)
	}
}

// linesOf returns the samples whose names have one of the parts.
func linesOf(text string, parts ...string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket") && slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(line, p) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Every metric that the dashboard asks for is there.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../configs/serve/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%v, %d panels", err, len(dashboard.Panels))
	}
	source := ""
	for _, file := range []string{"../telemetry/metrics.go", "metrics.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	name := regexp.MustCompile(`(scheduler|gen_ai_client)_[a-z_]+`)
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			for _, metric := range name.FindAllString(target.Expr, -1) {
				base := strings.TrimSuffix(strings.TrimSuffix(metric, "_bucket"), "_sum")
				if !strings.Contains(source, `"`+base+`"`) {
					t.Errorf("panel %q asks for %s, which is no metric", panel.Title, metric)
				}
			}
		}
	}
}
