package explain

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
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
	parts  map[*journal.StepState][]calls.Part
	scopes map[site]recordedScope
	traces map[tracedParam]*trace
	known  map[explained]explanation
	given  map[site]map[string][]string // by text, where a site was given it, unless the flow writes it out
	placer placer

	hasSecrets bool // the flow mentions some
}

// frame is one flow of the run: the outermost, or one that a step runs.
type frame struct {
	flow   *flow.Flow
	inputs value.Value
	prefix string // of its steps in the record: outer[1]/
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

// recordedScope is what the run recorded under the names of a site's templates.
type recordedScope struct {
	prompt.Values
	skipped    map[string]bool
	hasSecrets bool
}

var _ prompt.SecretScope = recordedScope{}

// Lookup returns the value of a name, in which masks are secrets.
func (s recordedScope) Lookup(name string) (v value.Value, ok bool, err error) {
	v, ok, err = s.Values.Lookup(name)
	if s.hasSecrets {
		v = secret.MarkMasks(v)
	}
	return v, ok, err
}

// HoldsSecrets reports whether the run had secrets.
func (s recordedScope) HoldsSecrets() bool { return s.hasSecrets }

// IsAbsent reports whether the name is that of a step that was skipped.
func (s recordedScope) IsAbsent(name string) bool { return s.skipped[name] }

// side is what of a step's record a text is in.
type side string

const (
	ofInput  side = "/input"
	ofOutput side = "/output"
	// ofParams are the rendered parameters.
	ofParams side = "/params"
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

// used returns the key of all that a site has at a pointer, as what others were computed from.
func used(at site, of side, pointer string) explained {
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
