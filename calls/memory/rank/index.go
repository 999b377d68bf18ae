package rank

import (
	"cmp"
	"slices"
	"sort"
)

// None is the session or the speaker of a memory without one.
const None = -1

// Entry is a memory in the index.
type Entry struct {
	// Time is when it happened, in ms since 1970.
	Time int64
	// Session and Speaker are numbers of the store, from 0, or [None].
	Session, Speaker int32
	// Len is [Document.Len].
	Len int32
	// Timed and Question are [Document.MentionsTime] and [Document.Question].
	Timed, Question bool
	// Utterance reports whether it was said in a chat; the index does not use it.
	Utterance bool
	// Deleted entries keep their number and are never found.
	Deleted bool
}

// Posting is the frequency of a term in a memory: the number of the memory in the upper
// 28 bits, a code of the frequency in the lower four. Frequencies above 8 are rounded.
type Posting uint32

// MaxEntries is the maximum number of memories of one user.
const MaxEntries = 1 << 28

var frequencies = [16]float64{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96}

// MakePosting returns the posting of a memory by its number.
func MakePosting(seq uint32, frequency int) Posting {
	code := sort.Search(len(frequencies)-1, func(i int) bool { return frequencies[i] >= float64(frequency) })
	return Posting(seq<<4 | uint32(code))
}

// Seq returns the number of the memory.
func (p Posting) Seq() uint32 { return uint32(p >> 4) }

func (p Posting) frequency() float64 { return frequencies[p&15] }

// Extra is another text about several memories: a snapshot of them.
type Extra struct {
	ID string
	// Len is the number of its terms.
	Len int32
	// Refs are the numbers of the memories.
	Refs []uint32
	// Weight is the weight of its words, 0 to 1; a memory's weigh 1.
	Weight float64
}

// The windows around a memory, in memories to either side.
const (
	near = 2
	wide = 6
)

// Index is everything about one user's memories but their words. A store creates it
// with [NewIndex] and keeps it up to date. Several goroutines may search in it at once,
// but not while it changes.
type Index struct {
	// Speakers are names, by the speaker's number.
	Speakers []string
	// Extras are the snapshots, by the numbers in their postings.
	Extras []Extra

	entries      []Entry
	positions    []int32 // of an entry in its session
	sessions     []session
	live         int
	total        int64    // length of all memories
	windows      [2]int64 // length of all windows, near and wide
	liveSessions int      // sessions that are not empty
	extraLen     int64
	texts        int                // extras that are not empty
	byEntry      map[uint32][]int32 // extras by the memories that they refer to
	bySpeaker    []int32            // how many memories each speaker has
}

// session is the memories of a session in the order of their time.
type session struct {
	members []uint32
	// lengthUntil is the summed length up to each member, itself included.
	lengthUntil []int64
	windows     [2]int64
}

// Len returns the number of entries, deleted ones included.
func (ix *Index) Len() int { return len(ix.entries) }

// Entry returns an entry by its number.
func (ix *Index) Entry(seq uint32) Entry { return ix.entries[seq] }

// NewIndex returns an index of entries by their numbers.
func NewIndex(entries []Entry) *Index {
	ix := &Index{entries: entries, positions: make([]int32, len(entries), cap(entries)), sessions: sessionsOf(entries)}
	for seq, e := range entries {
		if e.Deleted {
			continue
		}
		ix.live++
		ix.total += int64(e.Len)
		ix.countSpeaker(e.Speaker)
		if e.Session < 0 {
			ix.liveSessions++
			continue
		}
		s := &ix.sessions[e.Session]
		s.members = append(s.members, uint32(seq))
	}
	byTime := func(a, b uint32) int { return cmp.Compare(entries[a].Time, entries[b].Time) }
	for i := range ix.sessions {
		s := &ix.sessions[i]
		if len(s.members) == 0 {
			continue
		}
		ix.liveSessions++
		if !slices.IsSortedFunc(s.members, byTime) {
			slices.SortStableFunc(s.members, byTime)
		}
		s.lengthUntil = s.lengthUntil[:len(s.members)]
		ix.updateLengths(s, 0)
	}
	return ix
}

// sessionsOf allocates the members of all sessions in one piece.
func sessionsOf(entries []Entry) []session {
	var sizes []int32
	all := 0
	for i := range entries {
		e := &entries[i]
		if e.Deleted || e.Session < 0 {
			continue
		}
		for int(e.Session) >= len(sizes) {
			sizes = append(sizes, 0)
		}
		sizes[e.Session]++
		all++
	}
	sessions := make([]session, len(sizes))
	members, until := make([]uint32, all), make([]int64, all)
	for i, n := range sizes {
		sessions[i].members, members = members[:0:n], members[n:]
		sessions[i].lengthUntil, until = until[:0:n], until[n:]
	}
	return sessions
}

