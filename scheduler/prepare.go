package scheduler

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// prepare computes the settings of the run: its inputs, language and memory. The error is a *[Failure].
func (r *run) prepare(inputs value.Value) error {
	r.secrets.learnSecrets(r.flow, r.exec.Secrets)
	checked, err := checkInputs(r.flow, inputs)
	if err != nil {
		return err
	}
	if err := r.prepareConversation(); err != nil {
		return err
	}
	r.vars.Inputs = r.secrets.set.Mark(checked)
	question, _ := checked.Get("question")
	r.vars.Question, _ = question.Str()
	if r.flow.Language != "" {
		r.vars.Language = r.flow.Language
	}
	if err := r.setZone(); err != nil {
		return err
	}
	r.env.Dir = filepath.Dir(r.flow.File)
	r.meter.SetLimit(int64(r.flow.MaxTokens))
	limit := r.exec.MaxTokens
	isTighter := r.flow.MaxTokens == 0 || limit < r.flow.MaxTokens
	if r.outer == nil && limit > 0 && isTighter {
		r.meter.SetLimit(int64(limit))
	}
	if err := r.findModels(); err != nil {
		return r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
	}
	if err := r.setMemory(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	r.until, err = findStopPoint(r.exec.Until, r.prefix, r.flow)
	if err != nil {
		return r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
	}
	return nil
}

// prepareConversation checks the messages that the caller sent. Secrets in them are masked before the first step
// sees them, and not only in the record, so that a run that is resumed sends the same prompts.
func (r *run) prepareConversation() error {
	if r.outer != nil { // the run around has done it
		return nil
	}
	if err := calls.CheckConversation(r.vars.Conversation); err != nil {
		return inputsFailure(err)
	}
	if len(r.vars.Conversation.List()) == 0 {
		r.vars.Conversation = value.Value{}
		return nil
	}
	r.vars.Conversation = r.secrets.maskValue(r.vars.Conversation)
	return nil
}

// checkInputs returns the inputs with the defaults of their schema, or a *[Failure]
// of kind Invalid.
func checkInputs(f *flow.Flow, inputs value.Value) (value.Value, error) {
	if inputs.IsNull() {
		inputs = value.OfMap(nil)
	}
	if inputs.Kind() != value.Object {
		return value.Value{}, inputsFailure(calls.Errorf(calls.Invalid, "the inputs of a flow are an object, got %s", inputs.Kind()))
	}
	if f.Inputs == nil {
		return inputs, nil
	}
	inputs = f.Inputs.ApplyDefaults(inputs)
	if problems := f.Inputs.Check(inputs); len(problems) > 0 {
		return value.Value{}, inputsFailure(calls.Errorf(calls.Invalid, "the inputs of the flow %s do not fit: %w", f.Name, problems))
	}
	return inputs, nil
}

func inputsFailure(err error) *Failure {
	return &Failure{Info: journal.ErrorInfo{Kind: calls.Invalid, Message: err.Error()}, Err: err}
}

// setMemory decides which memory the run reads and writes: the scope that its own flow writes under
// memory, through whichever door the run came. A flow without memory, a sub-flow too, has none: its calls
// get [calls.NoMemory], and nothing that they do reaches a store.
func (r *run) setMemory() error {
	r.vars.Scope, r.env.Memory = calls.Scope{Bound: r.exec.Owner.Bound}, calls.NoMemory{} // for templates that ask for variables
	if r.flow.User != nil {
		scope, err := r.renderScope()
		if err != nil {
			return err
		}
		if err := r.checkOwner(r.flow.User.Pos, scope.User); err != nil {
			return err
		}
		r.vars.Scope = scope
	}
	if !r.vars.Scope.IsNone() {
		r.env.Memory = r.memory
	}
	if r.outer != nil || !r.exec.Owner.Bound {
		return nil
	}
	return r.checkInside(r.flow, &knownInputs{members: r.vars.Inputs.Map()}, nil)
}

// renderScope renders the flow's memory.
func (r *run) renderScope() (calls.Scope, error) {
	scope := calls.Scope{AllSessions: r.flow.AllSessions, Bound: r.exec.Owner.Bound}
	for _, target := range []struct {
		param *flow.Param
		text  *string
	}{{r.flow.User, &scope.User}, {r.flow.Session, &scope.Session}} {
		if target.param == nil {
			continue
		}
		v, err := r.secrets.render(r.life.parent, target.param, r.newScope(r.life.parent, target.param))
		if err == nil && v.HasSecret() {
			err = calls.Errorf(calls.Invalid, "whose memory it is comes from a secret, and memories are stored under it")
		}
		if err != nil {
			return scope, r.failureOf(err, target.param.Pos)
		}
		*target.text = prompt.Text(v)
	}
	return scope, nil
}

// memoryHint is the remedy if a bound run would work in a memory that may be another user's.
const memoryHint = `write memory: {user: "{{ run.user }}"}`

// checkOwner refuses the memory of another user than the one that the run is bound to.
func (r *run) checkOwner(pos flow.Position, user string) error {
	owner := r.exec.Owner
	if !owner.Bound || user == owner.User {
		return nil
	}
	err := calls.Errorf(calls.Invalid, "the run is bound to the user %q, and the memory of the flow is that of %q", owner.User, user).
		WithHint(memoryHint)
	return r.failureOf(err, pos)
}

// checkInside refuses, before the first step, steps of f that would read the memory of other users than the one
// that the run is bound to: a flow that they run and that works in the memory of another, or in one that is only
// known later, by the output of a step, an item, or a model. Flows whose path is only known later are checked when
// they start. seen are the flows around, which a tool of an agent may name again.
func (r *run) checkInside(f *flow.Flow, inputs *knownInputs, seen []*flow.Flow) error {
	if slices.Contains(seen, f) {
		return nil
	}
	seen = append(seen, f)
	for _, step := range f.Steps {
		if err := r.checkAllUsers(step, inputs); err != nil {
			return err
		}
		if step.Sub != nil {
			if err := r.checkInnerFlow(step.Sub, r.inputsInside(step, inputs), seen); err != nil {
				return err
			}
		}
		for _, inner := range step.Inner {
			if err := r.checkInnerFlow(inner, &knownInputs{}, seen); err != nil { // a model may give all of them
				return err
			}
		}
	}
	return nil
}

// checkAllUsers refuses a step whose parameters let it read the memories of every user, or may do so.
func (r *run) checkAllUsers(step *flow.Step, inputs *knownInputs) error {
	name, param := r.findAllUsers(step, inputs)
	if param == nil {
		return nil
	}
	return r.failureOf(allUsersError(step.Call, name), param.Pos)
}

// findAllUsers returns the parameter with which a step reads the memories of every user, or may do so; nil for none.
func (r *run) findAllUsers(step *flow.Step, inputs *knownInputs) (name string, param *flow.Param) {
	if step.With == nil {
		return "", nil
	}
	for _, name := range step.Def.Info.AllUsers {
		param, rest := flow.Descend(step.With, "/"+name)
		isLeftOut := rest != "" && param.Map != nil
		if isLeftOut {
			continue
		}
		v, isKnown := r.renderKnown(param, inputs)
		v, _ = v.At(rest)
		if isSet, _ := v.Bool(); isSet || !isKnown {
			return name, param
		}
	}
	return "", nil
}

// checkInnerFlow is [run.checkInside] for a flow that a step runs with inputs.
func (r *run) checkInnerFlow(f *flow.Flow, inputs *knownInputs, seen []*flow.Flow) error {
	if f.User != nil {
		user, isKnown := r.renderKnown(f.User, inputs)
		if !isKnown {
			err := calls.Errorf(calls.Invalid, "the run is bound to the user %q, and whose memory the flow %s works in is not known before the run", r.exec.Owner.User, f.Name).
				WithHint(memoryHint)
			return r.failureOf(err, f.User.Pos)
		}
		if err := r.checkOwner(f.User.Pos, prompt.Text(user)); err != nil {
			return err
		}
	}
	return r.checkInside(f, inputs, seen)
}

// checkUserNamed refuses a new run in which a step that is sure to run works in a memory, and it is the memory of no user: else the
// run would fail only there, when the steps before it were paid. Tests of flows have an interceptor, which may answer the step; a run that is
// played, or that stops at a step, may not come to it.
func (r *run) checkUserNamed() error {
	e := r.exec
	isPlayed := e.Start != nil && e.Start.ID != ""
	if isPlayed || e.Interceptor != nil || e.Until != "" {
		return nil
	}
	return r.checkUserIn(r.flow, r.vars.Scope.IsNone(), &knownInputs{members: r.vars.Inputs.Map()})
}

// checkUserIn is [run.checkUserNamed] for a flow with inputs, and the flows that its steps run. isNone is set if
// its memory belongs to no user.
func (r *run) checkUserIn(f *flow.Flow, isNone bool, inputs *knownInputs) error {
	sure := sureSteps(f)
	for i, step := range f.Steps {
		if !sure[i] {
			continue
		}
		if isNone && r.needsUser(step, inputs) {
			return r.failureOf(errWithoutUser(f, step), step.Pos)
		}
		if step.Sub == nil || step.Sub.User == nil {
			continue
		}
		inner := r.inputsInside(step, inputs)
		user, isKnown := r.renderKnown(step.Sub.User, inner)
		isBlank := isKnown && strings.TrimSpace(prompt.Text(user)) == ""
		if err := r.checkUserIn(step.Sub, isBlank, inner); err != nil {
			return err
		}
	}
	return nil
}

// errWithoutUser is the error of a step that works in a memory without a user: the flow names no user, or uses the
// user of the run, which has none.
func errWithoutUser(f *flow.Flow, step *flow.Step) error {
	err := calls.Errorf(calls.Invalid, "step %s: the flow names no user whose memories would be meant", step.ID)
	if f.User != nil {
		return err.WithHint("memory.user of the flow is empty in this run: name the user, by run --user, a token of a user, or user of the request")
	}
	return err.WithHint(`write memory: {user: "{{ run.user }}"} in the flow, and name the user of the run, as run --user does`)
}

// needsUser reports whether a step works in the memory of the flow's user, and not in all users' memories.
func (r *run) needsUser(step *flow.Step, inputs *knownInputs) bool {
	info := step.Def.Info
	mayFill := step.EnableFilling && len(info.AllUsers) > 0
	if !info.UsesMemory || mayFill {
		return false
	}
	_, all := r.findAllUsers(step, inputs)
	return all == nil
}

// knownInputs are the inputs of a flow as far as they are known before the run. For example, of
// {user: "{{ run.user }}", city: "{{ args.city }}"} the user is known and the city is not.
type knownInputs struct {
	// members has all given inputs, except the ones in hidden; nil if nothing is known.
	members *value.Map
	hidden  []string
}

// knows reports whether the value at a path of names below inputs is known.
func (k *knownInputs) knows(path []string) bool {
	switch {
	case k.members == nil:
		return false
	case len(path) == 0:
		return len(k.hidden) == 0
	}
	return !slices.Contains(k.hidden, path[0])
}

// inputsInside returns the inputs that a step gives the flow that it runs, as far as they are known.
func (r *run) inputsInside(step *flow.Step, outer *knownInputs) *knownInputs {
	inner := &knownInputs{}
	if step.EnableFilling { // a model may give any that the step leaves out
		return inner
	}
	given, rest := flow.Descend(step.With, "/inputs")
	members := value.NewMap(0)
	if given.Map == nil {
		v, isKnown := r.renderKnown(given, outer)
		if !isKnown {
			return inner
		}
		v, _ = v.At(rest)
		members = v.Map().Clone()
	} else if rest == "" {
		for _, m := range given.Map {
			v, isKnown := r.renderKnown(m.Param, outer)
			if isKnown {
				members.Set(m.Key, v)
			} else {
				inner.hidden = append(inner.hidden, m.Key)
			}
		}
	}
	inner.members = step.Sub.Inputs.ApplyDefaults(value.OfMap(members)).Map()
	return inner
}

// renderKnown renders a parameter of a flow with inputs, if it names nothing that is only known later.
func (r *run) renderKnown(p *flow.Param, inputs *knownInputs) (v value.Value, isKnown bool) {
	isKnown = true
	p.EachRef(func(ref prompt.Ref) {
		switch ref.Path[0] {
		case "run":
		case "inputs":
			isKnown = isKnown && inputs.knows(ref.Path[1:])
		case "question":
			isKnown = isKnown && inputs.knows(ref.Path)
		default:
			isKnown = false
		}
	})
	if !isKnown {
		return v, false
	}
	question, _ := inputs.members.Get("question")
	names := prompt.Values{Map: value.Pairs("inputs", inputs.members, "question", question, "run", value.Must(r.vars.Run))}
	v, err := r.secrets.render(r.life.parent, p, names)
	return v, err == nil
}

// setZone sets the run's clock to the flow's zone, else of its user's, else of the settings. A time with an offset
// of its own, as --now may give, keeps that. A sub-flow has the zone around it, unless it names one, or works in
// the memory of another user and none is named around it: for example one run for each user.
func (r *run) setZone() error {
	zone, err := r.flowZone()
	if err != nil {
		return err
	}
	r.isZoneNamed = zone != nil || r.outer != nil && r.outer.run.isZoneNamed
	if !r.isZoneNamed {
		zone = r.userZone()
	}
	if zone == nil && r.outer == nil {
		zone = r.exec.Zone
	}
	if zone == nil {
		return nil
	}
	clock := r.env.Clock
	r.env.Clock = func() time.Time { return calls.TimeIn(clock(), zone) }
	r.vars.Run.StartedAt = calls.TimeIn(r.vars.Run.StartedAt, zone)
	return nil
}

// flowZone returns the time zone that the flow names, nil for none.
func (r *run) flowZone() (*time.Location, error) {
	p := r.flow.Timezone
	if p == nil {
		return r.flow.Zone, nil
	}
	v, err := r.secrets.render(r.life.parent, p, r.newScope(r.life.parent, p))
	if err != nil {
		return nil, r.failureOf(err, p.Pos)
	}
	name := strings.TrimSpace(prompt.Text(v))
	if v.IsNull() || name == "" {
		return nil, nil
	}
	zone, err := flow.FindZone(name)
	if err != nil {
		return nil, r.failureOf(err, p.Pos)
	}
	return zone, nil
}

// userZone returns the time zone of the user whose memory the flow names, else of the run's user; nil for none, and in a sub-flow
// that names no memory.
func (r *run) userZone() *time.Location {
	if r.exec.UserZone == nil {
		return nil
	}
	user := r.vars.Run.User
	if p := r.flow.User; p != nil {
		v, err := r.secrets.render(r.life.parent, p, r.newScope(r.life.parent, p))
		if err != nil {
			return nil // setMemory reports it
		}
		user = prompt.Text(v)
	} else if r.outer != nil {
		return nil
	}
	return r.exec.UserZone(user)
}
