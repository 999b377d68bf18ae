package scheduler_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

func talkedBefore(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A run that is resumed has the conversation that it began with. A secret in it is masked from the
// first step on, so that both send the same.
func TestConversationOfResumedRun(t *testing.T) {
	store := memory.New(nil)
	before := talkedBefore(t, `[{"role": "user", "content": "my key is hunter+2+secret"}]`)
	r := schedulertest.Run(t, `
steps:
  - {id: first, call: say, with: {text: "{{ conversation[0].content }}{{ '' if secrets.KEY else '' }}"}}
  - {id: broken, call: fail, with: {kind: provider, message: "{{ conversation | length }}: {{ conversation[0].content }}"}}
`, schedulertest.Secret("KEY", "hunter+2+secret"), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal, e.Conversation = store, before }))
	if r.Err == nil || !strings.Contains(r.Log(), "my key is ***") || strings.Contains(r.Log(), "hunter") {
		t.Errorf("%v\n%s", r.Err, r.Log())
	}
	if again := r.Resume(scheduler.Resumption{}); again.Err == nil || !strings.Contains(again.Err.Error(), "1: my key is ***") {
		t.Errorf("resumed: %v", again.Err)
	}
	header, err := store.Header(t.Context(), "run-1")
	if err != nil || !strings.Contains(header.Conversation.JSON(), "my key is ***") {
		t.Errorf("the journal has %s, %v", header.Conversation, err)
	}
}

// A conversation that is none is refused before the first event.
func TestInvalidConversation(t *testing.T) {
	r := schedulertest.Run(t, `steps: [{id: a, call: say, with: {text: x}}]`,
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Conversation = talkedBefore(t, `[{"role": "robot"}]`) }))
	if calls.KindOf(r.Err) != calls.Invalid || len(r.Events) > 0 {
		t.Errorf("got %v after %d events", r.Err, len(r.Events))
	}
}
