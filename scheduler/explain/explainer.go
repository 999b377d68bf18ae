package explain

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxHops bounds how many steps a text is followed back through.
const maxHops = 64

// explainer follows texts back through the flows of one run. Explain makes one for each prompt list; it is not
// safe for concurrent use.
type explainer struct {
	ctx     context.Context //nolint:containedctx // lives for one Explain
	flow    *flow.Flow      // the outermost
	earlier []EarlierFlow   // its versions before edits
	frames  map[frameKey]*frame
	// usedEarlier are the flows of earlier that explained steps ran with.
	usedEarlier map[*flow.Flow]bool
	record      *journal.RunState
	counter     llm.Counter
	seen        map[string]bool // steps whose left-out parts are listed
	leftOut     []LeftOut
	// Caches: parts by the step, names by the site, the records of renderings.
	parts    map[*journal.StepState]outputParts
	scopes   map[site]recordedNames
	shared   map[stepOfFrame]*sharedNames
	recorded map[recordKey]*filledSpans
	known    map[explained]explanation
	placer   placer
	// unrecorded is set once a rendered text was met that has no record.
	unrecorded bool
	// inside caches the step that siteInside makes for a call or flow that a tool ran, agents the step of its agent.
	inside map[*journal.StepState]*flow.Step
	agents map[*flow.Step]*flow.Step
}

// newExplainer returns an explainer with empty caches.
func newExplainer(ctx context.Context, f *flow.Flow, record *journal.RunState, counter llm.Counter, earlier []EarlierFlow) *explainer {
	return &explainer{
		ctx: ctx, flow: f, earlier: earlier, frames: map[frameKey]*frame{}, usedEarlier: map[*flow.Flow]bool{}, record: record, counter: counter, seen: map[string]bool{},
		parts: map[*journal.StepState]outputParts{}, scopes: map[site]recordedNames{}, shared: map[stepOfFrame]*sharedNames{}, recorded: map[recordKey]*filledSpans{},
		known: map[explained]explanation{}, placer: placer{}, inside: map[*journal.StepState]*flow.Step{}, agents: map[*flow.Step]*flow.Step{},
	}
}

// explained identifies a text that was explained: a text at a pointer of a site's output, input or parameters.
type explained struct {
	at            site
	of            side
	pointer, text string
	isUsed        bool // as a source of computed text: the whole value, and text is ""
}

// usedKey returns the key of everything that a site has at a pointer, as the source of a computed text.
func usedKey(at site, of side, pointer string) explained {
	return explained{at: at, of: of, pointer: pointer, isUsed: true}
}

// explanation is how a text was explained, and after how many hops.
type explanation struct {
	pieces []Piece
	hops   int
}

// explainOnce explains a text that may have been explained before. If texts are computed from many others, which
// are computed from many others, each is explained once: otherwise the time would grow exponentially with the
// steps.
func (x *explainer) explainOnce(key explained, hops int, explain func() []Piece) []Piece {
	known, isKnown := x.known[key]
	if !isKnown || known.hops > hops { // fewer hops may be followed further
		known = explanation{explain(), hops}
		x.known[key] = known
	}
	return slices.Clone(known.pieces)
}
