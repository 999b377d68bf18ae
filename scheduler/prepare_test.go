package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// brokenStore is a memory that fails whenever it is asked, and notes the scopes.
type brokenStore struct{ asked []calls.Scope }

var errAsked = errors.New("the store was asked")

func (s *brokenStore) Recent(_ context.Context, scope calls.Scope, _ int) ([]plugins.Turn, error) {
	s.asked = append(s.asked, scope)
	return nil, errAsked
}

func (s *brokenStore) Retrieve(_ context.Context, scope calls.Scope, _ string, _ int) ([]plugins.Recalled, error) {
	s.asked = append(s.asked, scope)
	return nil, errAsked
}

// recalls is a call that looks into the memory in every way that a call has.
func recalls() calls.Definition {
	type params struct{}
	return calls.Func("recalls", calls.Text{En: "Looks into the memory."}, func(ctx context.Context, env *calls.Env, _ params) (params, error) {
		_, errHistory := env.ReadDialogue(ctx, 5, "")
		_, errFound := env.Memory.Retrieve(ctx, env.Vars.Scope, "tea", 5)
		var state plugins.State
		env.AttachServices(&state)
		_, errSearch := state.Search(ctx, "tea", 5)
		return params{}, errors.Join(errHistory, errFound, errSearch)
	})
}

// TestScope: a run asks the memory that its own flow names, and none if it names none, whichever user has started
// it.
func TestScope(t *testing.T) {
	const sub = `steps: [{id: b, call: flow, with: {path: inner.yaml}}]
-- inner.yaml --
`
	ann := calls.Scope{User: "ann"}
	for name, test := range map[string]struct {
		flow string
		want calls.Scope
	}{
		"none":                        {"steps: [{id: a, call: recalls}]", calls.Scope{}},
		"a variable":                  {"steps: [{id: a, call: echo, with: {x: '{{ vars.x }}'}}]\noutputs: {x: '{{ vars.x }}'}", calls.Scope{}},
		"a user":                      {"memory: {user: ann}\nsteps: [{id: a, call: recalls}]", ann},
		"a variable of a user":        {"memory: {user: ann}\nsteps: [{id: a, call: echo, with: {x: '{{ vars.x }}'}}]", ann},
		"a variable in the scope":     {"memory: {user: '{{ vars.x }}'}\nsteps: [{id: a, call: echo}]", calls.Scope{}},
		"a session":                   {"memory: {user: ann, session: s}\nsteps: [{id: a, call: recalls}]", calls.Scope{User: "ann", Session: "s"}},
		"all sessions":                {"memory: {user: ann, session: s, sessions: all}\nsteps: [{id: a, call: recalls}]", calls.Scope{User: "ann", Session: "s", AllSessions: true}},
		"a user without a name":       {"memory: {user: \"{{ ' ' }}\", session: s}\nsteps: [{id: a, call: recalls}]", calls.Scope{}},
		"none in a sub-flow":          {"memory: {user: ann}\n" + sub + "steps: [{id: a, call: recalls}]", calls.Scope{}},
		"only in a sub-flow":          {sub + "memory: {user: ann}\nsteps: [{id: a, call: recalls}]", ann},
		"the user of the run is none": {"memory: {user: '{{ run.user }}'}\nsteps: [{id: a, call: recalls}]", calls.Scope{}},
	} {
		for _, owner := range []scheduler.Owner{{}, {User: "ann"}, {User: "ann", Bound: true}} {
			if name == "the user of the run is none" && owner.User != "" || name == "a variable in the scope" && owner.Bound || name == "a user without a name" && owner.Bound {
				continue
			}
			t.Run(name+" for "+owner.User, func(t *testing.T) {
				store := &brokenStore{}
				r := schedulertest.Run(t, test.flow, schedulertest.With(recalls(), flowcall.Definition()),
					schedulertest.Resolver(plugins.ResolverFunc(func(ctx context.Context, s plugins.State, _ string) (any, error) {
						if len(s.History) > 0 {
							t.Errorf("the resolver sees %v", s.History)
						}
						_, err := s.Search(ctx, "tea", 5)
						return "", err
					}), "x"),
					schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Owner, e.Env.Memory = owner, store }))
				test.want.Bound = owner.Bound
				isAsked := !test.want.IsNone()
				if isAsked != (r.Err != nil) || isAsked != (len(store.asked) > 0) {
					t.Errorf("the store was asked for %v; the run ends with %v", store.asked, r.Err)
				}
				for _, scope := range store.asked {
					if scope != test.want {
						t.Errorf("asked for %+v, want %+v", scope, test.want)
					}
				}
			})
		}
	}
}

