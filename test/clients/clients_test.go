package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

var flows = map[string]string{
	"say.yaml": `name: say
inputs: {type: object, required: [question], properties: {question: {type: string, minLength: 1}}}
steps:
  - {id: first, call: template, with: {template: "You said:"}, to_user: true}
  - {id: answer, call: template, with: {template: "{{ q }}", values: {q: "{{ inputs.question }}"}}, to_user: true}
`,
	"place.yaml": `name: place
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: place
    call: slot
    with: {current_schema: {type: object, required: [city], properties: {city: {type: string, minLength: 3, description: The town}}}, stages: []}
  - {id: say, call: template, with: {template: "in {{ c }}", values: {c: "{{ place.slot_data.city }}"}}, to_user: true}
`,
	"failing.yaml": `name: failing
inputs: {type: object, properties: {question: {type: string}}}
steps: [{id: get, call: http, with: {method: GET, url: "http://127.0.0.1:1/"}, to_user: true}]
`,
}

// serve starts the program in a project, and returns the address of its API and a token.
func serve(t *testing.T) (base, token string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "flows"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range flows {
		if err := os.WriteFile(filepath.Join(dir, "flows", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return serveProject(t, dir)
}

// buildProgram compiles the program once for all tests.
var buildProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "clients-*")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "scheduler")
	build := exec.Command("go", "build", "-o", program, "./cmd/scheduler")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// TestMain removes the program that buildProgram compiled.
func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := buildProgram(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// serveProject starts the program in a project, and returns the address of its API and a token.
func serveProject(t *testing.T, dir string) (base, token string) {
	t.Helper()
	program, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	create := exec.Command(program, "token", "create", "clients", "--user", "lin", "--scopes", "runs:read,runs:write")
	create.Dir = dir
	out, err := create.Output()
	if err != nil {
		t.Fatal(err)
	}
	token = regexp.MustCompile(`sch_\w+_[\w-]+`).FindString(string(out))
	server := exec.Command(program, "serve", "--listen", "127.0.0.1:0")
	server.Dir, server.Stderr = dir, os.Stderr
	lines, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Process.Signal(os.Interrupt), server.Wait()); err != nil {
			t.Error(err)
		}
	})
	link := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		base = link.FindString(scanner.Text())
		if base != "" {
			return base + "/v1", token
		}
	}
	t.Fatal("the server ended before it printed a link")
	return "", ""
}

// TestOpenAI uses the OpenAI-compatible API as the clients of OpenAI do, the one for Go and, if Node is installed,
// the one from npm.
func TestOpenAI(t *testing.T) {
	base, token := serve(t)
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(token), option.WithMaxRetries(0))
	t.Run("models", func(t *testing.T) { testModels(t, client) })
	t.Run("chat", func(t *testing.T) { testChat(t, client) })
	t.Run("stream", func(t *testing.T) { testStream(t, client) })
	t.Run("waiting", func(t *testing.T) { testWaiting(t, client) })
	t.Run("errors", func(t *testing.T) { testErrors(t, client, base) })
	t.Run("node", func(t *testing.T) { testNode(t, base, token) })
}

func testModels(t *testing.T, client openai.Client) {
	var ids []string
	models := client.Models.ListAutoPaging(t.Context())
	for models.Next() {
		ids = append(ids, models.Current().ID)
	}
	if err := models.Err(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ids, " "); got != "failing place say" {
		t.Errorf("the models are %s", got)
	}
	if model, err := client.Models.Get(t.Context(), "say"); err != nil || model.ID != "say" {
		t.Errorf("got %+v, %v", model, err)
	}
	var failure *openai.Error
	if _, err := client.Models.Get(t.Context(), "none"); !errors.As(err, &failure) || failure.StatusCode != http.StatusNotFound {
		t.Errorf("a model that is not there: %v", err)
	}
}

func ask(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

func testChat(t *testing.T, client openai.Client) {
	c, err := client.Chat.Completions.New(t.Context(), ask("say", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Choices) != 1 || c.Choices[0].Message.Content != "You said:\nhello" || c.Choices[0].FinishReason != "stop" || c.Model != "say" {
		t.Errorf("got %s", c.RawJSON())
	}
}

func testStream(t *testing.T, client openai.Client) {
	params := ask("say", "hello")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	sum := openai.ChatCompletionAccumulator{}
	pieces, hasUsage := 0, false
	for stream.Next() {
		chunk := stream.Current()
		if !sum.AddChunk(chunk) {
			t.Errorf("the chunk does not fit those before: %s", chunk.RawJSON())
		}
		hasUsage = chunk.JSON.Usage.Valid()
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			pieces++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(sum.Choices) != 1 || sum.Choices[0].Message.Content != "You said:\nhello" || sum.Choices[0].FinishReason != "stop" || pieces < 2 || !hasUsage {
		t.Errorf("got %d pieces, usage %v: %+v", pieces, hasUsage, sum.Choices)
	}
}

// testWaiting answers the question of a run in the next turn.
func testWaiting(t *testing.T, client openai.Client) {
	params := ask("place", "Where?")
	first, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.Choices[0].Message.Content, "What is the town?") {
		t.Fatalf("got %s", first.RawJSON())
	}
	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(), openai.UserMessage("Hangzhou"))
	second, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if second.Choices[0].Message.Content != "in Hangzhou" || second.ID != first.ID {
		t.Errorf("got %s", second.RawJSON())
	}
}

func testErrors(t *testing.T, client openai.Client, base string) {
	tools := ask("say", "hello")
	tools.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "clock"})}
	stranger := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("sch_none_none"), option.WithMaxRetries(0))
	tests := []struct {
		name        string
		client      openai.Client
		params      openai.ChatCompletionNewParams
		status      int
		kind, param string
	}{
		{"unknown model", client, ask("nothing", "hello"), http.StatusNotFound, "invalid_request_error", "model"},
		{"tools", client, tools, http.StatusBadRequest, "invalid_request_error", "tools"},
		{"no key", stranger, ask("say", "hello"), http.StatusUnauthorized, "authentication_error", ""},
		{"failing", client, ask("failing", "hello"), http.StatusBadRequest, "invalid_request_error", ""},
	}
	for _, test := range tests {
		_, whole := test.client.Chat.Completions.New(t.Context(), test.params)
		stream := test.client.Chat.Completions.NewStreaming(t.Context(), test.params)
		for stream.Next() {
			t.Errorf("%s: the stream has %s", test.name, stream.Current().RawJSON())
		}
		for _, err := range []error{whole, stream.Err()} {
			var e *openai.Error
			if !errors.As(err, &e) {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if e.StatusCode != test.status || e.Type != test.kind || e.Param != test.param || e.Message == "" {
				t.Errorf("%s: %d %s", test.name, e.StatusCode, e.RawJSON())
			}
		}
	}
}

// testNode runs the client of npm.
func testNode(t *testing.T, base, token string) {
	requireNode(t)
	dir := installNode(t)
	cmd := exec.Command("node", "chat.mjs", base, token)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{
		"models": "failing place say", "chat": "You said:\nhello", "stream": "You said:\nhello", "usage": "number",
		"waiting": "in Hangzhou", "unknown": "404 NotFoundError model", "tools": "400 BadRequestError tools", "key": "401 AuthenticationError null",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// requireNode skips a test without Node.
func requireNode(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
}

// installNode returns a directory with the programs of testdata/npm and the client of npm.
func installNode(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "npm"))); err != nil {
		t.Fatal(err)
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}
