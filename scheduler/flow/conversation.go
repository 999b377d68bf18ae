package flow

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// conversationName is the name of the messages before the question in templates.
const conversationName = "conversation"

// readsConversation reports whether a run of the flow reads the messages that came before the question:
// a template names them, or a call reads them by itself, as its definition says.
func (u *unit) readsConversation() bool {
	if slices.ContainsFunc(slices.Concat(u.outputUses, u.errorUses, u.memoryUses, u.zoneUses), isConversation) {
		return true
	}
	return slices.ContainsFunc(u.steps, u.stepReadsConversation)
}

func isConversation(use nameUse) bool { return len(use.Path) > 0 && use.Path[0] == conversationName }

// stepReadsConversation reports whether a step reads the conversation, including the call that fills its
// parameters and the parts that its call runs inside it.
func (u *unit) stepReadsConversation(s *stepUnit) bool {
	if slices.ContainsFunc(slices.Concat(s.whenUses, s.eachUses, s.uses, s.approveUses()), isConversation) {
		return true
	}
	if filler, ok := u.loading.Registry.Call(CallSlot); ok && s.EnableFilling && callReadsConversation(filler, value.OfMap(nil)) {
		return true
	}
	params := value.OfMap(nil)
	if s.With != nil {
		params = s.With.Written()
	}
	if callReadsConversation(s.Def, params) {
		return true
	}
	reads := func(f *Flow) bool { return f.ReadsConversation }
	if s.Sub != nil && reads(s.Sub) || slices.ContainsFunc(s.Inner, reads) {
		return true
	}
	return slices.ContainsFunc(u.askInside(s), func(in calls.Inside) bool {
		def, ok := u.loading.Registry.Call(in.Call)
		return ok && callReadsConversation(def, value.OfMap(nil))
	})
}

// stepCanWait reports whether a step may wait for a person. A tool of an agent with missing values reports them to
// the model, and does not wait.
func (u *unit) stepCanWait(s *stepUnit) bool {
	asksForMissing := s.OnMissing == missingAsk && (s.EnableFilling || s.Call == CallSlot)
	asks := s.Def.Info != nil && s.Def.Info.MayAsk
	isApproved := s.Approve != nil || len(s.ToolApprovals) > 0
	if asksForMissing || asks || isApproved {
		return true
	}
	waits := func(f *Flow) bool { return f.CanWait }
	if s.Sub != nil && waits(s.Sub) || slices.ContainsFunc(s.Inner, waits) {
		return true
	}
	return slices.ContainsFunc(u.askInside(s), func(in calls.Inside) bool {
		def, ok := u.loading.Registry.Call(in.Call)
		return ok && def.Info.MayAsk
	})
}

// callReadsConversation reports whether a call with these parameters reads the conversation by itself.
func callReadsConversation(def calls.Definition, params value.Value) bool {
	return def.ReadsConversation != nil && def.ReadsConversation(params)
}

// promptTools finds the names of the tools of the steps that get the prompt of a step: its output messages or system, also by way
// of a call that passes messages on, as in-chat does. Each step is visited once, even if the steps name each
// other.
type promptTools struct {
	takers map[string][]*stepUnit // by the id of the step whose prompt they take
	found  map[string][]string    // by the id of a step; nil while it is looked for
}

func newPromptTools(steps []*stepUnit) *promptTools {
	p := &promptTools{takers: map[string][]*stepUnit{}, found: map[string][]string{}}
	for _, s := range steps {
		s.With.EachRef(func(ref prompt.Ref) {
			path := ref.Path
			isPrompt := len(path) > 1 && (path[1] == "messages" || path[1] == "system")
			if !isPrompt {
				return
			}
			takers := p.takers[path[0]]
			if isKnown := len(takers) > 0 && takers[len(takers)-1] == s; !isKnown {
				p.takers[path[0]] = append(takers, s)
			}
		})
	}
	return p
}

// toolsAfter returns the names for a step. They may be incomplete for steps that name each other in a circle,
// which lint refuses.
func (p *promptTools) toolsAfter(id string) (names []string) {
	if known, ok := p.found[id]; ok {
		return known
	}
	p.found[id] = nil
	for _, s := range p.takers[id] {
		var found []string
		switch {
		case s.Def.Tools != nil:
			found = sureTools(s.Def.Tools(s.With.Written()))
		case s.known && len(s.Def.Info.Messages) > 0:
			found = p.toolsAfter(s.ID)
		}
		for _, name := range found {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	p.found[id] = names
	return names
}

// sureTools returns the names of the tools that every run has.
func sureTools(tools []calls.Tool, _ bool) (names []string) {
	for _, t := range tools {
		if !t.Maybe {
			names = append(names, t.Name)
		}
	}
	return names
}
