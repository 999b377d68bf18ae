package flow

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// lintCalls checks steps against their calls.
func (u *unit) lintCalls() {
	for s := range u.eachStep() {
		u.lintKeys(s)
		if s.known {
			u.lintParams(s)
			u.lintMemory(u.positionOf(s.keys.Call.node), s.Def)
			u.lintInside(s)
			u.lintAbilities(s)
			u.lintTemplates(s)
			u.lintApprovals(s)
		}
		s.Output = u.outputOf(s)
	}
	for i, name := range u.keys.Plugins {
		if err := u.loading.Registry.CheckPlugin(name.text); name.isSet() && err != nil {
			u.add(u.positionOf(name.node), "%v", err).hintOf(err)
		} else {
			u.lintListed(name, u.loading.Plugins, "there is no plugin %q", "install it, or take it out", "there are %s; install it, or take it out")
		}
		if slices.Contains(u.flow.Plugins[:min(i, len(u.flow.Plugins))], name.text) {
			u.add(u.positionOf(name.node), "duplicate plugin %q", name.text)
		}
	}
	u.lintLanguage()
	u.lintProviders(&u.keys.LLM)
}

// memoryHint is the remedy for everything that lacks a user of the memory.
const memoryHint = `write memory: {user: "{{ run.user }}"} in the flow`

// hasMemory reports whether the flow names the user of its memory. A user named by a flow around it does not
// count.
func (u *unit) hasMemory() bool { return u.flow.User != nil && !isBlank(u.flow.User) }

// lintScope refuses memory: without a user, which would name no memory.
func (u *unit) lintScope() {
	if u.keys.Memory == nil || u.hasMemory() || u.loading.recorded {
		return
	}
	n := u.keys.Memory.itself.node
	_, _, isGiven := yaml.Walk(n, "/user")
	if isWrong := isGiven && u.flow.User == nil; isWrong { // it was refused when it was read
		return
	}
	u.add(u.positionOf(n), "memory names no user whose memory it is").hint(memoryHint)
}

// lintMemory refuses a call that works in a memory, in a flow that names none. A flow that a journal kept may have
// begun before that was refused: its call fails.
func (u *unit) lintMemory(at Position, def calls.Definition) {
	isScoped := u.hasMemory() || u.keys.Memory != nil // lintScope has reported one without a user
	if isScoped || u.loading.recorded || !def.Info.UsesMemory {
		return
	}
	u.add(at, "%s works in the memory of a user, and the flow names none", def.Info.Name).hint(memoryHint)
}

// lintListed checks a name against a list of known ones; a nil list is not known. unknown and listed are the
// formats of message and hint, none is the hint if the list is empty.
func (u *unit) lintListed(k textKey, known []string, unknown, none, listed string) {
	if !k.isSet() || known == nil || slices.Contains(known, k.text) {
		return
	}
	p := u.add(u.positionOf(k.node), unknown, k.text)
	p.hint(none, []any(nil)...)
	p.suggest(k.text, known, listed)
}

// lintOverride finds names in override_input that are not parameters of the call: it refuses values filled in
// there.
func (u *unit) lintOverride(s *stepUnit) {
	if !s.known || s.Def.Info.Params == nil {
		return
	}
	doc := s.Def.Info.Params.Doc()
	for name := range s.OverrideInput.Map().All() {
		if found := lookUpPath(doc, []string{name}); found.unknown >= 0 {
			at := keyAt(s.keys.OverrideInput.node, "/"+value.Escape(name))
			u.add(u.positionOf(at), "%s has no parameter %q", s.Call, name).suggest(name, found.names, "it has %s")
		}
	}
}

// lintKeys finds keys of a step that do nothing without another.
func (u *unit) lintKeys(s *stepUnit) {
	k := s.keys
	if k.MaxParallel.isSet() && !k.ForEach.isSet() {
		u.add(u.positionOf(k.MaxParallel.key), "max_parallel does nothing without for_each").hint("take it out")
	}
	if k.Queue.isSet() && s.Call != CallFlow {
		u.add(u.positionOf(k.Queue.key), "queue does nothing here: %s runs in the process of its run", s.Call).
			hint("put the step into a flow of its own, and run that with call: flow")
	}
	if k.OverrideInput.isSet() && !s.EnableFilling {
		u.add(u.positionOf(k.OverrideInput.key), "override_input does nothing without enable_filling").hint("add enable_filling: true")
	}
	u.lintStepProviders(s)
	u.lintOverride(s)
	mayAsk := s.EnableFilling || s.Call == CallSlot || !s.known
	if k.OnMissing.isSet() && !mayAsk {
		u.warn(u.positionOf(k.OnMissing.key), "on_missing does nothing here: %s does not ask for values", s.Call).
			hint("it belongs to slot, or to a step with enable_filling: true")
	}
	if s.EnableFilling {
		if _, ok := u.loading.Registry.Call(CallSlot); !ok {
			u.add(u.positionOf(k.EnableFilling.key), "enable_filling needs the call %s, which does not exist here", CallSlot).hint("give all parameters under with")
		}
	}
	if s.ForEach == nil {
		return
	}
	v, isStatic := s.ForEach.Static()
	isOtherValue := isStatic && v.Kind() != value.List
	if isOtherValue || s.ForEach.Text != nil {
		u.add(s.ForEach.Pos, "for_each wants a list, or one {{ expression }} that gives one")
	}
}
