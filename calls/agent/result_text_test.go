package agent

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestResultText checks the text of an output that the model reads.
func TestResultText(t *testing.T) {
	ask := toolPlan{call: callHTTP, resultHeaders: []string{"Retry-After", "x-none"}}
	for _, c := range []struct {
		plan   toolPlan
		output string
		want   string
	}{
		{toolPlan{call: callHTTP}, `{"status": 200, "headers": {"set-cookie": "id=1"}, "body": {"b": 1, "a": [1.50]}}`, `{"b":1,"a":[1.50]}`},
		{toolPlan{call: callHTTP}, `{"status": 201, "headers": {}, "body": "as it\n is"}`, "as it\n is"},
		{toolPlan{call: callHTTP}, `{"status": 204, "headers": {}, "body": null}`, "null"},
		{toolPlan{call: callHTTP}, `{"status": 404, "headers": {"retry-after": "3"}, "body": "no such city"}`, `{"status":404,"reason":"Not Found","body":"no such city"}`},
		{ask, `{"status": 200, "headers": {"retry-after": "3", "set-cookie": "id=1"}, "body": [1]}`, `{"headers":{"Retry-After":"3"},"body":[1]}`},
		{ask, `{"status": 200, "headers": {}, "body": [1]}`, `[1]`},
		{toolPlan{call: "mcp.q.look"}, `{"text": "look", "content": [{"type": "image", "mimeType": "image/png", "data": "AAAAAA=="}]}`, "look\n[image/png, 4 bytes]"},
		{toolPlan{call: "mcp.q.look"}, `{"text": "{\"n\": 1}", "data": {"n": 1}}`, `{"n": 1}`},
		{toolPlan{call: "mcp.q.look"}, `{"text": "one", "data": {"n": 1}, "content": [{"type": "chart", "points": [1]}]}`, "one\n{\"n\":1}\n[chart]"},
		{toolPlan{call: "mcp.q.look"}, `{"text": "", "content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "the text"}}, {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "application/pdf", "blob": "AAAA"}},
			{"type": "resource_link", "name": "plan", "uri": "file:///c"}]}`, "the text\n[file:///b, application/pdf, 3 bytes]\n[plan, file:///c]"},
		{toolPlan{call: "weather"}, `{"text": "sunny"}`, "sunny"},
		{toolPlan{call: "weather"}, `{"text": "sunny", "n": 1}`, `{"text":"sunny","n":1}`},
	} {
		output, err := value.ParseJSON([]byte(c.output))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.plan.resultText(output); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.plan.call, c.output, got, c.want)
		}
	}
}
