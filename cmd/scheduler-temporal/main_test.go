package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/remote"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == remote.ServeCommand { // the program that newClient starts
		os.Exit(runProgram(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// nowhere is a server of Temporal that is not there.
const nowhere = "temporal://127.0.0.1:1"

func TestWorker(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args string
		lang string
		code int
		want []string
	}{
		{"worker --on " + nowhere, "en_US.UTF-8", exitFailed, []string{"connecting to Temporal at 127.0.0.1:1", "temporal server start-dev"}},
		{"worker", "en_US.UTF-8", exitUsage, []string{"whose address is not known", "--on temporal://HOST:PORT"}},
		{"worker --on example.org", "en_US.UTF-8", exitUsage, []string{"is not an address"}},
		{"worker --slots 0 --on " + nowhere + " --config none.yaml", "en_US.UTF-8", exitUsage, []string{"none.yaml"}},
		{"--of-version " + buildVersion() + " worker --on " + nowhere, "en_US.UTF-8", exitFailed, []string{"connecting to Temporal"}},
		{"--of-version v9.9 worker --on " + nowhere, "en_US.UTF-8", exitUsage, []string{"scheduler-temporal has the version dev, and scheduler v9.9", "install both from one release"}},
		{"--of-version v9.9 worker --on " + nowhere, "zh_CN.UTF-8", exitUsage, []string{"scheduler-temporal 的版本是 dev，而 scheduler 是 v9.9", "请从同一个发行版安装两者"}},
	} {
		t.Run(tt.args+" "+tt.lang, func(t *testing.T) {
			t.Setenv("LANG", tt.lang)
			var problems bytes.Buffer
			code := runProgram(strings.Fields(tt.args), strings.NewReader(""), io.Discard, &problems)
			if code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(problems.String(), want) {
					t.Errorf("said %q, want %q", problems.String(), want)
				}
			}
		})
	}
}

// newClient returns a client of this program, as scheduler of that version makes one.
func newClient(t *testing.T, version string) *remote.Client {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := remote.NewClient(remote.Options{Program: own, Settings: remote.Settings{Version: version, On: nowhere}, Log: io.Discard})
	t.Cleanup(c.Close)
	return c
}

// The first program gets errors, in both languages, about a missing Temporal and another version.
func TestPlugin(t *testing.T) {
	t.Chdir(t.TempDir())
	err := newClient(t, buildVersion()).Wake(t.Context(), "r")
	if calls.KindOf(err) != calls.Provider || !strings.Contains(err.Error(), "connecting to Temporal at 127.0.0.1:1") ||
		!strings.Contains(calls.MessageIn(err, "zh"), "连接位于 127.0.0.1:1 的 Temporal") || !strings.Contains(calls.HintOf(err), "start-dev") {
		t.Errorf("got %v (%s)", err, calls.HintOf(err))
	}
	err = newClient(t, "v9.9").Wake(t.Context(), "r")
	if calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), "has the version dev, and scheduler v9.9") {
		t.Errorf("got %v", err)
	}
}
