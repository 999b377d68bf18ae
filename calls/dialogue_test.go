package calls_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// remembering is a memory that has the turns of one session.
type remembering struct {
	turns []plugins.Turn
	err   error
}

func (m remembering) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) {
	return m.turns, m.err
}

func (remembering) Retrieve(context.Context, calls.Scope, string, int) ([]plugins.Recalled, error) {
	return nil, nil
}

func conversation(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The conversation of the caller wins over the memory: never both.
func TestDialogue(t *testing.T) {
	env := calls.NewEnv()
	env.Memory = remembering{turns: []plugins.Turn{{ID: "M1", Role: "user", Content: "remembered"}}}
	d := env.Dialogue(t.Context(), "")
	o := d.Origin(0, "/content")
	if !d.IsRemembered() || len(d.Messages) != 1 || o.Kind != calls.OriginMemory || o.Name != "M1" {
		t.Errorf("without a conversation: %+v, %+v", d, o)
	}
	env.Vars.Conversation = conversation(t, `[{"role": "user", "content": [{"type": "text", "text": "sent"}, {"type": "image_url"}]}, {"role": "assistant", "content": null, "tool_calls": [{}]}]`)
	d = env.Dialogue(t.Context(), "")
	o = d.Origin(1, "/tool_calls")
	if d.IsRemembered() || len(d.Messages) != 2 || o.Kind != calls.OriginConversation || o.Pointer != "/1/tool_calls" {
		t.Errorf("with a conversation: %+v, %+v", d, o)
	}
	if turns, at := d.AsTurns(); !slices.Equal(at, []int{0}) || !slices.Equal(turns, []plugins.Turn{{Role: "user", Content: "sent"}}) {
		t.Errorf("as turns: %+v", turns)
	}
	env.Vars.Conversation = value.Value{}
	env.Memory = remembering{err: errors.New("the disk is gone")}
	if d = env.Dialogue(t.Context(), ""); d.Err == nil || len(d.Messages) > 0 {
		t.Errorf("with a memory that fails: %+v", d)
	}
}

// TestDialogueWithoutSaved: text of the user that the run itself has saved is not read as an earlier message.
func TestDialogueWithoutSaved(t *testing.T) {
	began := time.Date(2026, 3, 5, 9, 0, 0, 123_456_789, time.UTC)
	saved := began.Truncate(time.Millisecond) // as a store has it
	for _, c := range []struct {
		name  string
		turns []plugins.Turn
		next  string
		want  string
	}{
		{"saved by the run", []plugins.Turn{{Role: "user", Content: "Hi", Timestamp: saved.Add(-time.Hour)}, {Role: "user", Content: "Where?", Timestamp: saved}}, "Where?", "Hi"},
		{"saved, then a draft", []plugins.Turn{{Role: "user", Content: "Where?", Timestamp: saved}, {Role: "assistant", Content: "Lyon", Timestamp: saved}}, "Where?", "Lyon"},
		{"the same before", []plugins.Turn{{Role: "user", Content: "Where?", Timestamp: saved.Add(-time.Hour)}}, "Where?", "Where?"},
		{"other words", []plugins.Turn{{Role: "user", Content: "Where?", Timestamp: saved}}, "When?", "Where?"},
		{"nothing goes on", []plugins.Turn{{Role: "user", Content: "Where?", Timestamp: saved}}, "", "Where?"},
		{"the assistant's", []plugins.Turn{{Role: "assistant", Content: "Where?", Timestamp: saved}}, "Where?", "Where?"},
	} {
		env := calls.NewEnv()
		env.Vars.Run.StartedAt = began
		env.Memory = remembering{turns: c.turns}
		var got []string
		for _, m := range env.Dialogue(t.Context(), c.next).Messages {
			got = append(got, calls.MessageText(m))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Messages from outside are refused with their place.
func TestCheckConversation(t *testing.T) {
	for _, text := range []string{
		`null`, `[]`, `[{"role": "user", "content": "Hi", "name": "Lin"}, {"role": "developer", "content": ""}]`,
		`[{"role": "assistant", "content": null, "tool_calls": [{"id": "a"}]}, {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "4"}]}]`,
	} {
		if err := calls.CheckConversation(conversation(t, text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`{"role": "user"}`: "conversation is object, not a list of messages",
		`["Hi"]`:           "conversation[0]: it is string, not a message {role, content}",
		`[{"role": "user", "content": "Hi"}, {"content": "Hi"}]`: `conversation[1]: its role is null (use system, user, assistant or tool)`,
		`[{"role": "robot", "content": "Hi"}]`:                   `conversation[0]: its role is "robot" (use`,
		`[{"role": "tool", "content": "4"}]`:                     "conversation[0]: its tool_call_id is null: a result names the call that it answers",
		`[{"role": "user", "content": null}]`:                    "conversation[0]: its content is null, not a text or a list of parts",
		`[{"role": "user", "content": []}]`:                      "conversation[0]: its content is array",
		`[{"role": "user", "content": ["Hi"]}]`:                  "conversation[0]: content[0]: it is not a part {type: text, text: Hello}",
		`[{"role": "user", "content": [{"type": "text"}]}]`:      "conversation[0]: content[0]: its text is null",
	} {
		err := calls.CheckConversation(conversation(t, text))
		if calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	message := value.OfMap(value.Pairs("role", "user", "content", strings.Repeat("x", 5000)))
	many := make([]value.Value, calls.MaxConversationMessages+1)
	for i := range many {
		many[i] = message
	}
	for n, want := range map[int]string{len(many): "2001 messages", len(many) - 1: "bytes"} {
		err := calls.CheckConversation(value.OfList(many[:n]...))
		if calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), want) || calls.HintOf(err) == "" {
			t.Errorf("%d messages: %v", n, err)
		}
	}
}
