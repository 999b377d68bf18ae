package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// drawItem returns an item of an answer, and the item of the input that it must come back as;
// nil for one that is left out.
func drawItem(t *rapid.T, i int) (item string, back any) {
	text := rapid.StringMatching(`[ab 好😀"]{0,4}`).Draw(t, "text")
	phase := rapid.SampledFrom([]string{"", "commentary", "final_answer"}).Draw(t, "phase")
	quoted := string(endpoint.MustEncode(text))
	switch rapid.SampledFrom([]string{messageType, callType, reasoningType, "web_search_call", "bare thought"}).Draw(t, "type") {
	case messageType:
		item = `{"type":"message","id":"m","phase":"` + phase + `","content":[{"type":"output_text","text":` + quoted + `}]}`
		if text == "" {
			return item, nil
		}
		return item, messageItem("assistant", textParts("output_text", text), phase)
	case callType:
		arguments := string(endpoint.MustEncode(map[string]string{"x": text}))
		call := toolCall{ID: fmt.Sprintf("c%d", i)}
		call.Function.Name, call.Function.Arguments = "f", arguments
		return `{"type":"function_call","id":"fc","call_id":"` + call.ID + `","name":"f","arguments":` + string(endpoint.MustEncode(arguments)) + `}`, callItem(call)
	case reasoningType:
		return `{"type":"reasoning","id":"rs","summary":[],"encrypted_content":` + quoted + `}`, map[string]any{"type": "reasoning", "summary": []any{}, "encrypted_content": text}
	case "web_search_call":
		return `{"type":"web_search_call","id":"ws","query":` + quoted + `}`, map[string]any{"type": "web_search_call", "id": "ws", "query": text}
	}
	return `{"type":"reasoning","id":"rs","summary":[]}`, nil
}

// Any answer, put into an assistant message and sent again, keeps its items in their order,
// up to thoughts at its end.
func TestItemsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var output []string
		var want []any
		for i := range rapid.IntRange(0, 6).Draw(t, "n") {
			item, back := drawItem(t, i)
			output = append(output, item)
			if back != nil {
				want = append(want, back)
			}
		}
		for len(want) > 0 && typeOf(t, want[len(want)-1]) == reasoningType {
			want = want[:len(want)-1]
		}
		answer := answerOf(t, `{"object":"response","status":"completed","output":[`+strings.Join(output, ",")+`]}`)
		m := message{Role: "assistant", Content: endpoint.MustEncode(answer.Text)}
		for _, call := range answer.ToolCalls {
			c := toolCall{ID: call.ID}
			c.Function.Name, c.Function.Arguments = call.Name, call.Arguments
			m.ToolCalls = append(m.ToolCalls, c)
		}
		if raw := answer.Extra[itemsMember]; raw != nil {
			if err := json.Unmarshal(raw, &m.Items); err != nil {
				t.Fatal(err)
			}
		}
		got, err := m.translate()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(generic(t, want), generic(t, got)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func typeOf(t *rapid.T, item any) any {
	var members struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(endpoint.MustEncode(item), &members); err != nil {
		t.Fatal(err)
	}
	return members.Type
}

// generic returns x as JSON decodes it.
func generic(t *rapid.T, x []any) (v []any) {
	if err := json.Unmarshal(endpoint.MustEncode(x), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func answerOf(t *rapid.T, body string) llm.Answer {
	p, err := New(Config{Transport: transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llm.Collect(p.Chat(t.Context(), &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "x")}}))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzResponse checks that any body gives an answer or an error of this program.
func FuzzResponse(f *testing.F) {
	f.Add("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}\n\n")
	f.Add("data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"a\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n")
	f.Add(`{"object":"response","output":[{"type":"message","content":[{}]},{"type":"reasoning","summary":[{}]},null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := New(Config{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		_, err = llm.Collect(p.Chat(t.Context(), &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "x")}}))
		var e *llm.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("got error %v (%T)", err, err)
		}
	})
}
