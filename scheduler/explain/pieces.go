package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/journal"
)

func singlePiece(text string, sources ...Source) []Piece {
	return []Piece{{Text: text, Sources: sources}}
}

// withSource adds a hop to the way of every piece of a text. Of a step that is there
// already, the more precise source stays.
func withSource(pieces []Piece, source Source) []Piece {
	end := 0
	for i := range pieces {
		p := &pieces[i]
		own := source
		if source.Start != nil {
			own = source.withSpan(*source.Start+end, len(p.Text))
		}
		end += len(p.Text)
		kept := len(p.Sources)
		if kept > 0 && p.Sources[kept-1].isHopTo(source) {
			kept--
		}
		p.Sources = append(slices.Clip(p.Sources[:kept]), own)
	}
	return pieces
}

// withStep adds a step to the way of every piece of its text, unless the way ends with the step.
func withStep(pieces []Piece, got *journal.StepState) []Piece {
	maker := sourceOfMaker(got)
	for i, p := range pieces {
		last := len(p.Sources) - 1
		if last < 0 || p.Sources[last].Step != got.ID || p.Sources[last].Call != got.Call {
			withSource(pieces[i:i+1], maker)
		}
	}
	return pieces
}

// isHopTo reports whether a source only says that the text went through the step of the next one.
func (s Source) isHopTo(next Source) bool {
	isOfStep := next.Kind == SourceStep || next.Kind == SourcePart
	return isOfStep && s.Kind == SourceStep && s.Call == "" && s.Step == next.Step
}

// completed adds a source to the pieces that have none.
func completed(pieces []Piece, source Source) []Piece {
	for i := range pieces {
		if len(pieces[i].Sources) == 0 {
			pieces[i].Sources = []Source{source}
		}
	}
	return pieces
}

// standsAt reports whether a text has the stretch at a byte.
func standsAt(text string, from int, stretch string) bool {
	return from >= 0 && from <= len(text) && strings.HasPrefix(text[from:], stretch)
}

// cutPieces returns the pieces of the bytes [start, end) of the text that they make.
func cutPieces(pieces []Piece, start, end int) (cut []Piece) {
	at := 0
	for _, p := range pieces {
		from, to := max(start-at, 0), min(end-at, len(p.Text))
		at += len(p.Text)
		if from < to {
			if to-from < len(p.Text) {
				p.Tokens = 0 // the cost is known only for the whole piece
				p.Sources = slices.Clone(p.Sources)
				for i, s := range p.Sources {
					p.Sources[i] = s.cut(p.Text, from, to)
				}
			}
			p.Text = p.Text[from:to]
			cut = append(cut, p)
		}
	}
	return cut
}

// hasOrigins reports whether a piece has a source with origins.
func hasOrigins(pieces []Piece) bool {
	return slices.ContainsFunc(pieces, func(p Piece) bool {
		return slices.ContainsFunc(p.Sources, func(s Source) bool { return len(s.Origins)+len(s.Possible) > 0 })
	})
}

// waysOf returns the different ways of pieces.
func waysOf(pieces []Piece) (ways [][]Source) {
	known := map[string]bool{} // there may be thousands
	for _, p := range pieces {
		key := wayKey(p.Sources)
		if !known[key] && len(p.Sources) > 0 {
			ways = append(ways, p.Sources)
		}
		known[key] = true
	}
	return ways
}

// namesOf names a way as the source of a computed text: an answer of a model by the step that it answered.
func (p placer) namesOf(way []Source) []string {
	if way[0].Kind == SourceModel && len(way) > 1 && way[1].Kind == SourceStep && way[1].Call != "" {
		return []string{way[1].String()}
	}
	origin := way[0]
	p.placeSource(&origin)
	return origin.origins()
}

// mergePieces returns one piece for a text made from several: with their sources if all have the same, else with
// their names.
func (p placer) mergePieces(text string, from []Piece, place Source) []Piece {
	ways := waysOf(from)
	if len(ways) != 1 {
		if len(ways) == 0 && place.Kind != SourceComputed {
			return singlePiece(text, place.madeFrom(from))
		}
		return p.computedPiece(text, from, place)
	}
	way := slices.Clone(ways[0])
	for i := range way {
		way[i] = way[i].withoutBytes()
	}
	if hasOrigins(from) {
		all := Source{}.madeFrom(from)
		way[0].Origins, way[0].Possible = all.Origins, all.Possible
	}
	return singlePiece(text, way...)
}

// computedPiece returns one piece for a text that was computed at a place from other pieces: it names their
// sources.
func (p placer) computedPiece(text string, from []Piece, place Source) []Piece {
	place.Kind = SourceComputed
	for _, way := range waysOf(from) {
		for _, name := range p.namesOf(way) {
			if !slices.Contains(place.From, name) {
				place.From = append(slices.Clip(place.From), name)
			}
		}
	}
	return singlePiece(text, place.madeFrom(from))
}

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

// withOrigins adds the sources that a text was made from to its first source.
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

// withPossibleFrom adds the sources of other pieces as possible ones to the first source of a text.
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

// add adds a source, without its copied bytes and without its own origins.
func (set *sourceSet) add(s Source) {
	s = s.withoutBytes()
	s.Origins, s.Possible = nil, nil
	key := wayKey([]Source{s})
	if !set.keys[key] {
		set.keys[key] = true
		set.list = append(set.list, s)
	}
}
