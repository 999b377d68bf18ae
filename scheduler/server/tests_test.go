package server_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// testParts are for tests of the flows in dir, whose models must not be asked.
func testParts(dir string, flows func(service.Surroundings) (*flow.Loader, []service.Note, error)) *service.TestParts {
	return &service.TestParts{
		Loader: func(language string) (*suite.Loader, []service.Note, error) {
			l, notes, err := flows(service.Surroundings{})
			return &suite.Loader{Flows: l, Root: dir, Language: language}, notes, err
		},
		Options: func(language string) *flowtest.Options {
			return &flowtest.Options{
				Executor: func(*flow.Flow) (*scheduler.StepExecutor, error) {
					l, _, err := flows(service.Surroundings{})
					return &scheduler.StepExecutor{Env: calls.NewEnv(), Loader: l}, err
				},
				Memory: func(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error) {
					s, err := sqlmemory.OpenTemporary(ctx, sqlmemory.FileOptions{Clock: clock})
					return &memory.SnapshotProcessor{Store: s, Clock: clock}, err
				},
				Journal: func() journal.Journal { return journalmemory.New(time.Now) },
				Models: flowtest.Models{
					Default: func() []string { return []string{"main"} },
					Open:    func(string) (llm.Provider, error) { return nil, calls.Errorf(calls.Internal, "a test asks a model") },
					Model:   func(string) string { return "" },
					Tokens:  func(string) llm.Counter { return tokens.For("") },
					Priced:  func(string) bool { return false },
				},
				Language: language,
			}
		},
		Files: compare.Files{Root: dir, Last: filepath.Join(dir, "test", "last.jsonl")},
	}
}

// TestTestsAreListedAndRun follows a test file from its first listing to the results that are kept.
func TestTestsAreListedAndRun(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.FlowsRead, store.RunsWrite)
	list := f.do(token, "GET", "/api/v1/tests", "")
	for pointer, want := range map[string]string{
		"/items/0/file": "flows/broken.test.yaml", "/items/0/problems/0/file": "flows/broken.yaml", "/items/0/problems/0/line": "2", "/items/0/problems/0/flow": "broken", "/items/0/cases": "[]",
		"/items/1/file": "flows/echo.test.yaml", "/items/1/counts/cases": "4", "/items/1/counts/not_run": "4", "/items/1/cases/0/id": "the question is in",
		"/items/1/cases/0/tags/0": "fast", "/items/1/cases/0/position/line": "3", "/items/1/cases/0/flow": "echo", "/items/1/cases/3/skip": "not yet", "/next": "null",
	} {
		if got := list.at(pointer); got != want {
			t.Errorf("%s is %s, want %s", pointer, got, want)
		}
	}
	if strings.Contains(list.text, `"last"`) {
		t.Errorf("nothing has run, and there are results: %s", list.text)
	}
	run := f.do(token, "POST", "/api/v1/tests/run", `{"file": "flows/echo.test.yaml"}`)
	for pointer, want := range map[string]string{
		"/file": "flows/echo.test.yaml", "/mode": "replay", "/counts/passed": "1", "/counts/failed": "1", "/counts/errors": "1", "/counts/skipped": "1",
		"/cases/0/outcome": "pass", "/cases/1/repeats/0/checks/1/position/line": "8", "/cases/1/repeats/0/checks/1/outcome": "fail",
		"/cases/1/prompts/0/step": "answer", "/cases/2/outcome": "error", "/cases/3/skipped": "not yet",
	} {
		if got := run.at(pointer); got != want {
			t.Errorf("after the run, %s is %s, want %s", pointer, got, want)
		}
	}
	if strings.Contains(run.text, "a test asks a model") {
		t.Error("a model was asked")
	}
	again := f.do(token, "POST", "/api/v1/tests/run", `{"file": "flows/echo.test.yaml", "cases": ["the question is in"]}`)
	if again.at("/counts/passed") != "1" || again.at("/counts/failed") != "0" {
		t.Errorf("one case: %s", again.text)
	}
	results := f.do(token, "GET", "/api/v1/tests/results?file=flows/echo.test.yaml", "")
	for pointer, want := range map[string]string{
		"/table/rows/0/cells/0/outcome": "pass", "/table/rows/1/cells/0/passed": "0", "/history/0/passed": "1", "/history/0/failed": "0", "/history/1/failed": "1",
	} {
		if got := results.at(pointer); got != want {
			t.Errorf("of the results, %s is %s, want %s", pointer, got, want)
		}
	}
	f.stop()
	f = newFixture(t, dir, nil, nil)
	list = f.do(f.token("bo", store.FlowsRead), "GET", "/api/v1/tests?cursor=flows/broken.test.yaml", "")
	for pointer, want := range map[string]string{
		"/items/0/counts/not_run": "0", "/items/0/counts/failed": "1", "/items/0/cases/0/last/outcome": "pass",
		"/items/0/cases/1/last/repeats/0/checks/0/position/line": "8", // passed checks are left out
	} {
		if got := list.at(pointer); got != want {
			t.Errorf("after a restart, %s is %s, want %s", pointer, got, want)
		}
	}
}

