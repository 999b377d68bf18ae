package scheduler

import (
	"hash/fnv"
	"math/rand/v2"
)

// randomSource is a source of the random numbers of a step or an item, seeded when the
// first is wanted. It is not safe for concurrent use.
type randomSource struct {
	// seed is that of the executor; with 0 every run has numbers of its own.
	seed uint64
	run  string
	user interface{ path() string }
	pcg  *rand.PCG
}

// Uint64 returns the next number.
func (s *randomSource) Uint64() uint64 {
	if s.pcg == nil {
		h := fnv.New64a()
		if s.seed == 0 {
			_, _ = h.Write([]byte(s.run))
		}
		_, _ = h.Write([]byte("\x00" + s.user.path()))
		s.pcg = rand.NewPCG(s.seed, h.Sum64())
	}
	return s.pcg.Uint64()
}
