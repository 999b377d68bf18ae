package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// Single is a host of the one plugin in a folder, trusted for as long as the host
// lives. The plugin is started once, to say what it is.
func Single(ctx context.Context, dir string, opts Options) (*Host, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	h := &Host{
		opts: opts.withDefaults(), folders: map[string]string{m.Name: dir},
		plugins: map[string]*plugin{}, lock: &lock{Version: lockVersion},
	}
	proc, err := (&program{host: h, name: m.Name, dir: dir}).launch(ctx)
	if err != nil {
		return nil, errors.Join(calls.Errorf(calls.Plugin, "plugin %s: %w", m.Name, err), h.Close())
	}
	proc.stop(h.opts.StopGrace)
	h.lock.put(*proc.entry)
	h.add(proc.entry, &program{host: h, name: m.Name, dir: dir, trusted: proc.entry}, m.Limits)
	return h, nil
}

// Result is one check of the conformance suite; Err is nil where it holds.
type Result struct {
	Check string
	Err   error
}

// Verify is the conformance suite: it holds every plugin of the host to what the
// host relies on. It takes a few seconds where a plugin does not end by itself.
func (h *Host) Verify(ctx context.Context) []Result {
	var results []Result
	for _, name := range h.Names() {
		registry, err := calls.NewRegistry()
		if err != nil {
			return append(results, Result{name, err})
		}
		v := &verification{plugin: h.plugins[name], registry: registry}
		prefix := ""
		if len(h.Names()) > 1 {
			prefix = name + ": "
		}
		for _, c := range v.checks() {
			results = append(results, Result{prefix + c.name, c.run(ctx)})
		}
	}
	return results
}

type check struct {
	name string
	run  func(ctx context.Context) error
}

// verification checks one plugin.
type verification struct {
	plugin   *plugin
	registry *calls.Registry
}

func (v *verification) checks() []check {
	checks := []check{
		{"description", v.description},
		{"starts", v.starts},
	}
	for i := range v.plugin.entry.Functions {
		f := &v.plugin.entry.Functions[i]
		switch f.Kind {
		case Importance:
			checks = append(checks, check{"importance " + f.Name, func(ctx context.Context) error { return v.importance(ctx, f) }})
		case Variable:
			checks = append(checks, check{"variable " + f.Name, func(ctx context.Context) error { return v.variable(ctx, f) }})
		case Call:
			checks = append(checks, check{"call " + f.Name, func(ctx context.Context) error { return v.call(ctx, f) }})
		}
	}
	return append(checks,
		check{"unknown function", v.unknown},
		check{"input that is no JSON", v.garbage},
		check{"many requests at once", v.concurrent},
		check{"cancelled request", v.cancelled},
		check{"ends when asked", v.shutdown},
		check{"ends with its host", v.orphan},
	)
}

// verifyTime is the time of the clock in checks.
func verifyTime() time.Time { return time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC) }

func verifyState() plugins.State {
	return plugins.State{
		Input:   "What is new? 有什么新消息？",
		History: []plugins.Turn{{Role: "user", Content: "Hello", Timestamp: verifyTime().Add(-time.Hour)}, {Role: "assistant", Content: "Hi"}},
		Vars:    map[string]json.RawMessage{"name": json.RawMessage(`"value"`)},
		User:    "u1", Session: "s1", Language: "en", Now: verifyTime(),
		Retrieve: func(context.Context) ([]plugins.Recalled, error) {
			return []plugins.Recalled{{Text: "tea at 80 degrees", Score: 0.9}}, nil
		},
	}
}

// description wants what people and lint read.
func (v *verification) description(context.Context) error {
	if err := v.plugin.register(v.registry); err != nil {
		return err
	}
	var problems []error
	problem := func(f *Function, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %w", f.Name, fmt.Errorf(format, args...)))
	}
	for i := range v.plugin.entry.Functions {
		f := &v.plugin.entry.Functions[i]
		if f.DocZh == "" {
			problem(f, "it has no doc_zh")
		}
		if f.Kind != Call {
			continue
		}
		if len(f.Examples) == 0 {
			problem(f, "it has no example")
		}
		properties, _ := f.Params.Get("properties")
		for name, p := range properties.Map().All() {
			if doc, _ := p.Get("description"); doc.IsNull() {
				problem(f, "the parameter %q has no description", name)
			}
		}
		for _, name := range f.Literal {
			if _, ok := properties.Get(name); !ok {
				problem(f, "the literal parameter %q does not exist", name)
			}
		}
		s, err := schema.Parse(f.Params)
		if err != nil {
			problem(f, "%w", err)
			continue
		}
		stranger := value.OfMap(value.Pairs("no_such_parameter_anywhere", 1))
		if !slices.ContainsFunc(s.Check(stranger), func(p schema.Problem) bool { return p.Keyword == "additionalProperties" }) {
			problem(f, "its parameters take unknown names: add additionalProperties: false, so that misspelt ones are found")
		}
	}
	return errors.Join(problems...)
}

