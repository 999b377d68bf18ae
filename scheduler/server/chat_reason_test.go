package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// serveFlow serves a flow called ends, whose model is slow.
func serveFlow(t *testing.T, flow string, slow llm.Provider) *fixture {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "flows"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "flows", "ends.yaml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	return newFixture(t, dir, slow, nil)
}

// TestChatReason: clients learn that an answer was cut or filtered, and an empty answer counts as one, so the
// run's outputs do not replace it.
func TestChatReason(t *testing.T) {
	const speaks = "llm: slow\nsteps: [{id: a, call: chat, with: {user: hello}, to_user: true, on_error: continue}]\noutputs: {all: '{{ a }}'}\n"
	for name, c := range map[string]struct {
		flow   string
		answer scripted.Answer
		text   string
		reason string
	}{
		"whole":          {speaks, scripted.Answer{Text: "hi"}, "hi", "stop"},
		"cut":            {speaks, scripted.Answer{Text: "half an", FinishReason: "length"}, "half an", "length"},
		"filtered":       {speaks, scripted.Answer{FinishReason: "content_filter"}, "", "content_filter"},
		"a silent model": {strings.Replace(speaks, "outputs: {", "outputs: {reply: nothing to say, ", 1), scripted.Answer{FinishReason: "content_filter"}, "nothing to say", "content_filter"},
		"silent":         {speaks, scripted.Answer{FinishReason: "stop"}, "I have not come to an answer.", "stop"},
		"silent and cut": {"language: zh\n" + speaks, scripted.Answer{FinishReason: "length"}, "我没能得出答案。", "length"},
		"an agent without an answer": {
			"llm: slow\nsteps: [{id: a, call: agent, with: {prompt: hello, max_rounds: 1, tools: {http: [{name: t, description: Looks., with: {url: 'https://example.invalid/'}}]}}, to_user: true}]\n",
			scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "t", Arguments: "{}"}}}, "I have not come to an answer.", "length",
		},
		"nobody was to say": {strings.Replace(speaks, "to_user: true", "to_user: false", 1), scripted.Answer{Text: "hi", FinishReason: "length"}, `"text":"hi"`, "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serveFlow(t, c.flow, scripted.New(c.answer, c.answer, c.answer, c.answer))
			token := f.token("lin", store.RunsWrite)
			r := f.chat(token, "ends", messages("hi"), "")
			text := r.at(said)
			fits := text == c.text || c.text != "" && strings.Contains(text, c.text)
			if !fits || r.at("/choices/0/finish_reason") != c.reason {
				t.Errorf("got %s", r.text)
			}
			stream := f.chat(token, "ends", messages("hi"), `, "stream": true`)
			if !strings.Contains(stream.text, `"finish_reason":"`+c.reason+`"`) {
				t.Errorf("the stream is %s", stream.text)
			}
		})
	}
	t.Run("a step that failed", func(t *testing.T) {
		f := serveFlow(t, speaks, scripted.New(scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 400}}))
		r := f.chat(f.token("lin", store.RunsWrite), "ends", messages("hi"), "")
		if r.status < 400 || !strings.Contains(r.text, "did not answer as it should") {
			t.Errorf("got %d %s", r.status, r.text)
		}
	})
}

// asksAgain returns the clients that repeat a request by themselves after an answer, as their sources have it.
func asksAgain() map[string]func(status int, h http.Header) bool {
	byStatus := func(status int, _ http.Header) bool {
		return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
	}
	return map[string]func(int, http.Header) bool{
		"AI SDK": byStatus, // APICallError.isRetryable
		"SDKs of OpenAI": func(status int, h http.Header) bool { // shouldRetry of npm, option.WithMaxRetries of Go
			switch h.Get("X-Should-Retry") {
			case "true":
				return true
			case "false":
				return false
			}
			return byStatus(status, h)
		},
	}
}

// TestChatFailureInPlainWords: a customer reads in the language of the flow that it failed, with the id of the
// run, and nothing about the error; users who may read the run find it there.
func TestChatFailureInPlainWords(t *testing.T) {
	const secretive = "Post http://10.0.0.7:4000/v1/chat: wrong key sk-zq9"
	steps := "llm: slow\ninputs: {type: object, properties: {question: {type: string}}}\nsteps: [{id: a, call: chat, with: {user: hello}, to_user: true%s}]\n"
	for name, c := range map[string]struct{ flow, want string }{
		"en":        {"language: en\n" + fmt.Sprintf(steps, ""), "A service that I need did not answer as it should, so I could not finish. If it happens again, please give our support this number: "},
		"zh":        {"language: zh\n" + fmt.Sprintf(steps, ""), "我需要的一项服务没有正常响应，所以没能完成。如果再次发生，请把这个编号告诉客服："},
		"continued": {"language: en\n" + fmt.Sprintf(steps, ", on_error: continue"), "A service that I need did not answer"},
		"missing": {
			"language: en\ninputs: {type: object, properties: {question: {type: string}}}\nsteps: [{id: a, call: slot, on_missing: fail, with: {stages: [], current_schema: {type: object, required: [order_no]}}}]\n",
			"Something went wrong here, so I could not finish.",
		},
	} {
		for kind, stream := range map[string]string{"whole": "", "stream": `, "stream": true`} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				f := serveFlow(t, c.flow, scripted.New(scripted.Answer{Error: &llm.Error{Message: secretive, Status: 401}}, scripted.Answer{Error: &llm.Error{Message: secretive, Status: 401}}))
				token := f.token("lin", store.RunsRead, store.RunsWrite)
				r := f.chat(token, "ends", messages("hi"), stream)
				run := append(f.runsOf(token, "failed"), f.runsOf(token, "finished")...)[0]
				if !strings.Contains(r.text, c.want) || !strings.Contains(r.text, run) || r.status >= http.StatusInternalServerError {
					t.Errorf("got %d %s", r.status, r.text)
				}
				if found := regexp.MustCompile(`10\.0|sk-|http|wrong key|/order|order_no|slot`).FindString(r.text); found != "" {
					t.Errorf("the customer reads %q in %s", found, r.text)
				}
				if shown := f.do(token, "GET", "/api/v1/runs/"+run, ""); name != "missing" && !strings.Contains(shown.text, "10.0.0.7") {
					t.Errorf("the run does not tell the error: %s", shown.text)
				}
				_, doc := callTool(t, f.connect(token, eras()[0], nil, nil), "flow_ends", map[string]any{"question": "hi"})
				if text := doc.JSON(); strings.Contains(text, "10.0.0.7") || name != "continued" && !strings.Contains(text, c.want) {
					t.Errorf("MCP tells %s", text)
				}
			})
		}
	}
}

