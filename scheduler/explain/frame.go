package explain

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

func (x *explainer) rootFrame(flow *flow.Flow) *frame {
	return x.frameOf(frameKey{flow: flow}, func() *frame { return &frame{flow: flow, inputs: x.record.Inputs, until: x.untilOf(flow)} })
}

// frameOf returns the frame of a key: always the same, so that what is known of its sites is found again.
func (x *explainer) frameOf(key frameKey, newFrame func() *frame) *frame {
	known, ok := x.frames[key]
	if !ok {
		known = newFrame()
		x.frames[key] = known
	}
	return known
}

// record returns what the run has of one side of the step.
func (at site) record(of side) value.Value {
	if of == ofInput {
		return at.got.Input
	}
	return at.got.Output
}

// subFlow returns the outputs of the flow that a step runs; ok is false where that flow is
// not known.
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

// stepOf returns the record of a step of the frame, or of the item of it that members
// begin with; it is nil where the step did not run.
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

// newestOf returns the newest finished step of a call that a site sees.
func (x *explainer) newestOf(at site, call string) (run site, ok bool) {
	for _, s := range slices.Backward(x.upstream(at)) {
		if s.Call == call {
			run, _ = x.stepOf(at.frame, s, nil)
			return run, true
		}
	}
	return site{}, false
}

// item returns the index of the item that a site runs for.
func (at site) item() (index string, ok bool) {
	if at.step == nil || at.step.ForEach == nil || at.got == nil {
		return "", false
	}
	rest, found := strings.CutPrefix(at.got.ID, at.prefix+at.step.ID+"[")
	index, _, closed := strings.Cut(rest, "]")
	return index, found && closed
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

// upstreamPlace returns the step whose output is the summary, or the facts, that a site
// sees, and where in the output; no step where they are an input.
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

func pointerTo(members []string) string {
	var pointer strings.Builder
	for _, m := range members {
		pointer.WriteString("/" + value.Escape(m))
	}
	return pointer.String()
}

// atoi reads an index.
func atoi(text string) (i int, ok bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0
}
