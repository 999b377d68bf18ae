package scheduler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/test/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun runs every flow of testdata/run, one step at a time, and compares its events with the events written
// there.
func TestRun(t *testing.T) {
	files, err := filepath.Glob("testdata/run/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no flows", err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runGolden(t, archive)
			if golden.Updating() {
				setFile(archive, "events", got)
				golden.Write(t, path, string(txtar.Format(archive)))
			}
			if diff := cmp.Diff(string(content(archive, "events")), got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func content(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func setFile(a *txtar.Archive, name, content string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(content)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(content)})
}

func runGolden(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	options := []schedulertest.Option{
		schedulertest.With(testCalls()...),
		schedulertest.Secret("OTHER", "secret number two"),
		schedulertest.Secret("KEY", "s3cret"),
		schedulertest.LLM(scripted.New(answers(t, content(a, "answers"))...)),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.MaxParallel = 1 }),
		schedulertest.Resolver(resolver{}, "x", "y", "missing"),
		schedulertest.Resolver(other{}, "z", "broken"),
	}
	if inputs := content(a, "inputs.json"); inputs != nil {
		options = append(options, schedulertest.Inputs(string(inputs)))
	}
	resumes := content(a, "resume")
	if resumes != nil {
		options = append(options, journaled(t))
	}
	r := schedulertest.Run(t, string(txtar.Format(a)), options...)
	log := goldenLog(r)
	for line := range bytes.Lines(resumes) {
		r = r.Resume(scheduler.Resumption{}, strings.Fields(string(line))...)
		log += "> resume " + string(line) + goldenLog(r)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(log, dir+"/", "")
}

func goldenLog(r *schedulertest.Result) string {
	log := r.Log()
	if r.Err != nil {
		log += "error: " + r.Err.Error() + "\n"
	}
	if len(r.Slept) > 0 {
		log += fmt.Sprintln("waited:", r.Slept)
	}
	return log
}

// answers returns the answers of the model: one JSON object a line.
func answers(t *testing.T, lines []byte) []scripted.Answer {
	t.Helper()
	var list []scripted.Answer
	for line := range bytes.Lines(lines) {
		var a struct {
			Text  string
			Usage *llm.Usage
		}
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		list = append(list, scripted.Answer{Text: a.Text, Usage: a.Usage})
	}
	return list
}

// resolver gives each variable its name and the number of the batch.
type resolver struct{}

func (resolver) Resolve(_ context.Context, _ plugins.State, names []string) (map[string]json.RawMessage, error) {
	found := map[string]json.RawMessage{}
	for _, name := range names {
		if name != "missing" {
			found[name] = json.RawMessage(fmt.Sprintf("%q", name+fmt.Sprint(len(names))))
		}
	}
	return found, nil
}

// other is a second resolver.
type other struct{}

func (other) Resolve(ctx context.Context, state plugins.State, names []string) (map[string]json.RawMessage, error) {
	if names[0] == "broken" {
		return nil, errors.New("no connection")
	}
	return resolver{}.Resolve(ctx, state, names)
}

// providing returns a call whose output has the built-in name that it is called by.
func providing(name string, do func(context.Context, *calls.Env, value.Value) (any, error)) calls.Definition {
	def := schedulertest.Do(name, do)
	def.Info.Provides = name
	return def
}

// testCalls returns fakes that schedulertest lacks.
func testCalls() []calls.Definition {
	type typedParams = typedCall
	echo := func(_ context.Context, _ *calls.Env, params value.Value) (any, error) { return params, nil }
	return []calls.Definition{
		flaky(),
		calls.Define[typedParams, typedIO, typedIO](calls.Info{Name: "typed"}),
		schedulertest.Call("pieces", pieces),
		providing("summary", echo),
		providing("facts", echo),
		schedulertest.Do("seen", seen),
		schedulertest.Do("unlock", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) {
			if key, _ := params.Get("key"); key.JSON() != `"s3cret"` {
				return nil, calls.Errorf(calls.Invalid, "%s is not the key", key)
			}
			return params, nil
		}),
		panicking(),
		slot.Definition(),
		schedulertest.Do("flow", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
			path, _ := params.Get("path")
			file, _ := path.Str()
			inputs, _ := params.Get("inputs")
			return env.Flows.RunFlow(ctx, file, inputs)
		}),
	}
}

