package rank

import "math"

// scale makes the scores of one query comparable with those of others. It is an
// estimate of how likely a memory answers the query, made of a few numbers that
// hardly depend on how much is stored.
type scale struct {
	// best is the highest score that a memory has.
	best float64
	// certainty is how sure it is that the best memory answers the query at all; 0 is
	// the default cut.
	certainty float64
}

// What the numbers weigh. They were chosen by hand, round, so that questions about
// things that were never said find nothing and most others do.
const (
	weightCover    = 2
	weightStrength = 5
	weightNamed    = 0.8
	weightRatio    = 4

	// Where both count nothing. Of Chinese characters and pairs, fewer are found again.
	coverOfWords, coverOfCharacters       = 0.6, 0.45
	strengthOfWords, strengthOfCharacters = 0.33, 0.25

	// fewEntries is the size below which a user's memories are taken for as many: in a
	// handful, how often a word occurs says nothing.
	fewEntries = 100
	// halfEntries is the size at which it counts by half that nobody used a word of
	// the query.
	halfEntries = 50
	// bestHits is of how many hits the best cover counts.
	bestHits = 3
)

// relevance is strictly increasing in the score, between 0 and 1.
func (s scale) relevance(score float64) float64 {
	if s.best <= 0 || score <= 0 {
		return 0
	}
	return 1 / (1 + math.Exp(-s.certainty-weightRatio*math.Log(score/s.best)))
}

// measure finds the scale of the hits of a query.
func (b *board) measure(r *Result, asked float64) {
	if len(r.Hits) == 0 {
		return
	}
	r.scale.best = r.Hits[0].Score
	if asked == 0 { // only a speaker or a time was named
		r.scale.certainty = 1
		return
	}
	best := r.Hits[0]
	cover := 0.0
	for _, h := range r.Hits[:min(len(r.Hits), bestHits)] {
		cover = max(cover, float64(b.cells[h.Seq].cover)/asked)
	}
	full := ofMemory.k1 + 1
	if e := b.ix.entries[best.Seq]; e.Session >= 0 && len(b.ix.sessions[e.Session].members) > 1 {
		full += weightPrevious*(ofMemory.k1+1) + (weightNear+weightWide+b.weightTalk)*(ofWindow.k1+1)
	}
	strength := 0.0
	if matched := float64(b.cells[best.Seq].matched); matched > 0 {
		strength = min(1, cover*best.Score/(full*matched))
	}
	spaceless := r.Analysis.spaceless()
	c := weightCover*(cover-blend(spaceless, coverOfWords, coverOfCharacters)) +
		weightStrength*(strength-blend(spaceless, strengthOfWords, strengthOfCharacters))
	if len(r.Analysis.Speakers) > 0 {
		c += weightNamed
	}
	r.scale.certainty = c
}

// blend goes from one number to another.
func blend(share, words, characters float64) float64 { return words + share*(characters-words) }

// spaceless is the share of the terms that are characters or pairs of them.
func (a *Analysis) spaceless() float64 {
	n := 0
	for _, t := range a.Terms {
		if t.spaceless {
			n++
		}
	}
	return float64(n) / float64(max(len(a.Terms), 1))
}
