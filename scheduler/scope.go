package scheduler

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
)

// scope has the names for the templates of a step, or of the flow itself. Nothing in it is computed before a
// template asks.
type scope struct {
	ctx    context.Context
	run    *run
	env    *calls.Env
	vars   *calls.Vars
	params []*flow.Param // whose references name the variables and secrets to fetch
	item   *value.Value
	// failure is the value of error in the flow's on_error.
	failure *Failure
	// seeded means that a template has asked for the seed.
	seeded bool
}

var (
	_ prompt.LenientScope = (*scope)(nil)
	_ prompt.SecretScope  = (*scope)(nil)
	_ prompt.SeedScope    = (*scope)(nil)
)

// newScope returns the scope of the flow's own templates: the outputs, the reply to an error, the scope of the
// memory. It sees every step.
func (r *run) newScope(ctx context.Context, params ...*flow.Param) *scope {
	vars := r.vars
	vars.Now = r.env.Clock()
	vars.Upstream = upstream{r, -1}
	env := r.env
	env.Vars = &vars
	return &scope{ctx: ctx, run: r, env: &env, vars: &vars, params: params}
}

// Lookup finds the names of a flow file.
func (s *scope) Lookup(name string) (value.Value, bool, error) {
	switch name {
	case "inputs":
		return s.vars.Inputs, true, s.checkMasked(name, s.run.earlier.lost)
	case "question":
		if slices.Contains(s.run.earlier.lost, "/question") {
			return value.Value{}, false, errMasked(name, "")
		}
		return value.OfString(s.vars.Question), true, nil
	case "conversation":
		return value.OfList(s.vars.Conversation.List()...), true, nil
	case "history":
		v, err := value.Of(s.vars.History())
		return v, true, err
	case "summary":
		return value.OfString(s.vars.Summary()), true, nil
	case "facts":
		v, err := value.Of(s.vars.Facts())
		return v, true, err
	case "run":
		v, err := value.Of(s.vars.Run)
		return v, true, err
	case "vars":
		if err := s.resolveVariables(s.ctx); err != nil {
			return value.Value{}, false, err
		}
		v, err := value.Of(s.vars.Resolved)
		return v, true, err
	case "secrets":
		return s.mentionedSecrets(), true, nil
	case "item":
		if s.item != nil {
			return *s.item, true, nil
		}
		return value.Value{}, false, nil
	case "index":
		if i := s.vars.Step.Index; i != nil {
			return value.OfInt(int64(*i)), true, nil
		}
		return value.Value{}, false, nil
	case "error":
		if s.failure == nil {
			return value.Value{}, false, nil
		}
		info := s.failure.Info // unknown members of it are "": no reply fails for the lack of a hint
		return value.OfMap(value.Pairs("kind", string(info.Kind), "message", info.Message, "hint", info.Hint,
			"position", info.Position, "step", info.Step)), true, nil
	}
	v, hidden, ok := s.run.outputOf(name)
	return v, ok, s.checkMasked(name, hidden)
}

