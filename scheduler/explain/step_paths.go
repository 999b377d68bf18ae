package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
)

// StepPath is a path that steps of a run may have. Numbers that only the run knows, of items and of work inside a
// step, are left open, for example the 0 in each[0].
type StepPath string

// The open places in a path. No name has these characters.
const (
	oneDigit   = '\x00'
	moreDigits = '\x01'
	anyText    = '\x02'
	anyNumber  = string(oneDigit) + string(moreDigits)
)

// maxPaths bounds how many paths are listed of a flow; of one with more, any may be.
const maxPaths = 10_000

// StepPaths lists the paths that steps of a run of the flow may have.
func StepPaths(f *flow.Flow) []StepPath {
	var l pathLister
	l.addFlow(f, "")
	if len(l.paths) > maxPaths {
		return []StepPath{StepPath(anyText)}
	}
	return l.paths
}

// pathLister collects paths of steps.
type pathLister struct {
	paths []StepPath
	open  []*flow.Flow // the flows whose steps are being listed, outermost first
}

// addFlow adds the steps of a flow, whose paths have a prefix.
func (l *pathLister) addFlow(f *flow.Flow, prefix string) {
	if slices.Contains(l.open, f) {
		l.add(prefix + string(anyText))
		return
	}
	l.open = append(l.open, f)
	for _, s := range f.Steps {
		l.addStep(s, prefix+s.ID)
		if s.ForEach != nil {
			l.addStep(s, prefix+s.ID+"["+anyNumber+"]")
		}
	}
	l.open = l.open[:len(l.open)-1]
}

func (l *pathLister) add(path string) { l.paths = append(l.paths, StepPath(path)) }

// addStep adds a step, and the steps and calls inside it.
func (l *pathLister) addStep(s *flow.Step, path string) {
	if len(l.paths) > maxPaths {
		return
	}
	l.add(path)
	if s.EnableFilling {
		l.add(path + "/" + flow.CallSlot + "-" + anyNumber)
		l.addSubsteps(flow.CallSlot, path+"/"+flow.CallSlot+"-"+anyNumber+"/")
	}
	switch {
	case s.Sub != nil:
		l.addFlow(s.Sub, path+"/")
	case s.Def.Tools != nil && !s.Def.Info.NoSubsteps:
		l.addTools(s, path+"/")
	default:
		l.addSubsteps(s.Call, path+"/")
	}
}

// addTools adds the rounds of a call that works with tools, the tools' uses, and the steps that they run.
func (l *pathLister) addTools(s *flow.Step, prefix string) {
	l.add(prefix + calls.RoundSubstep + "-" + anyNumber)
	with := s.With.Written()
	tools, isWhole := s.Def.Tools(with)
	if with.IsNull() || !isWhole {
		l.add(prefix + string(anyText))
	}
	for _, t := range tools {
		use := prefix + calls.ToolSubstep(t.Name) + "-" + anyNumber
		l.add(use)
		if t.IsOwn {
			continue
		}
		if t.Call == "" {
			l.add(use + "/" + string(anyText))
			continue
		}
		if t.Call != flow.CallFlow {
			l.add(use + "/" + t.Call + "-" + anyNumber)
			l.addSubsteps(t.Call, use+"/"+t.Call+"-"+anyNumber+"/")
			continue
		}
		run := use + "/" + flow.CallFlow + "-" + anyNumber
		l.add(run)
		if len(s.Inner) == 0 || len(s.Inner) < CountFlows(tools) {
			l.add(run + "/" + string(anyText))
		}
		for _, f := range s.Inner {
			l.addFlow(f, run+"/")
		}
	}
}

// addSubsteps adds the work inside a call, other than an agent's in the flow.
func (l *pathLister) addSubsteps(call, prefix string) {
	def, isKnown := l.open[len(l.open)-1].FindCall(call)
	switch {
	case isKnown && def.Info.NoSubsteps:
	case call == flow.CallSlot:
		l.add(prefix + "ask-" + anyNumber)
	default:
		l.add(prefix + string(anyText))
	}
}

// Fits reports whether a step with the path can match a pattern, in which * matches any text.
func (p StepPath) Fits(pattern string) bool {
	failed := make([]bool, (len(pattern)+1)*(len(p)+1))
	var fitsFrom func(i, j int) bool
	fitsFrom = func(i, j int) bool {
		if i == len(pattern) && j == len(p) {
			return true
		}
		at := i*(len(p)+1) + j
		if failed[at] {
			return false
		}
		isStar := i < len(pattern) && pattern[i] == '*'
		isDigit := i < len(pattern) && '0' <= pattern[i] && pattern[i] <= '9'
		isFit := isStar && (fitsFrom(i+1, j) || j < len(p) && fitsFrom(i, j+1))
		if j < len(p) && !isFit && !isStar {
			switch p[j] {
			case oneDigit:
				isFit = isDigit && fitsFrom(i+1, j+1)
			case moreDigits:
				isFit = fitsFrom(i, j+1) || isDigit && fitsFrom(i+1, j)
			case anyText:
				isFit = fitsFrom(i, j+1) || i < len(pattern) && fitsFrom(i+1, j)
			default:
				isFit = i < len(pattern) && pattern[i] == p[j] && fitsFrom(i+1, j+1)
			}
		}
		failed[at] = !isFit
		return isFit
	}
	return fitsFrom(0, 0)
}

// examplePath returns a path that fits.
func (p StepPath) examplePath() string {
	return strings.NewReplacer(anyNumber, "1", string(anyText), "...").Replace(string(p))
}

// MayRun reports whether a run of the flow can have the step, as far as the flow shows. known are the steps that
// it can have: the steps below the same step if there are some, else the steps of the flow.
func MayRun(f *flow.Flow, id string) (known []string, ok bool) {
	if _, isOwn := f.Step(id); isOwn {
		return nil, true
	}
	paths := StepPaths(f)
	if slices.ContainsFunc(paths, func(p StepPath) bool { return p.Fits(id) }) {
		return nil, true
	}
	outer, _, isInside := strings.Cut(id, "/")
	var own, below []string
	for _, p := range paths {
		path := p.examplePath()
		if isInside && strings.HasPrefix(path, outer+"/") {
			below = append(below, path)
		} else if !strings.ContainsAny(path, "/[") {
			own = append(own, path)
		}
	}
	if len(below) > 0 {
		return below, false
	}
	return own, false
}
