package main

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wildAnswers are answers of real servers that bend their protocol, in test/wild/answers: the streams of a folder
// answer the requests of one run, and want describes the run's expected result.
var wildAnswers = map[string]struct {
	step string // the step of the flow; w.yaml of the folder if it is ""
	code int
	out  string // in the output of the run
	err  string // in the text output
	sent string // in the last request
	kind string // the type of the provider; openai if it is ""
	show string // the step to explain
}{
	"agent-reasoning-content": {show: "a", out: "I need the tool.", sent: `"reasoning_content":"I need the tool."`},
	"agent-response-items": {
		kind: "openai-responses", show: "a", out: `"encrypted_content":"(13 bytes)"`,
		sent: `{"encrypted_content":"gAAAAABsealed","summary":[],"type":"reasoning"},{"arguments":"{\"template\":\"x\"}","call_id":"c1","name":"w","type":"function_call"}`,
	},
	"emoji-in-two-chunks":    {step: chatStep, out: `"text":"😀"`},
	"emoji-in-arguments":     {step: chatStep, out: `"arguments":"{\"x\":\"😀\"}"}}],"usage":{"input_tokens":0,"output_tokens":0},"finish_reason":"tool_calls","provider":"main","reasoning":"😀"`},
	"finish-abort":           {step: chatStep, code: exitFailed, err: "the server broke the answer off: abort"},
	"finish-error":           {step: chatStep, code: exitFailed, err: "the server broke the answer off: error"},
	"finish-error-in-choice": {step: chatStep, code: exitFailed, err: "Provider disconnected"},
	"finish-max-tokens":      {step: chatStep, out: `"finish_reason":"length"`, err: "the answer was cut at the limit of tokens"},
	"finish-network-error":   {step: chatStep, code: exitFailed, err: "the server broke the answer off: network_error"},
	"finish-sensitive":       {step: chatStep, out: `"finish_reason":"content_filter"`, err: "the vendor's content filter cut the answer"},
	"finish-unknown":         {step: chatStep, out: `"finish_reason":"tired"`, err: `the answer ended with the unknown reason "tired"`},
	"refusal-text":           {step: chatStep, out: `"text":"I cannot help."`, err: "the model refused to answer: I cannot help."},
	"refusal-with-schema":    {step: "chat, with: {user: hi, response_schema: {type: object}}", code: exitFailed, err: "the model refused to answer: I cannot help."},
	"usage-as-floats":        {step: chatStep, out: `"usage":{"input_tokens":7,"output_tokens":5}`},
}

const chatStep = "chat, with: {user: hi}"

func TestWildAnswers(t *testing.T) {
	const root = "../../test/wild/answers"
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if _, ok := wildAnswers[folder.Name()]; !ok {
			t.Errorf("test/wild/answers/%s has no entry here", folder.Name())
		}
	}
	for name, want := range wildAnswers {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			var sent string
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // a truncated body does not have the text looked for
				sent = string(body)
				file := []string{"first.sse", "then.sse"}[min(requests, 1)]
				requests++
				w.Header().Set("Content-Type", "text/event-stream")
				http.ServeFile(w, r, filepath.Join(dir, file))
			}))
			defer server.Close()
			t.Chdir(t.TempDir())
			flow := filepath.Join(dir, "w.yaml")
			if want.step != "" {
				flow = "w.yaml"
				writeFile(t, flow, "name: w\nsteps: [{id: a, call: "+want.step+"}]\noutputs: {a: \"{{ a }}\"}\n")
			}
			writeFile(t, "scheduler.yaml", "llm: {default: main, mode: live, providers: [{name: main, type: "+cmp.Or(want.kind, "openai")+", base_url: \""+server.URL+"/v1\", model: m, max_retries: 0}]}\n")
			args := []string{"run", flow, "--ephemeral", "--outputs"}
			if want.show != "" {
				args = []string{"run", flow, "--ephemeral", "--explain", want.show}
			}
			var out, problems bytes.Buffer
			code := runProgram(args, strings.NewReader(""), &out, &problems)
			compact := strings.ReplaceAll(strings.ReplaceAll(out.String(), "\n", ""), "  ", "")
			compact = strings.ReplaceAll(compact, `": `, `":`)
			if code != want.code || !strings.Contains(compact, want.out) || !strings.Contains(problems.String(), want.err) || !strings.Contains(sent, want.sent) {
				t.Errorf("code %d\n%s\n%s\nthe last request: %s", code, compact, problems.String(), sent)
			}
		})
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