// outputOf returns the output of a finished step; hidden are the places in it that
// secrets were taken out of.
func (r *run) outputOf(id string) (output value.Value, hidden []string, ok bool) {
	step, ok := r.flow.Step(id)
	if !ok || r.states == nil {
		return value.Value{}, nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	st := &r.states[step.Index]
	return st.output, r.earlier.masked[step.Index], r.order.Status(step.Index) == order.Finished
}

// checkMasked returns an error if the templates mention values that the journal does not have. The outputs of the
// whole run may: they are masked anyway.
func (s *scope) checkMasked(name string, hidden []string) (err error) {
	isOfRun := s.vars.Step.ID == "" && s.run.outer == nil
	if len(hidden) == 0 || isOfRun {
		return nil
	}
	for _, p := range s.params {
		p.EachRef(func(ref prompt.Ref) {
			if ref.Path[0] != name {
				return
			}
			mentioned := ""
			for _, token := range ref.Path[1:] {
				mentioned += "/" + value.Escape(token)
			}
			for _, pointer := range hidden {
				if strings.HasPrefix(pointer+"/", mentioned+"/") || strings.HasPrefix(mentioned+"/", pointer+"/") {
					err = errMasked(name, pointer)
				}
			}
		})
	}
	return err
}

// HoldsSecrets reports whether the run knows a secret: it may be in the inputs, items and
// outputs that a template mentions.
func (s *scope) HoldsSecrets() bool { return !s.run.secrets.set.IsEmpty() }

// RandomSeed returns the seed of the filter random in the templates of the step.
func (s *scope) RandomSeed() uint64 {
	s.seeded = true
	return s.vars.RandomSeed()
}

// IsAbsent reports whether the name belongs to a step that was skipped: its members may be given a default.
func (s *scope) IsAbsent(name string) bool {
	step, ok := s.run.flow.Step(name)
	if !ok || s.run.states == nil {
		return false
	}
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	return s.run.order.Status(step.Index) == order.Skipped
}

func errMasked(name, pointer string) error {
	return calls.Errorf(calls.Invalid, "a secret stood in %s at %q, and the journal does not keep secrets", name, pointer).
		WithHint("run the flow again; a flow that is to be resumed takes secrets from secrets.NAME where it needs them")
}

// mentionedMembers lists the constant members of name that the templates mention:
// KEY of secrets.KEY.
func (s *scope) mentionedMembers(name string) []string {
	var found []string
	for _, p := range s.params {
		p.EachRef(func(ref prompt.Ref) {
			if len(ref.Path) > 1 && ref.Path[0] == name && !slices.Contains(found, ref.Path[1]) {
				found = append(found, ref.Path[1])
			}
		})
	}
	return found
}

// mentionedSecrets returns the allowed ones that the templates mention. From here on no event
// shows their values.
func (s *scope) mentionedSecrets() value.Value {
	m := value.NewMap(1)
	if lookup := s.run.exec.Secrets; lookup != nil {
		for _, name := range s.mentionedMembers("secrets") {
			if secret, ok := lookup(name); ok {
				s.run.secrets.set.Add(secret)
				m.Set(name, value.OfSecret(value.OfString(secret)))
			}
		}
	}
	return value.OfMap(m)
}

// resolveVariables returns values to the variables that the templates mention, in one batch
// per resolver. It asks once.
func (s *scope) resolveVariables(ctx context.Context) error {
	if s.vars.Resolved != nil {
		return nil
	}
	type batch struct {
		resolver plugins.Resolver
		names    []string
	}
	var batches []batch
	for _, name := range s.mentionedMembers("vars") {
		resolver, ok := s.run.env.Registry.Resolver(name)
		if !ok {
			continue // the template says that it is undefined, or has a default
		}
		i := slices.IndexFunc(batches, func(b batch) bool { return sameResolver(b.resolver, resolver) })
		if i < 0 {
			i = len(batches)
			batches = append(batches, batch{resolver: resolver})
		}
		batches[i].names = append(batches[i].names, name)
	}
	resolved := map[string]value.Value{}
	known := sync.OnceValues(func() (plugins.State, error) { return s.pluginState(ctx) })
	for _, b := range batches {
		state, err := known()
		if err != nil {
			return err
		}
		answers, err := b.resolver.Resolve(ctx, state, b.names)
		if err != nil {
			return resolverError(err, b.names)
		}
		for _, name := range b.names {
			answer, ok := answers[name]
			if !ok {
				continue
			}
			v, err := value.ParseJSON(answer)
			if err != nil {
				return calls.Errorf(calls.Plugin, "the resolver of %s gave no JSON: %w", name, err)
			}
			resolved[name] = s.run.secrets.set.Mark(v)
		}
	}
	s.vars.Resolved = resolved
	return nil
}

// sameResolver compares resolvers; resolvers of a type that cannot be compared, for example functions, are never
// the same.
func sameResolver(a, b plugins.Resolver) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// resolverError returns which variables failed. An error of no kind is the plugin's.
func resolverError(err error, names []string) error {
	kind := calls.KindOf(err)
	if kind == calls.Internal {
		kind = calls.Plugin
	}
	return calls.Errorf(kind, "resolving the variables %v: %w", names, err).WithHint("%s", calls.HintOf(err))
}

// pluginState returns the data for a resolver.
func (s *scope) pluginState(ctx context.Context) (plugins.State, error) {
	inputs := make(map[string]json.RawMessage, s.vars.Inputs.Map().Len())
	for k, v := range s.vars.Inputs.Map().All() {
		inputs[k] = v.AppendJSON(nil)
	}
	const turns, memories = 50, 10
	memory, scope, question := s.run.env.Memory, s.vars.Scope, s.vars.Question
	said, err := s.env.ReadDialogue(ctx, turns, question)
	if err != nil {
		return plugins.State{}, err
	}
	history, _ := said.AsTurns()
	retrieve := sync.OnceValues(func() ([]plugins.Recalled, error) { return memory.Retrieve(ctx, scope, question, memories) })
	state := plugins.State{
		Input: question, History: history[max(0, len(history)-turns):], Vars: inputs,
		User: scope.User, Session: scope.Session, Language: s.vars.Language, Now: s.vars.Now,
		Retrieve: func(context.Context) ([]plugins.Recalled, error) { return retrieve() },
	}
	s.env.AttachServices(&state)
	if s.vars.Step.ID == "" {
		state.Ask = nil // no step would pay for it
	}
	return state, nil
}