// TestTestsOfTheCommandLine: results kept by scheduler test are shown, unless the case has run since.
func TestTestsOfTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	files := compare.Files{Root: dir, Last: filepath.Join(dir, "test", "last.jsonl")}
	keep := func(at time.Time) {
		err := files.KeepLast(&result.Run{Mode: result.Replay, Suites: []*result.Suite{{File: "flows/echo.test.yaml", Cases: []*result.Case{
			{Name: "the question is in", Outcome: result.Fail, At: at, Elapsed: 3 * time.Millisecond},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, dir, nil, nil)
	token := f.token("", store.Admin)
	outcome := func() string {
		return f.do(token, "GET", "/api/v1/tests?cursor=flows/broken.test.yaml", "").at("/items/0/cases/0/last/outcome")
	}
	keep(time.Now())
	if got := outcome(); got != "fail" {
		t.Errorf("the result of the command line is shown as %s", got)
	}
	if r := f.do(token, "POST", "/api/v1/tests/run", `{"file": "flows/echo.test.yaml", "cases": ["the question is in"]}`); r.status != http.StatusOK {
		t.Fatal(r.status, r.text)
	}
	if got := outcome(); got != "pass" {
		t.Errorf("the result of the newer run is shown as %s", got)
	}
	if kept, err := files.ReadLast(); err != nil || kept.Suites[0].Cases[0].Outcome != result.Fail {
		t.Errorf("the run of the command line has changed: %+v, %v", kept, err)
	}
	keep(time.Now().Add(time.Hour))
	if got := outcome(); got != "fail" {
		t.Errorf("the newest result is shown as %s", got)
	}
}

// TestTestsAreRefused makes requests for tests that do not exist, or cannot run.
func TestTestsAreRefused(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Language = "zh" })
	token := f.token("", store.Admin)
	for body, want := range map[string]struct {
		status           int
		pointer, message string
	}{
		`{"file": "flows/ehco.test.yaml"}`:                                 {404, "/hint", "flows/echo.test.yaml"},
		`{"file": "../flows/echo.test.yaml"}`:                              {404, "/detail", "没有测试文件"},
		`{"file": "flows/echo.yaml"}`:                                      {404, "/detail", "没有测试文件"},
		`{"file": "flows/echo.test.yaml", "cases": ["the reply is wron"]}`: {404, "/hint", "the reply is wrong"},
		`{"file": "flows/broken.test.yaml"}`:                               {422, "/errors/0/file", "flows/broken.yaml"},
	} {
		r := f.do(token, "POST", "/api/v1/tests/run", body)
		if r.status != want.status || !strings.Contains(r.at(want.pointer), want.message) {
			t.Errorf("%s: %d %s", body, r.status, r.text)
		}
	}
	run := func(language string) string {
		r := f.do(token, "POST", "/api/v1/tests/run", `{"file": "flows/echo.test.yaml", "cases": ["the reply is wrong"]}`, "Accept-Language", language)
		return r.at("/cases/0/repeats/0/checks/1/message")
	}
	if en, zh := run("en"), run("zh-CN"); !strings.HasPrefix(en, "it is ") || strings.Contains(zh, "it is") || zh == "" {
		t.Errorf("in English %q, in Chinese %q", en, zh)
	}
	source := f.do(token, "GET", "/api/v1/tests/source?file=flows/echo.test.yaml", "")
	if !strings.Contains(source.at("/text"), "nothing is recorded") {
		t.Errorf("the text is %s", source.text)
	}
	secret := filepath.Join(f.dir, "flows", "link.test.yaml")
	if err := os.Symlink("/etc/passwd", secret); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"flows/echo.yaml", "flows/link.test.yaml", "/etc/passwd"} {
		if r := f.do(token, "GET", "/api/v1/tests/source?file="+file, ""); r.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", file, r.status, r.text)
		}
	}
}

// TestTestsRunOnceAtATime: a second run is refused, and the run of a client that leaves makes room for the next.
func TestTestsRunOnceAtATime(t *testing.T) {
	dir := t.TempDir()
	began, goOn := make(chan struct{}, 8), make(chan struct{})
	parts := newParts(dir, nil)
	options := parts.Tests.Options
	parts.Tests.Options = func(language string) *flowtest.Options {
		o := options(language)
		executor := o.Executor
		o.Executor = func(f *flow.Flow) (*scheduler.StepExecutor, error) {
			began <- struct{}{}
			<-goOn
			return executor(f)
		}
		return o
	}
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Service = service.New(parts) })
	token := f.token("", store.Admin)
	const body = `{"file": "flows/echo.test.yaml", "cases": ["the question is in"]}`
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/api/v1/tests/run", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	left := make(chan error)
	go func() {
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		left <- err
	}()
	<-began
	if second := f.do(token, "POST", "/api/v1/tests/run", body); second.status != http.StatusConflict || second.header.Get("Retry-After") == "" {
		t.Errorf("a second run: %d %s", second.status, second.text)
	}
	leave()
	if err := <-left; err == nil {
		t.Error("the client that has left got an answer")
	}
	close(goOn)
	for {
		next := f.do(token, "POST", "/api/v1/tests/run", body)
		if next.status == http.StatusConflict { // the first is not over yet
			continue
		}
		if next.status != http.StatusOK || next.at("/counts/passed") != "1" {
			t.Errorf("the next run: %d %s", next.status, next.text)
		}
		break
	}
}