// starts holds the second start to the first: [program.launch] compares them.
func (v *verification) starts(ctx context.Context) error {
	_, err := v.plugin.acquire(ctx)
	return err
}

func (v *verification) importance(ctx context.Context, f *Function) error {
	function, ok := v.registry.Importance(f.Title(v.plugin.entry.Name))
	if !ok {
		return errors.New("it is not registered")
	}
	items := []plugins.Item{
		{Name: "empty"},
		{Name: "text", Text: "Seen on 2026-03-04. 昨天见过。"},
		{Name: "data", Text: "tea", Data: json.RawMessage(`{"timestamp":"2026-03-01T00:00:00Z","list":[1,null,"x"]}`)},
	}
	for _, n := range []int{1, len(items), 500} {
		batch := make([]plugins.Item, n)
		for i := range batch {
			batch[i] = items[i%len(items)]
		}
		if _, err := function.Judge(ctx, verifyState(), batch); err != nil {
			return fmt.Errorf("with %d items: %w", n, err)
		}
	}
	if _, err := function.Judge(ctx, plugins.State{}, items); err != nil {
		return fmt.Errorf("with an empty state: %w", err)
	}
	return nil
}

func (v *verification) variable(ctx context.Context, f *Function) error {
	resolver, ok := v.registry.Resolver(f.Name)
	if !ok {
		return errors.New("it is not registered")
	}
	_, err := resolver.Resolve(ctx, verifyState(), []string{f.Name})
	return err
}

// call runs the examples, twice: they must give the same input.
func (v *verification) call(ctx context.Context, f *Function) error {
	for _, e := range f.Examples {
		if err := v.example(ctx, f, e); err != nil {
			return fmt.Errorf("the example %q: %w", e.Title, err)
		}
	}
	return nil
}

func (v *verification) example(ctx context.Context, f *Function, e Example) error {
	def, ok := v.registry.Call(f.Title(v.plugin.entry.Name))
	if !ok {
		return errors.New("it is not registered")
	}
	params, err := yaml.ParseValue([]byte(e.With))
	if err != nil {
		return err
	}
	env := calls.NewEnv()
	env.LLM = &script{answers: e.Answers}
	env.Vars = &calls.Vars{Question: verifyState().Input, Language: "en", Now: verifyTime(), Inputs: value.OfMap(nil)}
	var inputs [2]value.Value
	for i := range inputs {
		call, err := def.New(params)
		if err != nil {
			return err
		}
		if inputs[i], err = call.Init(ctx, env.Vars); err != nil {
			return err
		}
		if i == 1 {
			break
		}
		text, data := "", (*value.Value)(nil)
		for chunk, err := range call.Exec(ctx, env, inputs[i]) {
			if err != nil {
				return err
			}
			text += chunk.Text
			if chunk.Data != nil {
				data = chunk.Data
			}
		}
		if data == nil {
			out := value.OfMap(value.Pairs("text", text))
			data = &out
		}
		if problems := def.Info.Output.Check(*data); problems != nil {
			return fmt.Errorf("the output does not fit its schema: %w", problems)
		}
	}
	if !value.Equal(inputs[0], inputs[1]) {
		return fmt.Errorf("init gave two inputs for the same parameters: %s and %s", inputs[0], inputs[1])
	}
	return nil
}

// stillWell says whether the process answers, and is the one that it was.
func (v *verification) stillWell(ctx context.Context, proc *process) error {
	now, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	if now != proc {
		return errors.New("the process did not survive it")
	}
	if err := proc.ping(ctx); err != nil {
		return fmt.Errorf("the health check says: %s", statusText(err))
	}
	return nil
}

// raw sends a request as it is and wants a failure, or a gRPC status.
func (v *verification) raw(ctx context.Context, req *proto.Request) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(v.plugin.limits.Timeout))
	defer cancel()
	reply, err := proc.api.Ask(ctx, req)
	if err == nil && reply.GetFailure() == nil {
		return errors.New("it answered as if nothing were wrong; want a failure")
	}
	return v.stillWell(ctx, proc)
}

