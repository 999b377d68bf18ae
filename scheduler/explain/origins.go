package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// anywhere is a source that stands for all: it was not found out where a text comes from.
var anywhere = Source{}

// IsAnywhere reports whether the source stands for all, in [Source.Possible].
func (s Source) IsAnywhere() bool { return s.Kind == "" }

// madeFrom returns the source of a text that was computed from pieces: with the beginnings of their ways, and with
// the files, the parts and the steps that passed them on.
func (s Source) madeFrom(pieces []Piece) Source {
	origins, possible := newSourceSet(s.Origins), newSourceSet(s.Possible)
	known := map[string]bool{} // there may be thousands
	for _, p := range pieces {
		key := wayKey(p.Sources)
		if isSimple := len(p.Sources) > 0 && len(p.Sources[0].Origins)+len(p.Sources[0].Possible) == 0; isSimple && known[key] {
			continue
		} else if isSimple {
			known[key] = true
		}
		for i, from := range p.Sources {
			isOrigin := i == 0 && from.Kind != SourceFlow
			isMaker := from.Kind == SourceStep && from.Call != ""
			if isOrigin || isMaker || from.Kind == SourcePart || from.Path != "" {
				origins.add(from)
			}
			for _, o := range from.Origins {
				origins.add(o)
			}
			for _, o := range from.Possible {
				possible.add(o)
			}
		}
	}
	s.Origins, s.Possible = origins.list, possible.list
	return s
}

// withOrigins adds to the first source of a text what it was made from.
func withOrigins(pieces, from []Piece) []Piece {
	if len(from) == 0 {
		return pieces
	}
	for i := range pieces {
		if len(pieces[i].Sources) > 0 {
			pieces[i].Sources = slices.Clone(pieces[i].Sources)
			pieces[i].Sources[0] = pieces[i].Sources[0].madeFrom(from)
		}
	}
	return pieces
}

// withPossible adds to the first source of a text a source that it may come from.
func withPossible(pieces []Piece, source Source) []Piece {
	return withOrigins(pieces, []Piece{{Sources: []Source{{Kind: SourceFlow, Possible: []Source{source}}}}})
}

// withPossibleFrom adds to the first source of a text that it may come from what others come from.
func withPossibleFrom(pieces, from []Piece) []Piece {
	given := Source{}.madeFrom(from)
	for _, s := range slices.Concat(given.Origins, given.Possible) {
		pieces = withPossible(pieces, s)
	}
	return pieces
}

// sourceSet is a list of sources without equal ones.
type sourceSet struct {
	list []Source
	keys map[string]bool
}

func newSourceSet(sources []Source) *sourceSet {
	set := &sourceSet{keys: map[string]bool{}}
	for _, s := range sources {
		set.add(s)
	}
	return set
}

// add adds a source, without the bytes of it that were copied and without its own origins.
func (set *sourceSet) add(s Source) {
	s = s.withoutBytes()
	s.Origins, s.Possible = nil, nil
	key := wayKey([]Source{s})
	if !set.keys[key] {
		set.keys[key] = true
		set.list = append(set.list, s)
	}
}

// explainUsed explains, for a text that was computed from a name with members, what that name comes from.
func (x *explainer) explainUsed(at site, members []string, hops int) []Piece {
	if hops > maxHops {
		return singlePiece("", Source{Kind: SourceFlow, Possible: []Source{anywhere}})
	}
	if at.got != nil {
		at.got = x.record.HostOf(at.got)
	}
	place := Source{Kind: SourceFlow}
	if at.step != nil {
		place = at.sourceOfPlace(at.step.Pos)
	}
	return x.explainOnce(usedKey(at, ofNames, pointerTo(members)), hops, func() []Piece {
		return x.explainReference(at, members, -1, " ", place, hops)
	})
}

// explainGivens explains all that a step was given: its parameters as they were on record, or else the names in them.
func (x *explainer) explainGivens(at site, hops int) (all []Piece) {
	if at.step == nil || at.step.With == nil || hops > maxHops {
		return nil
	}
	return x.explainOnce(usedKey(at, ofParams, ""), hops, func() []Piece {
		if !at.got.Params.IsNull() {
			return x.explainLeaves(at.got.Params, func(pointer, text string) []Piece {
				return x.explainGiven(at, pointer, text, hops+1)
			})
		}
		for _, p := range []*flow.Param{at.step.With, at.step.ForEach} {
			p.EachRef(func(ref prompt.Ref) { all = append(all, x.explainUsed(at, ref.Path, hops+1)...) })
		}
		return all
	})
}

// makerOf returns the source of a text that a step made and whose call does not say from what: a model, where it
// asks one; else what it was given may be in the text.
func (x *explainer) makerOf(at site, maker Source, of side, pointer string, hops int) Source {
	isOfStep := at.step != nil && (at.got.Call == at.step.Call || at.got.IsGiven)
	if of != ofOutput || !isOfStep {
		return maker
	}
	info := at.step.Def.Info
	asksModel := info.UsesLLM && (!info.LLMOptional || at.got.Usage.Total() > 0)
	text, isText := at.got.Output.At(pointer)
	isText = isText && text.Kind() == value.String
	isQuoted := isText && strings.HasPrefix(pointer, "/error/") // it may name what the step was given
	switch {
	case at.got.IsGiven && at.step.Call == flow.CallFlow: // its steps have not run
		maker.Possible = []Source{{Kind: SourceStep, Call: callHTTP}, {Kind: SourceMemory}, {Kind: SourceModel}}
		isQuoted = true
	case asksModel:
		maker.Origins = []Source{{Kind: SourceModel}}
		isQuoted = isQuoted || at.got.IsGiven && pointer != "/text"
	case info.UsesMemory:
		maker.Origins = []Source{{Kind: SourceMemory}}
		isQuoted = isText
	case at.step.Call == flow.CallFlow:
		if at.step.Sub == nil || isQuoted { // what failed in it may tell anything
			maker.Possible = []Source{anywhere}
		}
	case isForeign(at.got.Call), isText:
		isQuoted = true
		if isOfServer(at.got.Call) {
			maker.Possible = append(maker.Possible, Source{Kind: SourceStep, Call: callHTTP})
		}
	}
	if info.UsesMemory {
		maker = x.withSaved(singlePiece("", maker), at, "", hops)[0].Sources[0]
	}
	if isQuoted {
		given := Source{}.madeFrom(x.explainGivens(at, hops))
		maker.Possible = slices.Concat(given.Origins, given.Possible, maker.Possible)
	}
	return maker
}

// callHTTP is the call that reaches other machines.
const callHTTP = "http"

// isOfServer reports whether a call is a tool of an MCP server, which may answer with what it has from elsewhere.
func isOfServer(call string) bool { return strings.HasPrefix(call, "mcp.") }

// outsideOf returns what the call of a site gets texts from beside what it was given. What it says of a failure may quote them.
func outsideOf(at site) (sources []Source) {
	info := at.step.Def.Info
	if info.UsesLLM {
		sources = append(sources, Source{Kind: SourceModel})
	}
	if info.UsesMemory {
		sources = append(sources, Source{Kind: SourceMemory})
	}
	if isOfServer(at.got.Call) {
		sources = append(sources, Source{Kind: SourceStep, Call: callHTTP})
	}
	return sources
}

// textAt returns a member that is a text.
func textAt(v value.Value, name string) (text string, ok bool) {
	member, _ := v.Get(name)
	return member.Str()
}
