// Package callstest is the conformance suite of any call: run [Run] on a Definition, and it checks everything that
// the engine relies on, for example that the call stops when it is cancelled.
package callstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Now is the time of the clock in every fake Env.
var Now = time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)

// Run checks one call: its description, its schemas, its examples, that it stops when it is cancelled, and that
// Init does no I/O. prepare, if given, may change the Env of every run.
func Run(t *testing.T, def calls.Definition, prepare ...func(*calls.Env)) {
	t.Helper()
	t.Run("info", func(t *testing.T) { checkInfo(t, def) })
	t.Run("schemas", func(t *testing.T) { checkSchemas(t, def) })
	for i, example := range def.Info.Examples {
		name := fmt.Sprintf("example %d", i+1)
		t.Run(name, func(t *testing.T) { checkExample(t, def, example, prepare) })
		t.Run(name+" cancelled", func(t *testing.T) { checkCancel(t, def, example, prepare) })
		t.Run(name+" abandoned", func(t *testing.T) { checkAbandon(t, def, example, prepare) })
		t.Run(name+" init without I/O", func(t *testing.T) { checkPureInit(t, def, example) })
	}
}

func checkInfo(t *testing.T, def calls.Definition) {
	info := def.Info
	if info.Name == "" || strings.Trim(info.Name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		t.Errorf("the name %q is not kebab-case", info.Name)
	}
	if info.Summary.En == "" || info.Summary.Zh == "" {
		t.Errorf("%s needs a summary in en and zh", info.Name)
	}
	if len(info.Examples) == 0 {
		t.Errorf("%s needs an example", info.Name)
	}
	properties, _ := info.Params.Doc().Get("properties")
	for _, name := range info.Literal {
		if _, ok := properties.Get(name); !ok {
			t.Errorf("the literal parameter %q of %s does not exist", name, info.Name)
		}
	}
	for name, property := range properties.Map().All() {
		if doc, _ := property.Get("description"); doc.IsNull() {
			t.Errorf("the parameter %q of %s needs a doc tag", name, info.Name)
		}
	}
}

func checkSchemas(t *testing.T, def calls.Definition) {
	for name, s := range map[string]value.Value{
		"params": def.Info.Params.Doc(), "input": def.Info.Input.Doc(), "output": def.Info.Output.Doc(),
	} {
		if kind, _ := s.Get("type"); kind.JSON() != `"object"` {
			t.Errorf("the %s schema of %s is no object: %s", name, def.Info.Name, s)
		}
	}
	stranger := value.OfMap(value.Pairs("no_such_parameter_anywhere", 1))
	problems := def.Info.Params.Check(stranger)
	if !slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Keyword == "additionalProperties" }) {
		t.Errorf("%s takes unknown parameters: %v", def.Info.Name, problems)
	}
	// The compiler has its say on the other two as well.
	_ = def.Info.Input.Check(stranger)
	_ = def.Info.Output.Check(stranger)
}

func checkExample(t *testing.T, def calls.Definition, example calls.Example, prepare []func(*calls.Env)) {
	call, env := setup(t, def, example, prepare)
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatalf("Init: %v", err)
	}
	if problems := def.Info.Input.Check(input); problems != nil {
		t.Errorf("the input does not fit its schema: %v\n%s", problems, input)
	}
	output, err := CollectOutput(call.Exec(t.Context(), env, input))
	if err != nil {
		t.Fatalf("Exec: %v (%s)", err, calls.HintOf(err))
	}
	if problems := def.Info.Output.Check(output); problems != nil {
		t.Errorf("the output does not fit its schema: %v\n%s", problems, output)
	}
}

// checkCancel runs with a context that is over: the call may finish if it never
// waits, but it must not hang, and an error must say that it was cancelled.
func checkCancel(t *testing.T, def calls.Definition, example calls.Example, prepare []func(*calls.Env)) {
	call, env := setup(t, def, example, prepare)
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatalf("Init: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = CollectOutput(call.Exec(ctx, env, input))
	if err != nil && calls.KindOf(err) != calls.Canceled && !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run fails with kind %s, want %s: %v", calls.KindOf(err), calls.Canceled, err)
	}
	if def.Info.UsesLLM && err == nil {
		t.Error("a cancelled run asked the model all the same")
	}
}