// TestChatWithBrokenFlow: the user of a flow whose file has become invalid reads plain words in its language; the list of flows counts the errors.
func TestChatWithBrokenFlow(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"Chinese", "language: zh\nsteps: [{id: a, call: template, with: {template: x}, to_user: true}]\n", "language: zh\nsteps: [{id: a, call: no-such-call}]\n", "这里出了点问题"},
		{"a language that is gone", "language: zh\nsteps: [{id: a, call: template, with: {template: x}, to_user: true}]\n", "steps: [{id: a, call: no-such-call}]\n", "这里出了点问题"},
		{"English", "language: en\nsteps: [{id: a, call: template, with: {template: x}, to_user: true}]\n", "language: en\nsteps: [{id: a,\n", "Something went wrong here"},
	} {
		f := serveFlow(t, c.before, nil)
		token := f.token("lin", store.RunsRead, store.RunsWrite, store.FlowsRead)
		if r := f.chat(token, "ends", messages("hi"), ""); r.at(said) != "x" {
			t.Fatalf("%s: before, it answers %s", c.name, r.text)
		}
		writeFile(t, filepath.Join(f.dir, "flows", "ends.yaml"), c.after)
		r := f.chat(token, "ends", messages("hi"), "")
		isPlain := !regexp.MustCompile(`no-such-call|ends\.yaml|/flows|steps|call`).MatchString(r.text)
		if !strings.Contains(r.at("/error/message"), c.want) || !isPlain || r.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s", c.name, r.status, r.text)
		}
		if flows := f.do(token, "GET", "/api/v1/flows", ""); !strings.Contains(flows.text, `"file":"ends.yaml","errors":1`) {
			t.Errorf("%s: the list of flows does not count the errors: %s", c.name, flows.text)
		}
	}
}

// TestChatFailedRunIsNotRepeated: a run that failed by itself is run once, whichever client asks and whichever kind of
// error has ended it.
func TestChatFailedRunIsNotRepeated(t *testing.T) {
	const asks = "llm: slow\nsteps: [{id: a, call: chat, with: {user: hello}, to_user: true}]\n"
	flows := map[string]struct {
		flow  string
		error *llm.Error
	}{
		"provider":                   {asks, &llm.Error{Message: "out of order", Status: 500}},
		"provider, busy":             {asks, &llm.Error{Message: "too many requests", Status: 429}},
		"provider, key":              {asks, &llm.Error{Message: "wrong key", Status: 401}},
		"timeout":                    {strings.Replace(asks, "to_user: true", "to_user: true, timeout: 1ns", 1), nil},
		"a step that was to speak":   {strings.Replace(asks, "to_user: true", "to_user: true, on_error: continue", 1), &llm.Error{Message: "out of order", Status: 503}},
		"the flow's own reply to it": {asks + "on_error: sorry\n", &llm.Error{Message: "out of order", Status: 503}},
	}
	for client, again := range asksAgain() {
		for name, c := range flows {
			for kind, stream := range map[string]string{"whole": "", "stream": `, "stream": true`} {
				t.Run(client+"/"+name+"/"+kind, func(t *testing.T) {
					answers := make([]scripted.Answer, 3)
					for i := range answers {
						answers[i] = scripted.Answer{Text: "hi"}
						if c.error != nil {
							answers[i] = scripted.Answer{Error: c.error}
						}
					}
					f := serveFlow(t, c.flow, scripted.New(answers...))
					token := f.token("lin", store.RunsRead, store.RunsWrite)
					var r *reply
					for range 3 {
						r = f.chat(token, "ends", messages("hi"), stream)
						if !again(r.status, r.header) {
							break
						}
					}
					if n := len(f.runsOf(token, "failed")) + len(f.runsOf(token, "finished")); n != 1 {
						t.Errorf("%d runs were carried out; the last answer is %d %s", n, r.status, r.text)
					}
				})
			}
		}
	}
}
