package memorytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

// Corpus makes memories for benchmarks: about 190 bytes of stop words and words that are as
// frequent as Zipf says, in sessions of 20.
type Corpus struct {
	random *rand.Rand
	zipf   *rand.Zipf
	users  int
	n      int
	user   string
}

// NewCorpus returns the corpus of a number of users. It is always the same.
func NewCorpus(users int) *Corpus {
	r := rand.New(rand.NewPCG(1, 2))
	return &Corpus{random: r, zipf: rand.NewZipf(r, 1.1, 8, 50_000), users: users}
}

var fillers = strings.Fields("the a of and to in is was it that for on you he with as his they at be this from have or by had not but what all were we when your can")

// Pseudo returns a word for a number that no stemmer changes.
func Pseudo(n uint64) string {
	const consonants, vowels = "bdfgklmnprtvz", "aou"
	word := []byte{}
	for n += 40; n > 0; n /= uint64(len(consonants) * len(vowels)) {
		word = append(word, consonants[n%uint64(len(consonants))], vowels[n/uint64(len(consonants))%uint64(len(vowels))])
	}
	return string(append(word, 'k'))
}

// Next returns the next memory.
func (c *Corpus) Next() memory.BaseMemory {
	if c.n%20 == 0 {
		c.user = fmt.Sprintf("u%d", c.random.IntN(c.users))
	}
	words := make([]string, 0, 32)
	for i := range 32 {
		if i%8 < 3 {
			words = append(words, fillers[c.random.IntN(len(fillers))])
		} else {
			words = append(words, Pseudo(c.zipf.Uint64()))
		}
	}
	m := memory.BaseMemory{
		Content: strings.Join(words, " "), Timestamp: Start.Add(time.Duration(c.n) * time.Minute),
		Context: memory.Context{UserID: c.user, SessionID: fmt.Sprintf("s%d", c.n/20)},
	}
	c.n++
	return m
}

// Question asks for some words of a memory.
func (c *Corpus) Question(m memory.BaseMemory, limit int) memory.Query {
	words := slices.DeleteFunc(strings.Fields(m.Content), func(w string) bool { return slices.Contains(fillers, w) })
	c.random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return memory.Query{Users: memory.User(m.Context.UserID), Text: "what was the " + strings.Join(words[:4], " "), Now: Start, Limit: limit}
}
