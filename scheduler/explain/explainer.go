package explain

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxHops bounds how many steps a text is followed back through.
const maxHops = 64

// explainer follows texts back through the flows of one run. Explain makes one for each
// prompt list; it is not safe for concurrent use.
type explainer struct {
	ctx     context.Context //nolint:containedctx // lives for one Explain
	flow    *flow.Flow      // the outermost
	earlier []EarlierFlow   // what that was before
	frames  map[frameKey]*frame
	// usedEarlier are those of earlier that steps ran with which have been looked at.
	usedEarlier map[*flow.Flow]bool
	record      *journal.RunState
	counter     llm.Counter
	seen        map[string]bool // steps whose left-out parts are listed
	leftOut     []LeftOut
	// What was found out before: parts by the step, scopes by the site, renderings by the
	// parameter in its site.
	parts  map[*journal.StepState]outputParts
	scopes map[site]recordedScope
	shared map[stepOfFrame]*sharedNames
	traces map[tracedParam]*trace
	known  map[explained]explanation
	placer placer
	// inside caches the step that siteInside makes for a call or flow that a tool ran, agents the step of its agent.
	inside map[*journal.StepState]*flow.Step
	agents map[*flow.Step]*flow.Step

	hasSecrets bool // the flow mentions some
}

// frame is one flow of the run: the outermost, or one that a step runs.
type frame struct {
	flow   *flow.Flow
	inputs value.Value
	prefix string // of its steps in the record: outer[1]/
	until  int64  // [EarlierFlow] Until of the outermost flow; 0 for that of now
	// around is the step that runs the flow; its frame is nil for the outermost.
	around site
}

// frameKey is what there is one frame of: a flow, and the step that runs it, nil for the outermost.
type frameKey struct {
	flow *flow.Flow
	got  *journal.StepState
}

// site is a step of a frame as it ran: the step itself, an item of it, or what it ran
// inside itself. A nil step stands for the outputs of the flow, or, where frame is nil as
// well, for a step whose flow is not known.
type site struct {
	*frame
	step *flow.Step
	got  *journal.StepState
}

// side is what of a step's record a text is in.
type side string

const (
	ofInput  side = "/input"
	ofOutput side = "/output"
	// ofParams are the rendered parameters.
	ofParams side = "/params"
	// ofTools are the results of tools.
	ofTools side = "/tools"
	// ofNames are the values that the names of templates have.
	ofNames side = "/names"
)

// explained is a text of a site that was explained: of its output, input or parameters, at a
// pointer.
type explained struct {
	at            site
	of            side
	pointer, text string
	isUsed        bool // as what others were computed from: all of it, and text is ""
}

// usedKey returns the key of all that a site has at a pointer, as what others were computed from.
func usedKey(at site, of side, pointer string) explained {
	return explained{at: at, of: of, pointer: pointer, isUsed: true}
}

// explanation is how a text was explained, and after how many hops.
type explanation struct {
	pieces []Piece
	hops   int
}

// tracedParam is a parameter in its site.
type tracedParam struct {
	at    site
	param *flow.Param
}

// trace is what a parameter rendered to, with the spans of its texts.
type trace struct {
	value   value.Value
	members []prompt.Member
	source  string // of its expressions
	refs    []prompt.Ref
	offset  int // of the template, or the expression, in the text of the parameter

	// at has the index of the first member of each pointer, below those of the members at a pointer and below it: a list may have
	// many thousands.
	at    map[string]int
	below map[string][]int
}

// indexMembers makes members be found by their pointers.
func (t *trace) indexMembers() {
	t.at, t.below = make(map[string]int, len(t.members)), make(map[string][]int, len(t.members))
	for i, m := range t.members {
		if _, isKnown := t.at[m.Pointer]; !isKnown {
			t.at[m.Pointer] = i
		}
		for above := range pointersAbove(m.Pointer) {
			t.below[above] = append(t.below[above], i)
		}
	}
}

// memberAt returns the member that tells of what stands at a pointer: the first at the pointer itself or above it.
func (t *trace) memberAt(pointer string) (m prompt.Member, ok bool) {
	first := len(t.members)
	for above := range pointersAbove(pointer) {
		if i, isKnown := t.at[above]; isKnown {
			first = min(first, i)
		}
	}
	if first == len(t.members) {
		return m, false
	}
	return t.members[first], true
}

// pointersAbove yields a pointer and those above it, down to "".
func pointersAbove(pointer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(pointer) && pointer != "" {
			pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		}
	}
}

// membersBelow returns the members at a pointer and below it.
func (t *trace) membersBelow(pointer string) []prompt.Member {
	members := make([]prompt.Member, len(t.below[pointer]))
	for i, at := range t.below[pointer] {
		members[i] = t.members[at]
	}
	return members
}

// explainOnce explains a text that may have been explained before. Where texts are computed from
// many others, which are computed from many others, each is explained once: without that the
// time grows exponentially with the steps.
func (x *explainer) explainOnce(key explained, hops int, explain func() []Piece) []Piece {
	known, isKnown := x.known[key]
	if !isKnown || known.hops > hops { // fewer hops may be followed further
		known = explanation{explain(), hops}
		x.known[key] = known
	}
	return slices.Clone(known.pieces)
}
