package explain

import (
	"slices"
	"strconv"
	"sync"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// scopeOf holds the values that the run recorded under the names of a site's templates.
func (x *explainer) scopeOf(at site) recordedNames {
	if at.got != nil {
		at.got = x.record.HostOf(at.got)
	}
	if known, ok := x.scopes[at]; ok {
		return known
	}
	own := value.NewMap(4)
	if at.got != nil {
		for name, v := range at.got.Names.Map().All() {
			own.Set(name, v)
		}
	}
	if index, ok := at.item(); ok {
		list := x.record.Step(at.prefix + at.step.ID).Input
		v, _ := list.At("/" + index)
		i, _ := strconv.ParseInt(index, 10, 64)
		own.Set("item", v)
		own.Set("index", value.OfInt(i))
	}
	scope := recordedNames{x.sharedNamesOf(at), own}
	x.scopes[at] = scope
	return scope
}

// sharedNamesOf returns the names that all items of a step see.
func (x *explainer) sharedNamesOf(at site) *sharedNames {
	key := stepOfFrame{at.frame, at.step}
	if known, ok := x.shared[key]; ok {
		return known
	}
	names := value.NewMap(len(at.flow.Steps) + 5)
	question, ok := at.inputs.Get("question")
	if !ok {
		question = value.OfString("")
	}
	names.Set("inputs", at.inputs)
	names.Set("question", question)
	names.Set("conversation", value.OfList(x.record.Conversation.List()...))
	names.Set("secrets", maskedSecrets(at))
	for _, s := range at.flow.Steps {
		got := x.record.Step(at.prefix + s.ID)
		if got == nil {
			continue
		}
		if got.State == journal.StepStatusFinished {
			names.Set(s.ID, got.Output)
		}
	}
	for _, name := range []string{"summary", "facts"} {
		if v, ok := x.upstreamValue(at, name); ok {
			names.Set(name, v)
		}
	}
	shared := &sharedNames{names, sync.OnceValue(func() value.Value { return x.historyOf(at) })}
	x.shared[key] = shared
	return shared
}

// historyOf returns the inputs and outputs of the steps before.
func (x *explainer) historyOf(at site) value.Value {
	var history []value.Value
	for _, s := range x.upstream(at) {
		got := x.record.Step(at.prefix + s.ID)
		input := got.Input
		if s.ForEach != nil {
			input = x.record.ItemInputs(got)
		}
		history = append(history, value.OfMap(value.Pairs("id", s.ID, "name", s.Name, "description", s.Description, "input", input, "output", got.Output)))
	}
	return value.OfList(history...)
}

// valueOf returns the value of a name with members.
func (x *explainer) valueOf(at site, path []string) (v value.Value, ok bool) {
	v, _ = x.scopeOf(at).valueOf(path[0])
	return v.At(pointerTo(path[1:]))
}

// newestOf returns the newest finished step of a call that a site sees.
func (x *explainer) newestOf(at site, name string) (run site, ok bool) {
	for _, s := range slices.Backward(x.upstream(at)) {
		if s.Def.Info.Provides == name {
			run, _ = x.stepOf(at.frame, s, nil)
			return run, true
		}
	}
	return site{}, false
}

// upstreamValue returns the summary, or the facts, that a site sees.
func (x *explainer) upstreamValue(at site, name string) (v value.Value, ok bool) {
	run, members := x.upstreamPlace(at, name)
	if run.step == nil {
		v, ok = at.inputs.Get(name)
	} else {
		v, ok = run.got.Output.At(pointerTo(members))
	}
	if !ok && name == "summary" {
		return value.OfString(""), true
	}
	if !ok {
		return value.OfList(), true
	}
	return v, ok
}

// upstreamPlace returns the step whose output is the summary, or the facts, that a site sees, and the place in the
// output; it returns no step if they are an input.
func (x *explainer) upstreamPlace(at site, name string) (run site, members []string) {
	run, ok := x.newestOf(at, name)
	if !ok {
		return site{}, nil
	}
	if _, has := run.got.Output.Get(name); !has {
		name = "text"
	}
	return run, []string{name}
}
