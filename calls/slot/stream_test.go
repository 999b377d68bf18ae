package slot_test

import (
	"slices"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

// chunks returns the texts that a step streams and its last data, of an answer in pieces.
// It reads no more than so many texts.
func chunks(t *testing.T, toUser bool, texts int) (said []string, data value.Value) {
	t.Helper()
	params := parse(t, `{"stages":["llm"],"current_schema":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}`)
	call, err := slot.Definition().New(params)
	if err != nil {
		t.Fatal(err)
	}
	env := calls.NewEnv()
	env.LLM = scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "<think>a city</think>"}, {Text: "It is: "}, {Text: `{"/city": "Rome"}`}}})
	env.Vars = &calls.Vars{Now: thursday, Step: calls.StepInfo{ID: "place", ToUser: toUser}}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	for chunk, err := range call.Exec(t.Context(), env, input) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Text == "" {
			data = *chunk.Data
			continue
		}
		said = append(said, chunk.Text)
		if len(said) == texts {
			break
		}
	}
	return said, data
}

// A step that talks to the user shows what the model writes as it comes, without its
// thoughts; its output is the data all the same.
func TestTextToUser(t *testing.T) {
	const filled = `{"city":"Rome"}`
	said, data := chunks(t, true, 10)
	if want := []string{"It is: ", `{"/city": "Rome"}`}; !slices.Equal(said, want) {
		t.Errorf("the user reads %q, want %q", said, want)
	}
	if got, _ := data.At("/slot_data"); got.JSON() != filled {
		t.Errorf("filled %s", got.JSON())
	}
	said, data = chunks(t, false, 10)
	if got, _ := data.At("/slot_data"); len(said) > 0 || got.JSON() != filled {
		t.Errorf("a step that does not talk to the user: %q, %s", said, got.JSON())
	}
	said, data = chunks(t, true, 1)
	if len(said) != 1 || !data.IsNull() {
		t.Errorf("after the reader has left: %q, %s", said, data.JSON())
	}
}
