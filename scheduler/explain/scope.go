package explain

import (
	"strconv"
	"sync"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// recordedScope is what the run recorded under the names of a site's templates. The explainer makes one for a site.
type recordedScope struct {
	*sharedNames
	own        *value.Map // what only this item of the step sees
	hasSecrets bool
}

// sharedNames are the names that all items of a step see alike. The explainer makes one for a step of a frame: a step may have
// many thousands of items.
type sharedNames struct {
	names   *value.Map
	history func() value.Value // it has the input of every item, and few templates mention it
	skipped map[string]bool
}

// stepOfFrame is what [sharedNames] are of: a step of a flow as it ran, or its outputs.
type stepOfFrame struct {
	*frame
	step *flow.Step
}

var _ prompt.SecretScope = recordedScope{}

// valueOf returns the value of a name as it is on record.
func (s recordedScope) valueOf(name string) (v value.Value, ok bool) {
	if name == "history" {
		return s.history(), true
	}
	v, ok = s.own.Get(name)
	if !ok {
		v, ok = s.names.Get(name)
	}
	return v, ok
}

// Lookup returns the value of a name, in which masks are secrets.
func (s recordedScope) Lookup(name string) (v value.Value, ok bool, err error) {
	v, ok = s.valueOf(name)
	if s.hasSecrets {
		v = secret.MarkMasks(v)
	}
	return v, ok, nil
}

// HoldsSecrets reports whether the run had secrets.
func (s recordedScope) HoldsSecrets() bool { return s.hasSecrets }

// IsAbsent reports whether the name is that of a step that was skipped.
func (s recordedScope) IsAbsent(name string) bool { return s.skipped[name] }

// scopeOf holds what the run recorded under the names of a site's templates.
func (x *explainer) scopeOf(at site) recordedScope {
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
	scope := recordedScope{x.sharedNamesOf(at), own, x.hasSecrets}
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
	names.Set("secrets", maskedSecrets(at))
	skipped := map[string]bool{}
	for _, s := range at.flow.Steps {
		got := x.record.Step(at.prefix + s.ID)
		if got == nil {
			continue
		}
		if got.State == journal.StepStatusFinished {
			names.Set(s.ID, got.Output)
		}
		skipped[s.ID] = got.State == journal.StepStatusSkipped
	}
	for _, name := range []string{"summary", "facts"} {
		if v, ok := x.upstreamValue(at, name); ok {
			names.Set(name, v)
		}
	}
	shared := &sharedNames{names, sync.OnceValue(func() value.Value { return x.historyOf(at) }), skipped}
	x.shared[key] = shared
	return shared
}

// historyOf returns what the steps before left.
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

// maskedSecrets returns the secrets that the templates of a step, or the outputs of a flow, mention,
// as events show them.
func maskedSecrets(at site) value.Value {
	templates := []*flow.Param{at.flow.Outputs}
	if at.step != nil {
		templates = []*flow.Param{at.step.With, at.step.ForEach}
	}
	secrets := value.NewMap(0)
	for _, p := range templates {
		p.EachRef(func(ref prompt.Ref) {
			if ref.Path[0] == "secrets" && len(ref.Path) > 1 {
				secrets.Set(ref.Path[1], value.OfString(secret.Mask))
			}
		})
	}
	return value.OfMap(secrets)
}
