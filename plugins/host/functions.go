package host

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// state is the wire form of a state: with memories where the function wants them,
// with values only where the plugin was granted vars.
func (p *plugin) state(ctx context.Context, s plugins.State, retrieved bool) (*proto.State, error) {
	if !slices.Contains(p.entry.Services, serviceVars) {
		s.Vars = nil
	}
	out := proto.FromState(s)
	if retrieved && s.Retrieve != nil {
		found, err := s.Retrieve(ctx)
		if err != nil {
			return nil, err
		}
		out.Retrieved = proto.FromRecalled(found)
	}
	return out, nil
}

// ticketOf is what a function that judges or resolves may use of the host.
func ticketOf(s plugins.State) *ticket {
	t := &ticket{search: s.Search, vars: func() (value.Value, error) { return value.Of(s.Vars) }}
	if s.Ask != nil {
		t.chat = func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				a, err := s.Ask(ctx, plugins.Prompt{
					Model: req.Model, Messages: req.Messages, Temperature: req.Temperature, MaxTokens: req.MaxTokens, ResponseSchema: req.ResponseSchema,
				})
				yield(llm.Delta{
					Text: a.Text, FinishReason: a.FinishReason, Usage: &llm.Usage{InputTokens: a.InputTokens, OutputTokens: a.OutputTokens},
				}, err)
			}
		}
	}
	return t
}

// importance is an importance function of a plugin.
type importance struct {
	plugin   *plugin
	function *Function
}

// Judge sends all items in one request.
func (i *importance) Judge(ctx context.Context, state plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	if len(items) == 0 {
		return nil, nil
	}
	p, what := i.plugin, "function "+i.function.Name
	wire, err := p.state(ctx, state, i.function.Retrieved)
	if err != nil {
		return nil, err
	}
	reply, err := p.ask(ctx, what, &proto.Request{Ask: &proto.Request_Judge{Judge: &proto.Judge{
		Function: i.function.Name, State: wire, Items: proto.FromItems(items),
	}}}, func() *ticket { return ticketOf(state) })
	if err != nil {
		return nil, err
	}
	judged := reply.GetJudged()
	if judged == nil {
		return nil, p.fault(what, "it gave another kind of answer than verdicts")
	}
	if n := len(judged.GetVerdicts()); n != len(items) {
		return nil, p.errorf(calls.Plugin, what, "it gave %d verdicts for %d items", n, len(items)).
			WithHint("an importance function gives one verdict per item, in their order")
	}
	verdicts := proto.ToVerdicts(judged.GetVerdicts())
	for k, v := range verdicts {
		if v.Score != nil && !(*v.Score >= 0 && *v.Score <= 1) { // NaN does not pass either
			return nil, p.errorf(calls.Plugin, what, "the score of item %d is %v, want 0 to 1", k, *v.Score).
				WithHint("leave the score out where there is none")
		}
		verdicts[k].Reason = printable(v.Reason) // people read it
	}
	p.succeeded()
	return verdicts, nil
}

// resolver gives all variables of a plugin, in one request per batch.
type resolver struct {
	plugin  *plugin
	schemas map[string]*schema.Schema
}

// Schema is the JSON Schema of a variable's value; null where there is no such
// variable.
func (r *resolver) Schema(name string) value.Value {
	if s := r.schemas[name]; s != nil {
		return s.Doc()
	}
	return value.Value{}
}

// Resolve checks the values by the schemas of the variables.
func (r *resolver) Resolve(ctx context.Context, state plugins.State, names []string) (map[string]json.RawMessage, error) {
	p, what := r.plugin, "variable "+strings.Join(names, ", ")
	retrieved := slices.ContainsFunc(names, func(name string) bool {
		f := p.entry.function(name)
		return f != nil && f.Retrieved
	})
	wire, err := p.state(ctx, state, retrieved)
	if err != nil {
		return nil, err
	}
	reply, err := p.ask(ctx, what, &proto.Request{Ask: &proto.Request_Resolve{Resolve: &proto.Resolve{
		Names: names, State: wire,
	}}}, func() *ticket { return ticketOf(state) })
	if err != nil {
		return nil, err
	}
	resolved := reply.GetResolved()
	if resolved == nil {
		return nil, p.fault(what, "it gave another kind of answer than values")
	}
	values := make(map[string]json.RawMessage, len(names))
	for _, name := range slices.Sorted(maps.Keys(resolved.GetValues())) {
		if !slices.Contains(names, name) {
			return nil, p.fault(what, "it gave a value for %q, for which nobody asked", cut(name, 100))
		}
		v, err := p.checked(resolved.GetValues()[name], r.schemas[name])
		if err != nil {
			return nil, p.fault(what, "the value of %s: %w", name, err)
		}
		values[name] = v.AppendJSON(nil)
	}
	p.succeeded()
	return values, nil
}

// checked parses JSON of the plugin and holds it to a schema.
func (p *plugin) checked(text []byte, s *schema.Schema) (value.Value, error) {
	v, err := value.ParseJSON(text)
	if err != nil {
		return value.Value{}, fmt.Errorf("it is no JSON: %w", err)
	}
	if s != nil {
		if problems := s.Check(v); problems != nil {
			return value.Value{}, fmt.Errorf("it does not fit its schema: %w", problems)
		}
	}
	return v, nil
}
