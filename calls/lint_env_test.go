package calls_test

import (
	"testing"

	"github.com/callnode/scheduler/calls"
)

// A model's tool has computed values at the pointers of its own parameters, and the model gives others.
func TestLintEnvOfTool(t *testing.T) {
	env := calls.LintEnv{Computed: []string{"/prompt", "/tools/calls/0/with/limit", "/tools/calls/1/with/a/b"}}
	if !env.IsComputed("/prompt") || !env.IsComputed("/tools") || !env.IsComputed("/prompt/x") || env.IsComputed("/pro") || env.IsOpen {
		t.Error(env)
	}
	tool := env.OfTool("/tools/calls/0/with")
	if !tool.IsComputed("/limit") || tool.IsComputed("/a/b") || tool.IsComputed("/prompt") || !tool.IsOpen {
		t.Error(tool)
	}
}
