package memory_test

import (
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
)

// A user of white space only is like none: a template has rendered to nothing.
func TestCheckScope(t *testing.T) {
	for user, ok := range map[string]bool{"": false, " \t\n": false, "ann\xff": false, "ann": true, "安 妮": true} {
		vars := &calls.Vars{Scope: calls.Scope{User: user}}
		vars.Run.ID = "run"
		if err := memory.CheckScope(vars); (err == nil) != ok || err != nil && calls.KindOf(err) != calls.Invalid {
			t.Errorf("the user %q: %v", user, err)
		}
	}
}