// isAlone reports whether an entry has no session, or is the only one in its session.
func (ix *Index) isAlone(e *Entry) bool {
	return e.Session < 0 || len(ix.sessions[e.Session].members) == 1
}

// Members returns the memories of a session in the order of their time. The caller must
// not change them.
func (ix *Index) Members(session int32) []uint32 {
	if session < 0 || int(session) >= len(ix.sessions) {
		return nil
	}
	return ix.sessions[session].members
}

// Append adds the next entry.
func (ix *Index) Append(e Entry) {
	seq := uint32(len(ix.entries))
	ix.entries = append(ix.entries, e)
	ix.positions = append(ix.positions, 0)
	if e.Deleted {
		return
	}
	ix.live++
	ix.total += int64(e.Len)
	ix.countSpeaker(e.Speaker)
	if e.Session < 0 {
		ix.liveSessions++
		return
	}
	for int(e.Session) >= len(ix.sessions) {
		ix.sessions = append(ix.sessions, session{})
	}
	s := &ix.sessions[e.Session]
	if len(s.members) == 0 {
		ix.liveSessions++
	}
	at := len(s.members)
	for at > 0 && ix.entries[s.members[at-1]].Time > e.Time {
		at--
	}
	s.members = slices.Insert(s.members, at, seq)
	s.lengthUntil = append(s.lengthUntil, 0)
	if at < len(s.members)-1 {
		ix.updateLengths(s, at)
		return
	}
	ix.positions[seq] = int32(at)
	s.lengthUntil[at] = s.lengthBefore(at) + int64(e.Len)
	for w, radius := range [2]int{near, wide} {
		more := s.windowLength(at, radius) + int64(e.Len)*int64(min(radius, at))
		s.windows[w] += more
		ix.windows[w] += more
	}
}

// countSpeaker counts a memory of a speaker.
func (ix *Index) countSpeaker(speaker int32) {
	if speaker < 0 {
		return
	}
	for int(speaker) >= len(ix.bySpeaker) {
		ix.bySpeaker = append(ix.bySpeaker, 0)
	}
	ix.bySpeaker[speaker]++
}

// saidOnlyOne reports whether a speaker has a single memory: the name may be a label.
func (ix *Index) saidOnlyOne(speaker int32) bool {
	return int(speaker) >= len(ix.bySpeaker) || ix.bySpeaker[speaker] <= 1
}

// updateLengths computes the lengths of a session from a member on.
func (ix *Index) updateLengths(s *session, from int) {
	for i := from; i < len(s.members); i++ {
		ix.positions[s.members[i]] = int32(i)
		s.lengthUntil[i] = s.lengthBefore(i) + int64(ix.entries[s.members[i]].Len)
	}
	for w, radius := range [2]int{near, wide} {
		sum := int64(0)
		for i := range s.members {
			sum += s.windowLength(i, radius)
		}
		ix.windows[w] += sum - s.windows[w]
		s.windows[w] = sum
	}
}

func (s *session) lengthBefore(i int) int64 {
	if i == 0 {
		return 0
	}
	return s.lengthUntil[i-1]
}

// windowLength returns the length of the members around the i-th.
func (s *session) windowLength(i, radius int) int64 {
	return s.lengthUntil[min(i+radius, len(s.members)-1)] - s.lengthBefore(max(i-radius, 0))
}

// AddExtra adds the next extra text.
func (ix *Index) AddExtra(e Extra) {
	if ix.byEntry == nil {
		ix.byEntry = map[uint32][]int32{}
	}
	slices.Sort(e.Refs)
	e.Refs = slices.Compact(e.Refs)
	for _, ref := range e.Refs {
		ix.byEntry[ref] = append(ix.byEntry[ref], int32(len(ix.Extras)))
	}
	if e.Len > 0 {
		ix.texts++
		ix.extraLen += int64(e.Len)
	}
	ix.Extras = append(ix.Extras, e)
}

// ExtrasOf returns the ids of the extra texts of a memory, sorted.
func (ix *Index) ExtrasOf(seq uint32) (ids []string) {
	for _, i := range ix.byEntry[seq] {
		ids = append(ids, ix.Extras[i].ID)
	}
	slices.Sort(ids)
	return ids
}
