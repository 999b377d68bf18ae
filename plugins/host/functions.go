package host

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// wireState returns the wire form of a state: with memories if the function wants them, with values only if the
// plugin was granted vars.
func (p *plugin) wireState(ctx context.Context, s plugins.State, retrieved bool) (*proto.State, error) {
	if !slices.Contains(p.entry.Services, manifest.ServiceVars) {
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

// newStateGrant returns the services of the host for a function that judges or resolves.
func newStateGrant(s plugins.State) *services.Grant {
	grant := &services.Grant{Search: s.Search, Vars: func() (value.Value, error) { return value.Of(s.Vars) }}
	if s.Ask != nil {
		grant.Chat = func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
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
	return grant
}

// importance is an importance function, or a check, of a plugin.
type importance struct {
	plugin   *plugin
	function *manifest.Function
}

// IsOutside reports that the plugin judges.
func (*importance) IsOutside() bool { return true }

// Judge sends all items in one request.
func (i *importance) Judge(ctx context.Context, state plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	if len(items) == 0 {
		return nil, nil
	}
	p, what := i.plugin, wording.Say("function %s", i.function.Name)
	wire, err := p.wireState(ctx, state, i.function.Retrieved)
	if err != nil {
		return nil, err
	}
	reply, err := p.sendRequest(ctx, what, &proto.Request{Ask: &proto.Request_Judge{Judge: &proto.Judge{
		Function: i.function.Name, State: wire, Items: proto.FromItems(items),
	}}}, func() *services.Grant { return newStateGrant(state) })
	if err != nil {
		return nil, err
	}
	judged := reply.GetJudged()
	if judged == nil {
		return nil, p.faultf(what, "it answered with something else than verdicts")
	}
	if n := len(judged.GetVerdicts()); n != len(items) {
		return nil, p.errorf(calls.Plugin, what, "it returned %d verdicts for %d items", n, len(items)).
			WithHint("an importance function returns one verdict per item, in their order")
	}
	verdicts := proto.ToVerdicts(judged.GetVerdicts())
	for k, v := range verdicts {
		if v.Score != nil && !isScore(*v.Score) {
			return nil, p.errorf(calls.Plugin, what, "the score of item %d is %v (want 0 to 1)", k, *v.Score).
				WithHint("leave the score out where there is none")
		}
		verdicts[k].Reason = manifest.Printable(v.Reason) // people read it
	}
	p.resetFailures()
	return verdicts, nil
}

// isScore reports whether a number is a score; NaN is not.
func isScore(x float64) bool { return x >= 0 && x <= 1 }

// resolver resolves all variables of a plugin, in one request per batch.
type resolver struct {
	plugin  *plugin
	schemas map[string]*schema.Schema
}

// IsOutside reports that the plugin resolves.
func (*resolver) IsOutside() bool { return true }

// Schema returns the JSON Schema of a variable's value; null for an unknown variable.
func (r *resolver) Schema(name string) value.Value {
	if s := r.schemas[name]; s != nil {
		return s.Doc()
	}
	return value.Value{}
}

// Resolve asks for the values and checks them by the schemas of the variables.
func (r *resolver) Resolve(ctx context.Context, state plugins.State, names []string) (map[string]json.RawMessage, error) {
	p, what := r.plugin, wording.Say("variable %s", strings.Join(names, ", "))
	retrieved := slices.ContainsFunc(names, func(name string) bool {
		f := p.entry.Function(name)
		return f != nil && f.Retrieved
	})
	wire, err := p.wireState(ctx, state, retrieved)
	if err != nil {
		return nil, err
	}
	reply, err := p.sendRequest(ctx, what, &proto.Request{Ask: &proto.Request_Resolve{Resolve: &proto.Resolve{
		Names: names, State: wire,
	}}}, func() *services.Grant { return newStateGrant(state) })
	if err != nil {
		return nil, err
	}
	resolved := reply.GetResolved()
	if resolved == nil {
		return nil, p.faultf(what, "it answered with something else than values")
	}
	values := make(map[string]json.RawMessage, len(names))
	for _, name := range slices.Sorted(maps.Keys(resolved.GetValues())) {
		if !slices.Contains(names, name) {
			return nil, p.faultf(what, "it returned a value for %q, which was not requested", value.Truncate(name, 100))
		}
		v, err := parseChecked(resolved.GetValues()[name], r.schemas[name])
		if err != nil {
			return nil, p.faultf(what, "the value of %s: %w", name, err)
		}
		values[name] = v.AppendJSON(nil)
	}
	p.resetFailures()
	return values, nil
}

// parseChecked parses JSON of a plugin and checks it by a schema.
func parseChecked(text []byte, s *schema.Schema) (value.Value, error) {
	v, err := value.ParseJSON(text)
	if err != nil {
		return value.Value{}, wording.Errorf("it is not JSON: %w", err)
	}
	if s != nil {
		if problems := s.Check(v); problems != nil {
			return value.Value{}, wording.Errorf("it does not fit its schema: %w", problems)
		}
	}
	return v, nil
}
