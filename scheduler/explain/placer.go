package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/flow"
)

// placer knows the texts of flows that sources name, by the places at which they begin. While a prompt is
// explained, all pieces of one text have the same place, so that they are recognized as one source; at the end
// each piece gets its own place. It lives for one Explain.
type placer map[scalarPlace]*flow.Scalar

// scalarPlace is the place at which a text of a flow begins, and its pointer in the parameters.
type scalarPlace struct {
	flow.Position
	pointer string
	seq     int64 // [Source] Seq
}

// placeAll sets the sources of pieces to their own places.
func (p placer) placeAll(pieces []Piece) {
	for i := range pieces {
		pieces[i].Sources = slices.Clone(pieces[i].Sources)
		for j := range pieces[i].Sources {
			s := &pieces[i].Sources[j]
			p.placeSource(s)
			if s.Kind == SourceTool { // people read the sources of a tool's result
				s.Origins = slices.Clone(s.Origins)
				for k := range s.Origins {
					p.placeSource(&s.Origins[k])
				}
			}
		}
	}
}

// placeSource sets the line and the column of the words of a flow, or of the expression that has put in a text.
func (p placer) placeSource(s *Source) {
	offset := s.offset - 1
	s.offset = 0
	if s.Kind == SourceFlow && s.Start != nil {
		offset = *s.Start
	}
	scalar := p[scalarPlace{s.position(), s.Pointer, s.Seq}]
	if scalar == nil || offset < 0 || offset > len(scalar.Text) {
		return
	}
	if s.Kind != SourceFlow {
		offset += len(scalar.Text[offset:]) - len(strings.TrimLeft(scalar.Text[offset:], " \t\r\n"))
	}
	pos := scalar.Position(offset)
	s.Line, s.Col = pos.Line, pos.Col
}
