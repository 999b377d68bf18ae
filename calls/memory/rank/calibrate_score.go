package rank

import "math"

// calibration makes the scores of different queries comparable. It estimates how likely a memory answers the
// query, from a few numbers that hardly depend on the number of memories.
type calibration struct {
	// best is the highest score.
	best float64
	// certainty is the estimated probability that the best memory answers the query at all; 0 is the default cut.
	certainty float64
}

// The weights of the numbers. They were chosen by hand, round, so that questions about things that were never said
// find nothing and most others do.
const (
	weightCover    = 2
	weightStrength = 5
	weightNamed    = 0.8
	weightRatio    = 4
	// weightExtra is how much of the words is expected in an extra text too, once it speaks of
	// the memory. Without it, a snapshot would make all memories of its session more certain.
	weightExtra = 0.5

	// The values at which both count nothing. Of Chinese characters and pairs, fewer are found again.
	coverOfWords, coverOfCharacters       = 0.6, 0.45
	strengthOfWords, strengthOfCharacters = 0.33, 0.25

	// fewEntries is the number of memories that smaller collections count as: in a handful, frequencies mean
	// nothing.
	fewEntries = 100
	// halfEntries is the number of memories at which the absence of a query word counts by
	// half.
	halfEntries = 50
	// handful is the number of memories at which a term that most of them have counts by half.
	handful = 20
	// shareOfGeneral is how much of a general word is asked for.
	shareOfGeneral = 0.4
	// bestHits is the number of hits whose best cover counts.
	bestHits = 3
)

// relevanceOf maps a score to 0..1; it is strictly increasing.
func (s calibration) relevanceOf(score float64) float64 {
	if s.best <= 0 || score <= 0 {
		return 0
	}
	return 1 / (1 + math.Exp(-s.certainty-weightRatio*math.Log(score/s.best)))
}

// calibrateScores computes the calibration of the hits of a query.
func (b *scoreboard) calibrateScores(r *Result, asked float64) {
	if len(r.Hits) == 0 {
		return
	}
	r.calibration.best = r.Hits[0].Score
	if asked == 0 { // only a speaker or a time was named
		r.calibration.certainty = 1
		return
	}
	best := r.Hits[0]
	cover := 0.0
	for _, h := range r.Hits[:min(len(r.Hits), bestHits)] {
		cover = max(cover, float64(b.cells[h.Seq].cover)/asked)
	}
	full := memoryBM25.k1 + 1
	if b.ix.isAlone(&b.ix.entries[best.Seq]) {
		full *= b.weightAlone()
	} else {
		full += weightPrevious*(memoryBM25.k1+1) + (weightNear+weightWide+b.sessionWeight)*(windowBM25.k1+1)
	}
	isInTalk := !b.ix.isAlone(&b.ix.entries[best.Seq])
	if isInTalk && b.inExtra[best.Seq] {
		full += weightExtra * (memoryBM25.k1 + 1)
	}
	strength := 0.0
	if matched := float64(b.cells[best.Seq].matched); matched > 0 {
		score := best.Score / lengthPrior(b.ix.entries[best.Seq].Len)
		strength = min(1, cover*score/(full*matched))
	}
	spaceless := r.Analysis.spacelessShare()
	c := weightCover*(cover-interpolateShare(spaceless, coverOfWords, coverOfCharacters)) +
		weightStrength*(strength-interpolateShare(spaceless, strengthOfWords, strengthOfCharacters))
	if len(r.Analysis.Speakers) > 0 {
		c += weightNamed
	}
	r.calibration.certainty = c
}

// interpolateShare returns the value for a share of characters among the terms.
func interpolateShare(share, words, characters float64) float64 {
	return words + share*(characters-words)
}

// spacelessShare returns the share of characters and bigrams among the terms.
func (a *Analysis) spacelessShare() float64 {
	if a.onlyNames {
		return 0
	}
	n := 0
	for _, t := range a.Terms {
		if t.spaceless {
			n++
		}
	}
	return float64(n) / float64(max(len(a.Terms), 1))
}
