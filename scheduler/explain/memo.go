package explain

import "slices"

// explained is a text of a site that was explained: of its output, input or parameters, at a
// pointer.
type explained struct {
	at            site
	of            side
	pointer, text string
	from          int
}

// explanation is how a text was explained, and after how many hops.
type explanation struct {
	pieces []Piece
	hops   int
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