func (v *verification) unknown(ctx context.Context) error {
	const name = "no_such_function"
	if err := v.raw(ctx, &proto.Request{Ask: &proto.Request_Judge{Judge: &proto.Judge{Function: name, State: &proto.State{}}}}); err != nil {
		return fmt.Errorf("importance: %w", err)
	}
	if err := v.raw(ctx, &proto.Request{Ask: &proto.Request_Resolve{Resolve: &proto.Resolve{Names: []string{name}, State: &proto.State{}}}}); err != nil {
		return fmt.Errorf("variable: %w", err)
	}
	return v.exec(ctx, &proto.ExecRequest{Function: name, Input: []byte("{}"), State: &proto.State{}})
}

// exec wants a failure too.
func (v *verification) exec(ctx context.Context, req *proto.ExecRequest) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(v.plugin.limits.Timeout))
	defer cancel()
	stream, err := proc.api.Exec(ctx, req)
	if err == nil {
		var chunk *proto.Chunk
		for err == nil && chunk.GetFailure() == nil {
			chunk, err = stream.Recv()
		}
		if err != nil && statusText(err) == "EOF" {
			return errors.New("call: it answered as if nothing were wrong; want a failure")
		}
	}
	return v.stillWell(ctx, proc)
}

func (v *verification) garbage(ctx context.Context) error {
	for i := range v.plugin.entry.Functions {
		if f := &v.plugin.entry.Functions[i]; f.Kind == Call {
			if err := v.exec(ctx, &proto.ExecRequest{Function: f.Name, Input: []byte(`{"x":`), State: &proto.State{}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// concurrent mixes requests of all functions; each answer must be that of its
// request.
func (v *verification) concurrent(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make(chan error, 16)
	for k := range cap(errs) {
		all.Go(func() {
			for i := range v.plugin.entry.Functions {
				f := &v.plugin.entry.Functions[(i+k)%len(v.plugin.entry.Functions)]
				var err error
				switch f.Kind {
				case Importance:
					var verdicts []plugins.Verdict
					function, _ := v.registry.Importance(f.Title(v.plugin.entry.Name))
					verdicts, err = function.Judge(ctx, verifyState(), make([]plugins.Item, k+1))
					if err == nil && len(verdicts) != k+1 {
						err = fmt.Errorf("%d verdicts for %d items", len(verdicts), k+1)
					}
				case Variable:
					err = v.variable(ctx, f)
				case Call:
					err = v.call(ctx, f)
				}
				if err != nil {
					errs <- fmt.Errorf("%s: %w", f.Name, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// cancelled gives requests up at once.
func (v *verification) cancelled(ctx context.Context) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	for i := range v.plugin.entry.Functions {
		f := &v.plugin.entry.Functions[i]
		over, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Millisecond, cancel)
		var err error
		switch f.Kind {
		case Importance:
			function, _ := v.registry.Importance(f.Title(v.plugin.entry.Name))
			_, err = function.Judge(over, verifyState(), make([]plugins.Item, 100))
		case Variable:
			err = v.variable(over, f)
		case Call:
			err = v.call(over, f)
		}
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return v.stillWell(ctx, proc)
}

// shutdown wants that the process ends by itself.
func (v *verification) shutdown(ctx context.Context) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	v.plugin.mu.Lock()
	v.plugin.current = nil
	v.plugin.mu.Unlock()
	proc.stop(v.plugin.host.opts.StopGrace)
	if status := proc.status(); strings.Contains(status, "signal") {
		return fmt.Errorf("it did not end within %s of plugin.GRPCController/Shutdown and had to be killed (%s)", v.plugin.host.opts.StopGrace, status)
	}
	return nil
}

// orphan closes the pipe that says that the host lives.
func (v *verification) orphan(ctx context.Context) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil || proc.abandon == nil {
		return err
	}
	v.plugin.mu.Lock()
	v.plugin.current = nil
	v.plugin.mu.Unlock()
	defer proc.stop(0)
	proc.abandon()
	select {
	case <-proc.exited:
		return nil
	case <-time.After(v.plugin.host.opts.StopGrace):
		return fmt.Errorf("it did not end within %s of end of file on the descriptor %s", v.plugin.host.opts.StopGrace, proto.LifeKey)
	}
}

// script is a model that gives answers in order.
type script struct {
	mu      sync.Mutex
	answers []string
}

// Chat gives the next answer.
func (s *script) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			yield(llm.Delta{}, ctx.Err())
		case len(s.answers) == 0:
			yield(llm.Delta{}, &llm.Error{Message: "the example has no further answer"})
		default:
			text := s.answers[0]
			s.answers = s.answers[1:]
			_ = yield(llm.Delta{Text: text}, nil) && yield(llm.Delta{FinishReason: "stop"}, nil)
		}
	}
}
