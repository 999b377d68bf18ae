package context

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
)

// The codes of parts that are left out.
const (
	codeIncluded = "included"
	codeBudget   = "budget"
	codeHidden   = "disabled"
	codeError    = "error"
)

const (
	sectionBreak = "\n\n---\n\n"
	blankLine    = "\n\n"
	// leastCut is how many tokens must be left for a file to be cut instead of
	// left out.
	leastCut = 32
)

// unit is a piece of a section that is kept or left out as one.
type unit struct {
	kind, name, text string
	// reason is why it is in the prompt, or why not.
	reason string
	// asked is set when the user asked for it: it is cut last.
	asked bool
	// rank orders the units by how soon they are left out when room is short: the highest first, among equals the
	// last.
	rank int
	// lines is set when the unit may be cut after any of its lines.
	lines bool
	// title is the length in bytes of the heading, which is not kept by itself.
	title int

	// origins are the origins of the bytes of text.
	origins []calls.Origin

	tokens int
	out    bool
	// code is the reason as a stable word.
	code string
	// lost are the tokens that were cut off.
	lost int
}

// section is a part of the system prompt: units with a heading.
type section struct {
	name             string
	head, join, tail string
	units            []*unit
	// say makes a reason in the language of the run.
	say func(format string, args ...any) string
	// headOrigins are the origins of the bytes of head.
	headOrigins []calls.Origin
	// percent of the room for all that can be cut is promised to the section.
	percent int
	count   llm.Counter
}

func (s *section) label() string     { return s.name }
func (s *section) sharePercent() int { return s.percent }

func (s *section) overheadTokens() int {
	return s.count.Count(sectionBreak) + s.count.Count(s.head) + s.count.Count(s.tail)
}

// neededTokens returns the tokens of the whole section.
func (s *section) neededTokens() int {
	if len(s.included()) == 0 {
		return 0
	}
	n := s.overheadTokens() - s.count.Count(s.join)
	for _, u := range s.included() {
		n += u.tokens + s.count.Count(s.join)
	}
	return n
}

func (s *section) included() []*unit {
	return slices.DeleteFunc(slices.Clone(s.units), func(u *unit) bool { return u.out })
}

// shrinkTo cuts the section to at most room tokens and returns its tokens then.
func (s *section) shrinkTo(room int) int {
	if n := s.neededTokens(); n <= room {
		return n
	}
	byRank := s.included()
	slices.SortStableFunc(byRank, func(a, b *unit) int { return a.rank - b.rank })
	join, cost, kept := s.count.Count(s.join), s.overheadTokens(), 0
	for _, u := range byRank {
		between := 0
		if kept > 0 {
			between = join
		}
		left := room - cost - between
		if u.tokens > left {
			if !u.lines || !s.cutLines(u, left) {
				u.out = true
				u.reason, u.code = s.say("left out: over the token budget"), codeBudget
				continue
			}
		}
		cost += between + u.tokens
		kept++
	}
	if kept == 0 {
		return 0
	}
	return cost
}

// cutLines cuts a unit to at most room tokens, after a line, or inside the first
// one when that is all there is. It reports whether anything worth keeping is left.
func (s *section) cutLines(u *unit, room int) bool {
	if room < leastCut {
		return false
	}
	whole, tokens := u.text, u.tokens
	size := len(whole)
	for range 12 {
		size = min(size, int(int64(len(whole))*int64(room)/int64(tokens)))
		if size <= u.title {
			return false
		}
		cut := strings.LastIndexByte(whole[:size], '\n') + 1
		if cut <= u.title {
			for cut = size; cut > u.title && !utf8.RuneStart(whole[cut]); cut-- {
			}
		}
		if cut <= u.title {
			return false
		}
		cut = llm.CutAt(s.count, whole, cut)
		if cut <= u.title {
			return false
		}
		if n := s.count.Count(whole[:cut]); n <= room {
			u.text, u.tokens, u.lost = whole[:cut], n, tokens-n
			u.reason += s.say("; cut to %d of %d bytes by the token budget", cut, len(whole))
			return true
		}
		size = cut * 9 / 10
	}
	return false
}

// askedTokens returns the tokens of the units that the user asked for.
func (s *section) askedTokens() int {
	n := 0
	for _, u := range s.included() {
		if u.asked {
			n += u.tokens + s.count.Count(s.join)
		}
	}
	if n > 0 {
		n += s.overheadTokens()
	}
	return n
}
