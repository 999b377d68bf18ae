package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// wanting is a step that waits for the members of the flat schema.
func wanting(t *testing.T, step, schema string) journal.WaitingFor {
	t.Helper()
	v, err := yaml.ParseValue([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return journal.WaitingFor{Step: step, RemainingSchema: v}
}

func TestResumeCommand(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/it's mine.yaml"
	if err := os.WriteFile(file, []byte("state_dir: "+dir+"/state\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := config.Load(config.Place{File: file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{Terminal: &terminal.Terminal{}, settings: settings}
	w := wanting(t, "each[1]", `{properties: {/a: {}, "/b c": {}}}`)
	typed := []scheduler.Answer{{Step: "each[1]", Pointer: "/a/k", Value: value.OfString("x y")}}
	want := " resume RUN --state-dir " + dir + "/state --config '" + dir + `/it'\''s mine.yaml' --set '/a/k=x y' --set '/b c=VALUE'`
	if got := a.resumeCommand("RUN", []journal.WaitingFor{w}, typed); !strings.HasSuffix(got, want) {
		t.Errorf("got %s\nwant ...%s", got, want)
	}
	got := a.resumeCommand("RUN", []journal.WaitingFor{w, {Step: "two"}}, nil)
	if !strings.HasSuffix(got, `--set 'each[1]:/a=VALUE' --set 'each[1]:/b c=VALUE'`) {
		t.Errorf("got %s", got)
	}
}

// A command is printed only if it can help.
func TestExit(t *testing.T) {
	failure := &scheduler.Failure{Info: journal.ErrorInfo{Kind: calls.Provider, Message: "down"}, Err: calls.Errorf(calls.Provider, "down")}
	lost := &scheduler.Failure{Info: journal.ErrorInfo{Kind: calls.Invalid, Message: "lost"}, Err: calls.Errorf(calls.Invalid, "%w", journal.ErrSecretLost)}
	misrendered := &scheduler.Failure{Info: journal.ErrorInfo{Kind: calls.Invalid, Message: "no such key"}, Err: errors.New("no such key")}
	budget := &scheduler.Failure{Info: journal.ErrorInfo{Kind: calls.Budget, Message: "used up"}, Err: calls.Errorf(calls.Budget, "used up")}
	for name, c := range map[string]struct {
		run  *service.Session
		err  error
		code int
		says []string
		not  string
	}{
		"failed":    {&service.Session{ID: "r"}, failure, exitFailed, []string{"down", "resume r"}, "--flow"},
		"budget":    {&service.Session{ID: "r"}, budget, exitFailed, []string{"resume r", "/my flow.yaml'"}, "none"},
		"template":  {&service.Session{ID: "r"}, misrendered, exitFailed, []string{"resume r", "--flow"}, "none"},
		"ephemeral": {&service.Session{ID: "r", Ephemeral: true}, failure, exitFailed, nil, "resume"},
		"secret":    {&service.Session{ID: "r"}, lost, exitFailed, nil, "resume"},
		"refused":   {&service.Session{}, calls.Errorf(calls.Invalid, "no"), exitUsage, nil, "resume"},
		"held":      {&service.Session{}, &journal.HeldError{Run: "r", Holder: &journal.Holder{PID: 7, Host: "h"}}, exitUsage, nil, "resume"},
		"waiting":   {&service.Session{ID: "r"}, &scheduler.Waiting{Run: "r"}, exitWaiting, []string{"resume r"}, "ephemeral"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			c.run.Flow, c.run.State = &flow.Flow{File: "my flow.yaml"}, journal.NewRunState()
			s := &session{app: &app{Terminal: &terminal.Terminal{Stderr: &out}, settings: &config.Settings{StateDir: "s"}}, run: c.run, hasBegun: c.run.ID != ""}
			var code exitError
			if !errors.As(s.exitErrorOf(t.Context(), c.err), &code) || code.code != c.code {
				t.Errorf("got %v", code)
			}
			for _, text := range c.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is not in %s", text, out.String())
				}
			}
			if strings.Contains(out.String(), c.not) {
				t.Errorf("%q is in %s", c.not, out.String())
			}
		})
	}
}