// flaky fails as often as its parameters say, then succeeds.
func flaky() calls.Definition {
	var mu sync.Mutex
	failed := map[string]int64{}
	return schedulertest.Call("flaky", func(_ context.Context, env *calls.Env, params value.Value) iter.Seq2[calls.Chunk, error] {
		return func(yield func(calls.Chunk, error) bool) {
			key := env.Vars.Step.ID
			if i := env.Vars.Step.Index; i != nil {
				key += fmt.Sprint(*i)
			}
			v, _ := params.Get("fails")
			want, _ := v.Int()
			kind, _ := params.Get("kind")
			name, _ := kind.Str()
			mu.Lock()
			defer mu.Unlock()
			if !yield(calls.TextChunk(fmt.Sprint("try ", failed[key]+1)), nil) {
				return
			}
			if failed[key]++; failed[key] <= want {
				yield(calls.Chunk{}, calls.Errorf(calls.Kind(name), "not yet"))
			}
		}
	})
}

type typedCall struct {
	Count int `json:"count" doc:"A number."`
}

type typedIO struct {
	Count uint `json:"count"`
}

func (p typedCall) Init(context.Context, *calls.Vars) (typedIO, error) {
	return typedIO{uint(max(p.Count, 0))}, nil
}

func (p typedCall) Exec(context.Context, *calls.Env, typedIO) iter.Seq2[calls.Chunk, error] {
	return calls.Data(map[string]any{"count": p.Count})
}

// pieces outputs strings as text and objects as data.
func pieces(_ context.Context, _ *calls.Env, params value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		list, _ := params.Get("pieces")
		for _, piece := range list.List() {
			c := calls.Chunk{Data: &piece}
			if text, ok := piece.Str(); ok {
				c = calls.TextChunk(text)
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// seen outputs its step's variables.
func seen(_ context.Context, env *calls.Env, _ value.Value) (any, error) {
	v := env.Vars
	ids := []string{}
	for _, record := range v.History() {
		ids = append(ids, record.ID)
	}
	return map[string]any{
		"history": ids, "summary": v.Summary(), "facts": v.Facts(), "question": v.Question, "language": v.Language,
		"resolved": v.Resolved, "scope": v.Scope, "step": v.Step.ID, "now": v.Now, "dir": env.Dir,
	}, nil
}

// panicking panics at the place given by its parameters.
func panicking() calls.Definition {
	def := schedulertest.Call("panic", nil)
	def.New = func(params value.Value) (calls.CoreCall, error) {
		at, _ := params.Get("at")
		name, _ := at.Str()
		return &bomb{def.Info, name}, nil
	}
	return def
}

type bomb struct {
	info *calls.Info
	at   string
}

func (b *bomb) Info() *calls.Info { return b.info }

func (b *bomb) Init(context.Context, *calls.Vars) (value.Value, error) {
	if b.at == "init" {
		panic("in init")
	}
	return value.Value{}, nil
}

func (b *bomb) Exec(context.Context, *calls.Env, value.Value) iter.Seq2[calls.Chunk, error] {
	if b.at == "exec" {
		panic("in exec")
	}
	return func(yield func(calls.Chunk, error) bool) {
		switch b.at {
		case "chunk":
			yield(calls.TextChunk("text"), nil)
			panic(errors.New("in a chunk"))
		case "error":
			var nothing *calls.Error
			yield(calls.Chunk{}, nothing)
		case "deaf":
			empty := value.OfMap(nil)
			yield(calls.Chunk{Data: &empty}, nil)
			yield(calls.TextChunk("wrong"), nil)
			yield(calls.TextChunk("after the end"), nil)
		case "goexit":
			runtime.Goexit()
		}
	}
}
