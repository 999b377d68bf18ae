package explain

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

func (x *explainer) rootFrame(flow *flow.Flow) *frame {
	return x.frameOf(frameKey{flow: flow}, func() *frame { return &frame{flow: flow, inputs: x.record.Inputs, until: x.untilOf(flow)} })
}

// frameOf returns the frame of a key: always the same one, so that the facts cached for its sites are found again.
func (x *explainer) frameOf(key frameKey, newFrame func() *frame) *frame {
	known, ok := x.frames[key]
	if !ok {
		known = newFrame()
		x.frames[key] = known
	}
	return known
}

// subFlow returns the outputs of the flow that a step runs; ok is false if that flow is not known.
func (x *explainer) subFlow(at site) (outputs site, ok bool) {
	if at.step == nil || at.step.Sub == nil || at.got == nil {
		return site{}, false
	}
	sub := at.step.Sub
	inner := x.frameOf(frameKey{sub, at.got}, func() *frame {
		inputs, _ := at.got.Params.Get("inputs")
		return &frame{flow: sub, inputs: sub.Inputs.ApplyDefaults(inputs), prefix: at.got.ID + "/", until: at.until, around: at}
	})
	return site{frame: inner}, true
}

var onlyPseudo = regexp.MustCompile(`^[a-z][a-z0-9_-]*-[0-9]+(/[a-z][a-z0-9_-]*-[0-9]+)*$`)

// findSite finds the step of a flow that an id of the record means, or that a pseudo-step ran in.
func (x *explainer) findSite(flow *flow.Flow, got *journal.StepState) site {
	at, id := x.rootFrame(flow), got.ID
	for {
		segment, rest, inner := strings.Cut(id, "/")
		name, _, _ := strings.Cut(segment, "[")
		s, ok := at.flow.Step(name)
		if !ok {
			return site{frame: at, got: got}
		}
		if !inner || onlyPseudo.MatchString(rest) {
			return site{at, s, got}
		}
		host := site{at, s, x.record.Step(at.prefix + segment)}
		if inTool, left, ok := x.flowOfTool(host, rest); ok {
			host, rest = inTool, left
		}
		sub, ok := x.subFlow(host)
		if !ok {
			return site{got: got}
		}
		at, id = sub.frame, rest
	}
}

// host returns the site of the step of the flow that a pseudo-step ran inside.
func (x *explainer) host(at site) site {
	at.got = x.record.HostOf(at.got)
	return at
}

// stepOf returns the record of a step of the frame, or of its item if members begin with the index of one; got is
// nil if the step did not run.
func (x *explainer) stepOf(at *frame, s *flow.Step, members []string) (run site, rest []string) {
	id := at.prefix + s.ID
	if s.ForEach != nil && len(members) > 0 {
		if _, err := strconv.Atoi(members[0]); err == nil {
			item, whole := id+"["+members[0]+"]", x.record.Step(id)
			if isGivenWhole := whole != nil && whole.IsGiven && x.record.Step(item) == nil; !isGivenWhole {
				id, members = item, members[1:]
			}
		}
	}
	run = site{at, s, x.record.Step(id)}
	if run.got == nil || len(x.earlier) == 0 {
		return run, members
	}
	if ran := x.siteOf(run.got); ran.step != nil { // it may have run before the flow was edited
		return ran, members
	}
	return run, members
}

// upstream returns the finished steps that a site sees, in file order: its ancestors, or
// all for the outputs of the flow.
func (x *explainer) upstream(at site) (finished []*flow.Step) {
	for i, s := range at.flow.Steps {
		if at.step != nil && !slices.Contains(at.flow.Ancestors(at.step.Index), i) {
			continue
		}
		if got := x.record.Step(at.prefix + s.ID); got != nil && got.State == journal.StepStatusFinished {
			finished = append(finished, s)
		}
	}
	return finished
}

// siteOf finds the step that a record is of, or that a pseudo-step ran in, in the flow that it ran with.
func (x *explainer) siteOf(got *journal.StepState) site {
	for _, e := range x.earlier {
		if got.StartedSeq > 0 && got.StartedSeq <= e.Until {
			x.usedEarlier[e.Flow] = true
			return x.findSite(e.Flow, got)
		}
	}
	return x.findSite(x.flow, got)
}

// untilOf returns the last event for which the run had a flow; 0 for the flow that it has now.
func (x *explainer) untilOf(f *flow.Flow) int64 {
	i := slices.IndexFunc(x.earlier, func(e EarlierFlow) bool { return e.Flow == f })
	if i < 0 || f == x.flow {
		return 0
	}
	return x.earlier[i].Until
}

// callerOf returns the site of the call whose parameters the origins point into: the step, or the call that it ran
// inside itself. The pieces of a call's work share its parameters.
func (x *explainer) callerOf(at site) site {
	for journal.IsPseudoStep(at.got.ID) && at.got.Input.IsNull() {
		outer := x.record.Step(journal.OuterPath(at.got.ID))
		if outer == nil {
			break
		}
		at.got = outer
	}
	return at
}

// siteInside returns the site of a call or flow that an agent's tool has run; ok is false if its definition is
// unknown.
func (x *explainer) siteInside(agent site, inner *journal.StepState) (at site, ok bool) {
	if known, isKnown := x.inside[inner]; isKnown {
		return site{agent.frame, known, inner}, true
	}
	step := *agent.step
	step.Call, step.Def, step.Sub, step.ForEach, step.EnableFilling = inner.Call, calls.Definition{}, nil, nil, false
	if inner.Call == flow.CallFlow {
		file, _ := textAt(inner.Params, "path")
		step.Sub = innerFlow(agent, file)
		ok = step.Sub != nil || inner.IsGiven
	} else {
		step.Def, ok = agent.definitionOf(inner)
	}
	if !ok {
		return site{}, false
	}
	x.inside[inner], x.agents[&step] = &step, agent.step
	return site{agent.frame, &step, inner}, true
}

// innerFlow returns the flow of a file that the tools of an agent name; nil if it was not read with the flow.
func innerFlow(agent site, file string) *flow.Flow {
	file = filepath.FromSlash(file)
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(agent.flow.File), file)
	}
	for _, inner := range agent.step.Inner {
		if filepath.Clean(inner.File) == filepath.Clean(file) {
			return inner
		}
	}
	return nil
}

// agentStep returns the step of the agent that ran this step as a tool; the step itself for any other.
func (x *explainer) agentStep(step *flow.Step) *flow.Step {
	if agent, ok := x.agents[step]; ok {
		return agent
	}
	return step
}

// flowOfTool returns the site of a step in a flow that an agent's tool has run, and the rest of an id below the
// agent; ok is false if the id is not of such a step.
func (x *explainer) flowOfTool(agent site, id string) (at site, rest string, ok bool) {
	use, below, isInside := strings.Cut(id, "/")
	work, rest, hasRest := strings.Cut(below, "/")
	if agent.got == nil || agent.step.Sub != nil || !isInside || !hasRest {
		return site{}, "", false
	}
	inner := x.record.Step(agent.got.ID + "/" + use + "/" + work)
	if inner == nil || inner.Call != flow.CallFlow {
		return site{}, "", false
	}
	at, ok = x.siteInside(agent, inner)
	return at, rest, ok && at.step.Sub != nil
}