// TestScopeOfPseudoSteps: a part that a call runs inside its step has the memory of its flow.
func TestScopeOfPseudoSteps(t *testing.T) {
	type params struct{}
	outer := calls.Func("outer", calls.Text{En: "Runs recalls."}, func(ctx context.Context, env *calls.Env, _ params) (params, error) {
		_, err := env.Calls.RunCall(ctx, "recalls", value.OfMap(nil))
		return params{}, err
	})
	for flow, want := range map[string]int{"steps: [{id: a, call: outer}]": 0, "memory: {user: ann}\nsteps: [{id: a, call: outer}]": 3} {
		store := &brokenStore{}
		schedulertest.Run(t, flow, schedulertest.With(recalls(), outer), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.Memory = store }))
		if len(store.asked) != want {
			t.Errorf("%s\nasked %d times, want %d", flow, len(store.asked), want)
		}
	}
}

// TestAllUsers: a run that is bound to a user reads the memories of others by no parameter of a call, and a model can set such a
// parameter in no run.
func TestAllUsers(t *testing.T) {
	type params struct {
		Everyone bool `json:"everyone,omitempty" doc:"Read the memories of all users."`
	}
	var read []bool
	peek := calls.Func("peek", calls.Text{En: "Reads memories."}, func(_ context.Context, _ *calls.Env, p params) (params, error) {
		read = append(read, p.Everyone)
		return p, nil
	})
	peek.Info.AllUsers = []string{"everyone"}
	asTool := func(with string) string {
		return `steps: [{id: a, call: agent, with: {prompt: go, tools: {calls: [{call: peek` + with + `}]}}}]`
	}
	for name, test := range map[string]struct {
		flow          string
		bound, free   []bool // the memories that are read
		startsIfBound bool
	}{
		"set":              {"steps: [{id: a, call: peek, with: {everyone: true}}]", nil, []bool{true}, false},
		"not set":          {"steps: [{id: a, call: peek, with: {everyone: false}}]", []bool{false}, []bool{false}, true},
		"left out":         {"steps: [{id: a, call: peek}]", []bool{false}, []bool{false}, true},
		"by an input":      {"steps: [{id: a, call: peek, with: {everyone: '{{ inputs.no }}'}}]", []bool{false}, []bool{false}, true},
		"by a step":        {"steps: [{id: b, call: echo, with: {x: true}}, {id: a, call: peek, with: {everyone: '{{ b.x }}'}}]", nil, []bool{true}, false},
		"in a sub-flow":    {"steps: [{id: s, call: flow, with: {path: inner.yaml}}]\n-- inner.yaml --\nsteps: [{id: a, call: peek, with: {everyone: true}}]\n", nil, []bool{true}, false},
		"by a model":       {asTool(""), nil, nil, true},
		"fixed for a tool": {asTool(", with: {everyone: true}"), nil, []bool{true}, true},
	} {
		for _, bound := range []bool{true, false} {
			read = nil
			model := scripted.New(scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "peek", Arguments: `{"everyone": true}`}}},
				scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "2", Name: "peek", Arguments: `{}`}}}, scripted.Answer{Text: "done"})
			if name == "by a model" {
				model = scripted.New(scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "peek", Arguments: `{"everyone": true}`}}}, scripted.Answer{Text: "done"})
			}
			r := schedulertest.Run(t, test.flow, schedulertest.With(peek, flowcall.Definition(), agent.Definition()), schedulertest.LLM(model), schedulertest.Inputs(`{"no": false}`),
				schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Owner = scheduler.Owner{User: "lin", Bound: bound} }))
			want, starts := test.free, true
			if bound {
				want, starts = test.bound, test.startsIfBound
			}
			if !slices.Equal(read, want) || starts != (len(r.Events) > 0) || starts && r.Err != nil {
				t.Errorf("%s, bound %v: read %v, want %v; %d events, %v", name, bound, read, want, len(r.Events), r.Err)
			}
			for _, req := range model.Requests() {
				if strings.Contains(string(req.Tools[0]), "everyone") {
					t.Errorf("%s: the model is offered %s", name, string(req.Tools[0]))
				}
			}
		}
	}
}
