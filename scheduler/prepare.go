package scheduler

import (
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// prepare finds out what the run works with. The error is a *[Failure].
func (r *run) prepare(inputs value.Value) error {
	r.secrets.learnSecrets(r.flow, r.exec.Secrets)
	checked, err := checkInputs(r.flow, inputs)
	if err != nil {
		return err
	}
	r.vars.Inputs = r.secrets.set.Mark(checked)
	question, _ := checked.Get("question")
	r.vars.Question, _ = question.Str()
	if r.flow.Language != "" {
		r.vars.Language = r.flow.Language
	}
	r.env.Dir = filepath.Dir(r.flow.File)
	r.meter.SetLimit(int64(r.flow.MaxTokens))
	limit := r.exec.MaxTokens
	isTighter := r.flow.MaxTokens == 0 || limit < r.flow.MaxTokens
	if r.outer == nil && limit > 0 && isTighter {
		r.meter.SetLimit(int64(limit))
	}
	if r.flow.LLM != "" && r.exec.Provider != nil {
		r.env.LLM, err = r.exec.Provider(r.flow.LLM)
		if err != nil {
			return r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
		}
	}
	if r.exec.Names != nil {
		r.model.provider, r.model.model = r.exec.Names(r.flow.LLM)
	}
	if err := r.scopeOfMemory(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	r.until, err = findStopPoint(r.exec.Until, r.prefix, r.flow)
	if err != nil {
		return r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
	}
	return nil
}

// scopeOfMemory renders whose memory the flow works in.
func (r *run) scopeOfMemory() error {
	for _, target := range []struct {
		param *flow.Param
		text  *string
	}{{r.flow.User, &r.vars.Scope.User}, {r.flow.Session, &r.vars.Scope.Session}} {
		if target.param == nil {
			continue
		}
		v, err := r.secrets.render(r.life.parent, target.param, r.newScope(r.life.parent, target.param))
		if err == nil && v.HasSecret() {
			err = calls.Errorf(calls.Invalid, "whose memory it is comes from a secret, and memories are stored under it")
		}
		if err != nil {
			return r.failureOf(err, target.param.Pos)
		}
		*target.text = prompt.Text(v)
	}
	return r.checkOwner()
}

// checkOwner returns an error where the memory is that of another user than the one
// that the run is bound to. A flow that names no user works in the memory of that one.
func (r *run) checkOwner() error {
	owner, user := r.exec.Owner, &r.vars.Scope.User
	if !owner.Bound {
		return nil
	}
	pos := flow.Position{File: r.flow.File, Line: 1, Col: 1}
	if r.flow.User != nil {
		pos = r.flow.User.Pos
	} else if *user == "" {
		*user = owner.User
	}
	if *user == owner.User {
		return nil
	}
	err := calls.Errorf(calls.Invalid, "the run is bound to the user %q, and the memory of the flow is that of %q", owner.User, *user).
		WithHint("write memory: {user: \"{{ run.user }}\"}")
	return r.failureOf(err, pos)
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
