package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
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
	t := &ticket{vars: func() (value.Value, error) { return value.Of(s.Vars) }}
	if s.Retrieve != nil {
		t.search = func(ctx context.Context, query string, limit int) ([]plugins.Recalled, error) {
			if query != s.Input {
				return nil, errors.New("an importance function or a variable can only search for the user's input")
			}
			found, err := s.Retrieve(ctx)
			return found[:min(limit, len(found))], err
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
		return nil, p.errorf(calls.Plugin, what, "it gave another kind of answer than verdicts")
	}
	if n := len(judged.GetVerdicts()); n != len(items) {
		return nil, p.errorf(calls.Plugin, what, "it gave %d verdicts for %d items", n, len(items))
	}
	verdicts := proto.ToVerdicts(judged.GetVerdicts())
	for k, v := range verdicts {
		if v.Score != nil && !(*v.Score >= 0 && *v.Score <= 1) { // NaN does not pass either
			return nil, p.errorf(calls.Plugin, what, "the score of item %d is %v, want 0 to 1", k, *v.Score)
		}
	}
	p.succeeded()
	return verdicts, nil
}

// resolver gives all variables of a plugin, in one request per batch.
type resolver struct {
	plugin  *plugin
	schemas map[string]*schema.Schema
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
		return nil, p.errorf(calls.Plugin, what, "it gave another kind of answer than values")
	}
	values := make(map[string]json.RawMessage, len(names))
	for _, name := range slices.Sorted(maps.Keys(resolved.GetValues())) {
		if !slices.Contains(names, name) {
			return nil, p.errorf(calls.Plugin, what, "it gave a value for %q, for which nobody asked", cut(name, 100))
		}
		v, err := p.checked(resolved.GetValues()[name], r.schemas[name])
		if err != nil {
			return nil, p.errorf(calls.Plugin, what, "the value of %s: %w", name, err)
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