// checkAbandon breaks out of the stream after the first chunk: the sequence must
// not go on yielding (the runtime panics if it does).
func checkAbandon(t *testing.T, def calls.Definition, example calls.Example, prepare []func(*calls.Env)) {
	call, env := setup(t, def, example, prepare)
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatalf("Init: %v", err)
	}
	for _, err := range call.Exec(t.Context(), env, input) {
		if err != nil {
			t.Errorf("Exec: %v", err)
		}
		break
	}
}

// checkPureInit runs Init twice without the files of the example: it must neither miss them nor answer
// differently.
func checkPureInit(t *testing.T, def calls.Definition, example calls.Example) {
	example.Files = nil
	t.Chdir(t.TempDir())
	var inputs [2]value.Value
	for i := range inputs {
		call, env := setup(t, def, example, nil)
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatalf("Init without the example's files: %v", err)
		}
		inputs[i] = input
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("Init wrote %s", left[0].Name())
	}
	if !value.Equal(inputs[0], inputs[1]) {
		t.Errorf("Init gave two inputs for the same parameters:\n%s\n%s", inputs[0], inputs[1])
	}
}

func setup(t *testing.T, def calls.Definition, example calls.Example, prepare []func(*calls.Env)) (calls.CoreCall, *calls.Env) {
	t.Helper()
	params, err := yaml.ParseValue([]byte(example.With))
	if err != nil {
		t.Fatalf("the example is not YAML: %v\n%s", err, example.With)
	}
	if params.IsNull() {
		params = value.OfMap(nil)
	}
	if problems := def.Info.Params.Check(params); problems != nil {
		t.Fatalf("the example does not fit the parameters: %v", problems)
	}
	call, err := def.New(params)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	env := calls.NewEnv()
	env.Dir = t.TempDir()
	env.Clock = func() time.Time { return Now }
	env.LLM = &answers{texts: example.Answers}
	env.Flows = flows{env}
	env.HTTP = mirror{}
	env.Vars = &calls.Vars{}
	if example.Vars != nil {
		vars := *example.Vars
		env.Vars = &vars
	}
	if env.Vars.Now.IsZero() {
		env.Vars.Now = Now
	}
	for path, content := range example.Files {
		path = filepath.Join(env.Dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range prepare {
		p(env)
	}
	return call, env
}

// flows runs no flow: the outputs of a file that exists are its inputs.
type flows struct{ env *calls.Env }

func (f flows) RunFlow(ctx context.Context, path string, inputs value.Value) (value.Value, error) {
	if err := ctx.Err(); err != nil {
		return value.Value{}, err
	}
	if _, err := os.Stat(filepath.Join(f.env.Dir, path)); err != nil {
		return value.Value{}, calls.Errorf(calls.NotFound, "there is no flow: %w", err)
	}
	return inputs, nil
}

// mirror answers every request with JSON that repeats the request.
type mirror struct{}

func (mirror) Do(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
	}
	answer := value.OfMap(value.Pairs("method", req.Method, "url", req.URL.String(), "body", string(body)))
	return &http.Response{
		StatusCode: http.StatusOK, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(answer.JSON())),
	}, nil
}

// CollectOutput drains a stream of chunks and returns the output of the step, by the
// rule of [calls.Chunk].
func CollectOutput(chunks iter.Seq2[calls.Chunk, error]) (value.Value, error) {
	var text strings.Builder
	var data *value.Value
	for chunk, err := range chunks {
		switch {
		case err != nil:
			return value.Value{}, err
		case chunk.Data != nil:
			data = chunk.Data
		case data != nil && chunk.Text != "":
			return value.Value{}, calls.Errorf(calls.Internal, "the call gave text after data")
		default:
			text.WriteString(chunk.Text)
		}
	}
	if data != nil {
		return *data, nil
	}
	return value.OfMap(value.Pairs("text", text.String())), nil
}

// answers is a provider that says the example's answers in order.
type answers struct {
	texts []string
	next  int
}

func (a *answers) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		switch {
		case ctx.Err() != nil:
			yield(llm.Delta{}, ctx.Err())
		case a.next >= len(a.texts):
			yield(llm.Delta{}, &llm.Error{Message: "the example has no further answer"})
		default:
			a.next++
			if yield(llm.Delta{Text: a.texts[a.next-1]}, nil) {
				yield(llm.Delta{FinishReason: "stop", Usage: &llm.Usage{InputTokens: 1, OutputTokens: 1}}, nil)
			}
		}
	}
}
