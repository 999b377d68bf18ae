package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm/value"
)

// asking is a flow that lacks a value.
const asking = `name: asking
description: Ask for a town.
steps:
  - {id: place, call: slot, with: {current_schema: {type: object, required: [city], properties: {city: {type: string, minLength: 1}}}, stages: []}}
outputs: {city: "{{ place.slot_data.city }}", user: "{{ run.user }}"}
`

// stdioClient connects a client to scheduler mcp in a project; end ends it and returns the
// exit code.
func stdioClient(t *testing.T, era string, elicit func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error), args ...string) (s *sdk.ClientSession, end func() int) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(".") // the program goes into the project
	for name, text := range map[string]string{"scheduler.yaml": "llm: {default: echo}\nserve: {mcp: {calls: [template]}}\n", "flows/asking.yaml": asking} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	stderr, code := &bytes.Buffer{}, make(chan int, 1)
	go func() {
		code <- runProgram(append([]string{"mcp", "--project", dir}, args...), in, out, stderr)
		_ = out.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}, ElicitationHandler: elicit})
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("the client speaks %s", got)
	}
	return s, func() int {
		_ = s.Close()
		c := <-code
		if stderr.Len() > 0 {
			t.Logf("stderr: %s", stderr)
		}
		return c
	}
}

// TestMCPOverStdio: the tools work in a project without a server, for clients of both eras.
func TestMCPOverStdio(t *testing.T) {
	for _, era := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			asked := ""
			s, end := stdioClient(t, era, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked = r.Params.Message
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"city": "Hangzhou"}}, nil
			}, "--user", "lin")
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 3 || tools.Tools[1].Description != "Ask for a town." {
				t.Errorf("the tools are %s, %v", value.Must(tools).JSON(), err)
			}
			result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "flow_asking"})
			if err != nil {
				t.Fatal(err)
			}
			doc := value.Must(result.StructuredContent)
			outputs, _ := doc.Get("outputs")
			if outputs.JSON() != `{"city":"Hangzhou","user":"lin"}` || !strings.Contains(asked, "city") {
				t.Errorf("asked %q: %s", asked, doc.JSON())
			}
			run, _ := doc.Get("run")
			id, _ := run.Str()
			read, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "run://" + id})
			if err != nil || !strings.Contains(read.Contents[0].Text, `"state":"finished"`) {
				t.Errorf("the run is %s, %v", value.Must(read).JSON(), err)
			}
			if code := end(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestMCPInputEnds writes requests and ends the output at once: all are answered, even a run that asks the user,
// who gets no question.
func TestMCPInputEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "flows"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "flows", "asking.yaml"), asking)
	t.Chdir(".") // the program goes into the project
	requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"flow_asking","arguments":{}}}
{"jsonrpc":"2.0","id":4,"method":"no/such"}
`
	var stdout, stderr bytes.Buffer
	if code := runProgram([]string{"mcp", "--project", dir}, strings.NewReader(requests), &stdout, &stderr); code != exitDone {
		t.Errorf("exit status %d: %s", code, &stderr)
	}
	answered := map[int]string{}
	for line := range strings.Lines(stdout.String()) {
		var answer struct {
			ID     int
			Method string
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Method == "" {
			answered[answer.ID] = line
		}
	}
	for id, want := range map[int]string{1: "serverInfo", 2: "flow_asking", 3: `\"state\":\"waiting\"`, 4: "error"} {
		if !strings.Contains(answered[id], want) {
			t.Errorf("request %d: got %q, want %s", id, answered[id], want)
		}
	}
}
