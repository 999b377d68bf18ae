package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/remote"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/test/golden"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"scheduler":     func() { os.Exit(runProgram(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"mcptools":      serveMCPTools,
		"temporal-away": func() { remote.Serve(buildVersion(), openFakeRemote) },
	})
}

// openFakeRemote opens a server of Temporal that is away at port 1, and that does nothing with its runs at any other.
func openFakeRemote(_ context.Context, s remote.Settings) (service.Remote, error) {
	if !strings.HasSuffix(s.On, ":1") {
		return idleRemote{}, nil
	}
	return nil, calls.Errorf(calls.Provider, "connecting to Temporal at 127.0.0.1:1: connection refused").
		WithHint("is it running? on one machine: temporal server start-dev")
}

// idleRemote accepts runs and does nothing with them.
type idleRemote struct{}

func (idleRemote) Start(context.Context, service.RemoteRun) error { return nil }

func (idleRemote) Answer(_ context.Context, _ service.RemoteRun, answers []scheduler.Answer, _ bool) ([]scheduler.Answer, error) {
	return answers, nil
}

func (idleRemote) Wake(context.Context, string) error { return nil }

func (idleRemote) Check(context.Context) error { return nil }

func (idleRemote) Wait(ctx context.Context, _ service.RemoteRun, _ func(wording.Text)) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestScripts runs the command line as people do: every file in test/scripts is a session with its files and the
// output that it must have.
func TestScripts(t *testing.T) {
	testscript.Run(t, newScriptParams(t, "../../test/scripts"))
}

// TestScriptsOnPostgres runs the scripts in test/scripts/postgres, each with an empty store in SCHEDULER_STORE.
func TestScriptsOnPostgres(t *testing.T) {
	pgdbtest.NewURL(t) // skips the test if there is no server
	params := newScriptParams(t, "../../test/scripts/postgres")
	setup := params.Setup
	params.Setup = func(e *testscript.Env) error {
		e.Setenv("SCHEDULER_STORE", pgdbtest.NewURL(t))
		return setup(e)
	}
	testscript.Run(t, params)
}

// newScriptParams returns the settings for running the scripts of a folder.
func newScriptParams(t *testing.T, dir string) testscript.Params {
	flows, err := filepath.Abs("../../flows")
	if err != nil {
		t.Fatal(err)
	}
	forecasts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/forecast.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"city": %q, "date": %q, "sky": "light rain", "high": 18, "low": 12}`, r.FormValue("city"), r.FormValue("date"))
	}))
	t.Cleanup(forecasts.Close)
	plugins := newWorkshop(t)
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       golden.Updating(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"plugin": plugins.command},
		Condition:           plugins.condition,
		Setup: func(e *testscript.Env) error {
			plugins.setup(e)
			e.Setenv("FLOWS", flows)
			e.Setenv("FORECASTS", forecasts.URL)
			e.Setenv("LANG", "en_US.UTF-8")
			e.Setenv("TZ", "UTC")
			e.Setenv("GORACE", "atexit_sleep_ms=10") // else each command sleeps for a second
			e.Setenv("GOGC", "400")                  // a third of a short command is collecting garbage
			return nil
		},
	}
}
