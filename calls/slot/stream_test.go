package slot_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

// chunks returns the texts that a step streams and its last data. It reads no more than so
// many texts.
func chunks(t *testing.T, toUser bool, texts int, params string, answers ...scripted.Answer) (said []string, data value.Value) {
	t.Helper()
	call, err := slot.Definition().New(parse(t, params))
	if err != nil {
		t.Fatal(err)
	}
	env := calls.NewEnv()
	env.LLM = scripted.New(answers...)
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

// pieces returns an answer that comes in these pieces of text.
func pieces(texts ...string) (a scripted.Answer) {
	for _, text := range texts {
		a.Deltas = append(a.Deltas, llm.Delta{Text: text})
	}
	return a
}

// arguments returns an answer with a tool call whose arguments come in these pieces.
func arguments(texts ...string) (a scripted.Answer) {
	for i, text := range texts {
		call := llm.ToolCallDelta{Arguments: text}
		if i == 0 {
			call.ID, call.Name = "c1", "fill_arguments"
		}
		a.Deltas = append(a.Deltas, llm.Delta{ToolCalls: []llm.ToolCallDelta{call}})
	}
	return a
}

// A step that talks to the user streams the data that are filled, each member once it is known.
// The pieces, joined, are the JSON of the output's slot_data.
func TestFilledText(t *testing.T) {
	const (
		two   = `"current_schema":{"type":"object","required":["city","days"],"properties":{"city":{"type":"string"},"days":{"type":"integer"},"unit":{"type":"string"}}}`
		union = `"current_schema":{"type":"object","oneOf":[{"required":["a"]},{"required":["b","c"]}],"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}}}`
	)
	tests := []struct {
		name    string
		params  string
		answers []scripted.Answer
		want    []string
	}{
		{
			name: "an answer in words, piece by piece", params: `{"stages":["llm"],"data":{"unit":"C"},` + two + `}`,
			answers: []scripted.Answer{pieces("<think>a city</think>", "```json\n{\"/ci", "ty\": \"Ro", "me\", \"/days\"", ": \"3\"", "}\n```")},
			want:    []string{`{"unit":"C"`, `,"city":"Rome"`, `,"days":3`, `}`},
		},
		{
			name: "words before the answer", params: `{"stages":["llm"],` + two + `}`,
			answers: []scripted.Answer{pieces("It is: ", `{"/city": "Rome", `, `"/days": 3}`)},
			want:    []string{`{"city":"Rome"`, `,"days":3`, `}`},
		},
		{
			name: "both stages", params: `{` + two + `}`,
			answers: []scripted.Answer{pieces(`{"/days": "a few", "/city": "Rome"}`), arguments(`{"/da`, `ys": 3`, `}`)},
			want:    []string{`{"city":"Rome"`, `,"days":3`, `}`},
		},
		{
			name: "wrong values come last", params: `{"stages":["default"],"data":{"city":5,"days":3},` + two + `}`,
			want: []string{`{"days":3`, `,"city":5`, `}`},
		},
		{
			name: "nothing is known", params: `{"stages":["llm"],` + two + `}`,
			answers: []scripted.Answer{pieces("no idea")},
		},
		{
			name: "a union is told when a branch fits", params: `{"stages":["function"],` + union + `}`,
			answers: []scripted.Answer{arguments(`{"": {"b": "1"`, `, "c": "2"}}`)},
			want:    []string{`{"b":"1"`, `,"c":"2"`, `}`},
		},
		{
			name: "an answer that corrects itself", params: `{"stages":["llm"],` + two + `}`,
			answers: []scripted.Answer{pieces(`{"/city": "Rome", `, `"/days": 3, "/city": "Paris"}`)},
			want:    []string{`{"city":"Rome"`, `,"days":3`, "}\n" + `{"city":"Paris","days":3}`},
		},
		{
			name: "no object", params: `{"stages":["llm"],"current_schema":{"type":"integer"}}`,
			answers: []scripted.Answer{pieces("7")},
			want:    []string{"7"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said, data := chunks(t, true, 99, tt.params, tt.answers...)
			if !slices.Equal(said, tt.want) {
				t.Errorf("the user reads %q, want %q", said, tt.want)
			}
			filled, _ := data.At("/slot_data")
			if said == nil {
				return // an empty object is not said
			}
			lines := strings.Split(strings.Join(said, ""), "\n")
			if told := parse(t, lines[len(lines)-1]); !value.Equal(told, filled) {
				t.Errorf("the user reads %s, filled is %s", told, filled)
			}
			said, again := chunks(t, false, 99, tt.params, tt.answers...)
			if len(said) > 0 || !value.Equal(again, data) {
				t.Errorf("a step that does not talk to the user says %q and gives %s, want %s", said, again, data)
			}
		})
	}
}

// Once the reader has left, the call ends without an output.
func TestFilledTextAbandoned(t *testing.T) {
	const params = `{"stages":["llm"],"current_schema":{"type":"object","required":["city","days"],"properties":{"city":{"type":"string"},"days":{"type":"integer"}}}}`
	for texts := 1; texts <= 3; texts++ {
		said, data := chunks(t, true, texts, params, pieces(`{"/city": "Rome", `, `"/days": 3}`))
		if len(said) != texts || !data.IsNull() {
			t.Errorf("after %d texts: %q, %s", texts, said, data)
		}
	}
}
