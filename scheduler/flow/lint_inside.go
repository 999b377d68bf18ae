package flow

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// lintInside checks the calls and flows that a step's call runs inside itself, such as the
// tools of an agent.
func (u *unit) lintInside(s *stepUnit) {
	for _, in := range u.askInside(s) {
		at := u.positionOf(nodeAt(s.with, in.Pointer))
		u.lintProvidersInside(s, in)
		if def, ok := u.loading.Registry.Call(in.Call); ok {
			u.lintMemory(at, def)
		}
		if in.Flow != "" {
			inner := u.loading.loadInnerFlow(u, at, in.Flow)
			if inner != nil {
				s.Inner = append(s.Inner, inner)
			}
			u.lintInnerInputs(s, in, inner)
		}
	}
}

// lintInnerInputs checks the inputs that a step sets for a flow that its call runs.
func (u *unit) lintInnerInputs(s *stepUnit, in calls.Inside, inner *Flow) {
	if inner == nil || in.With == "" {
		return
	}
	var holes []hole
	params := sketchParam(s.With, "", &holes)
	isHole := func(h hole) bool { return h.pointer == in.With }
	if given, ok := params.At(in.With); !ok || given.Kind() != value.Object || slices.ContainsFunc(holes, isHole) {
		return
	}
	problems := u.checkInputs(inner, in.Flow, params, in.With, holes)
	u.reportParams(s, slices.DeleteFunc(problems, isMissingInput)) // the model gives the rest
}

// askInside asks the call of a step for the calls and flows that it runs inside itself. A panic there is reported
// by askCall, which uses the call in a similar way.
func (u *unit) askInside(s *stepUnit) (inside []calls.Inside) {
	if s.Def.Runs == nil || s.With == nil || s.With.Expr != nil {
		return nil
	}
	defer func() { _ = recover() }()
	params := s.With.Written()
	if params.Kind() != value.Object {
		return nil
	}
	return s.Def.Runs(params)
}

// loadInnerFlow reports the faults of a flow that a call runs inside itself. Unlike the flow of a flow step it may
// run the flow that names it. A run reads it when it needs it. It returns nil if the flow has errors, or is being
// loaded.
func (ld *loading) loadInnerFlow(u *unit, at Position, path string) *Flow {
	full := u.pathBeside(path)
	if known, ok := ld.inner[full]; ok {
		return known
	}
	ld.inner[full] = nil
	src, err := ld.read("", full)
	if ld.recorded && errors.Is(err, fs.ErrNotExist) { // a journal only has flows that have run
		return nil
	}
	if err != nil {
		u.problems = append(u.problems, unreadableProblem(at, path, err))
		return nil
	}
	files, stack, needed := maps.Clone(ld.files), ld.stack, ld.needed
	ld.stack, ld.needed = nil, nil
	ld.inner[full] = ld.loadFlow(full, src, around{u.language, u.messages, false})
	ld.files, ld.stack, ld.needed = files, stack, needed
	return ld.inner[full]
}

// lintProviders checks the names of model providers: known ones, each once.
func (u *unit) lintProviders(k *providersKey) {
	for i, name := range k.names {
		u.lintListed(name, u.loading.Providers, "there is no provider %q", "name one that the configuration has under llm.providers",
			"the configuration has %s under llm.providers")
		if slices.ContainsFunc(k.names[:i], func(before textKey) bool { return before.text == name.text }) {
			u.add(u.positionOf(name.node), "llm names the provider %q twice", name.text).hint("take one out: a provider that has failed is not asked again")
		}
	}
}

// lintStepProviders checks llm of a step, which has no effect if the step asks no model.
func (u *unit) lintStepProviders(s *stepUnit) {
	k := &s.keys.LLM
	if !k.isSet() {
		return
	}
	u.lintProviders(k)
	if !s.known || s.EnableFilling || s.Call == CallFlow {
		return
	}
	if isUsed := s.Def.Info.UsesLLM || s.Def.Info.UsesMemory || s.Def.Runs != nil; !isUsed {
		u.warn(u.positionOf(k.key), "llm does nothing here: %s asks no model", s.Call).hint("take it out")
	}
}

// lintAbilities refuses a step that needs an ability that the model of one of its providers lacks. For example,
// images reach it through the steps before it.
func (u *unit) lintAbilities(s *stepUnit) {
	if !s.known || !s.Def.Info.UsesLLM {
		return
	}
	names, at := s.LLM, s.keys.LLM.key
	if len(names) == 0 {
		names, at = u.flow.LLM, u.keys.LLM.key
	}
	if len(names) == 0 {
		names = u.loading.Usual
	}
	if at == nil {
		at = s.keys.Call.node
	}
	needs := needsOf(s.Step)
	for _, before := range s.Needs {
		step := u.flow.Steps[before]
		isKnown := step.Def.Info != nil // a call that is misspelt is a problem of its own
		if isKnown && len(s.Def.Info.Messages) > 0 && !step.Def.Info.UsesLLM {
			needs = append(needs, needsOf(step)...)
		}
	}
	for _, name := range names {
		for _, ability := range u.loading.Lacks[name] {
			if slices.Contains(needs, ability) {
				u.add(u.positionOf(at), "the step %s needs %s, which the provider %q lacks", s.ID, ability, name).
					hint("name another provider under llm, or correct lacks in the settings")
			}
		}
	}
}

// needsOf asks the call of a step for the abilities that the model must have.
func needsOf(s *Step) []string {
	if s.Def.Needs == nil || s.With == nil || s.With.Expr != nil {
		return nil
	}
	params := s.With.Written()
	if params.Kind() != value.Object {
		return nil
	}
	return s.Def.Needs(params)
}

// lintProvidersInside checks the names of the providers of a call or flow that a call runs inside its step, as far
// as they are literal.
func (u *unit) lintProvidersInside(s *stepUnit, in calls.Inside) {
	given, ok := s.With.Written().At(in.LLM)
	if in.LLM == "" || !ok || given.IsNull() {
		return
	}
	n := yaml.Resolve(nodeAt(s.with, in.LLM))
	list := []*yaml.Node{n}
	if n.Kind == yaml.Sequence {
		list = n.Content
	}
	var k providersKey
	for _, c := range list {
		if text := yaml.Resolve(c); text.ShortTag() == "!!str" {
			k.names = append(k.names, textKey{keyPlace{c, c}, text.Value})
		}
	}
	u.lintProviders(&k)
}
