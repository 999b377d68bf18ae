package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
)

// A user of white space only counts as none: for example a template has rendered to nothing.
func TestCheckScope(t *testing.T) {
	for user, ok := range map[string]bool{"": false, " \t\n": false, "ann\xff": false, "ann\tb": false, "ann\nb": false, "ann": true, "安 妮": true} {
		for _, run := range []string{"run", ""} {
			vars := &calls.Vars{Scope: calls.Scope{User: user}, Run: calls.Run{ID: run}}
			if err := memory.CheckScope(vars); (err == nil) != ok || err != nil && calls.KindOf(err) != calls.Invalid {
				t.Errorf("the user %q in run %q: %v", user, run, err)
			}
			mayBeNone := run == "" && strings.TrimSpace(user) == "" && !strings.ContainsAny(user, "\t\n")
			if err := memory.CheckScopeOfSave(vars); (err == nil) != (ok || mayBeNone) {
				t.Errorf("saving for the user %q in run %q: %v", user, run, err)
			}
		}
	}
}

// The same holds for a session: nothing could name it later.
func TestCheckScopeOfSession(t *testing.T) {
	for session, ok := range map[string]bool{"": true, "main": true, "第 一": true, "a\nb": false, "a\x00": false} {
		if err := memory.CheckScope(&calls.Vars{Scope: calls.Scope{User: "ann", Session: session}}); (err == nil) != ok {
			t.Errorf("the session %q: %v", session, err)
		}
	}
}

// No memory is stored under a name that no command line could give.
func TestNormalizeNames(t *testing.T) {
	for _, c := range []memory.Context{{UserID: "a\nb"}, {UserID: "ann", SessionID: "s\x1b[31m"}, {UserID: "ann\u0085"}} {
		m := memory.BaseMemory{Content: "x", Context: c}
		if err := m.Normalize(time.Now()); calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), "control character") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
