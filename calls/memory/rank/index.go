package rank

import (
	"cmp"
	"slices"
	"sort"
)

// None is the session or the speaker of a memory that has none.
const None = -1

// Entry is what the index keeps of one memory.
type Entry struct {
	// Time is when it happened, in ms since 1970.
	Time int64
	// Session and Speaker are numbers that the store gives, from 0; or [None].
	Session, Speaker int32
	// Len is [Document.Len].
	Len int32
	// Timed and Question are [Document.Time] and [Document.Question].
	Timed, Question bool
	// Utterance says that it was said in a chat; the index does not use it.
	Utterance bool
	// Deleted entries keep their place and are never found.
	Deleted bool
}

// Posting says how often a term occurs in the memory of a number: the number in the
// upper 28 bits, a code of the frequency in the lower four. Long texts saturate:
// above 8, frequencies are rounded.
type Posting uint32

// MaxEntries is how many memories one user may have.
const MaxEntries = 1 << 28

var frequencies = [16]float64{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96}

// MakePosting makes a posting of the n-th memory.
func MakePosting(seq uint32, frequency int) Posting {
	code := sort.Search(len(frequencies)-1, func(i int) bool { return frequencies[i] >= float64(frequency) })
	return Posting(seq<<4 | uint32(code))
}

// Seq is the number of the memory.
func (p Posting) Seq() uint32 { return uint32(p >> 4) }

func (p Posting) frequency() float64 { return frequencies[p&15] }

// Extra is a further text of several memories: a snapshot of them.
type Extra struct {
	ID string
	// Len is the number of its terms.
	Len int32
	// Refs are the numbers of the memories.
	Refs []uint32
	// Weight is how much its words count beside those of a memory, 0 to 1.
	Weight float64
}

// The windows around a memory, in memories to either side.
const (
	near = 2
	wide = 6
)

// Index is what is known of one user's memories apart from their words. Changing it
// and searching in it at the same time is not safe.
type Index struct {
	// Speakers are names by speaker number.
	Speakers []string
	// Extras are the snapshots, by the numbers that their postings have.
	Extras []Extra

	entries  []Entry
	place    []int32 // of an entry in its session
	sessions []session
	live     int
	total    int64    // length of all memories
	windows  [2]int64 // length of all windows, near and wide
	talks    int      // sessions that are not empty
	extraLen int64
	texts    int                // extras that are not empty
	byEntry  map[uint32][]int32 // extras by the memories that they refer to
	said     []int32            // how many memories each speaker has
}

// session is the memories of a session in order of their time.
type session struct {
	members []uint32
	// until is the length of the members before and with each.
	until   []int64
	windows [2]int64
}

// Len is how many entries there are, deleted ones included.
func (ix *Index) Len() int { return len(ix.entries) }

// Live is how many are not deleted.
func (ix *Index) Live() int { return ix.live }

// Entry is the entry of a number.
func (ix *Index) Entry(seq uint32) Entry { return ix.entries[seq] }

// NewIndex makes an index of all entries at once.
func NewIndex(entries []Entry) *Index {
	ix := &Index{entries: entries, place: make([]int32, len(entries), cap(entries)), sessions: sessionsOf(entries)}
	for seq, e := range entries {
		if e.Deleted {
			continue
		}
		ix.live++
		ix.total += int64(e.Len)
		ix.hear(e.Speaker)
		if e.Session < 0 {
			ix.talks++
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
		ix.talks++
		if !slices.IsSortedFunc(s.members, byTime) {
			slices.SortStableFunc(s.members, byTime)
		}
		s.until = s.until[:len(s.members)]
		ix.measure(s, 0)
	}
	return ix
}

// sessionsOf makes room for the members of all sessions, without any between them.
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
		sessions[i].until, until = until[:0:n], until[n:]
	}
	return sessions
}

// Members are the memories of a session in order of their time; do not change them.
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
	ix.place = append(ix.place, 0)
	if e.Deleted {
		return
	}
	ix.live++
	ix.total += int64(e.Len)
	ix.hear(e.Speaker)
	if e.Session < 0 {
		ix.talks++
		return
	}
	for int(e.Session) >= len(ix.sessions) {
		ix.sessions = append(ix.sessions, session{})
	}
	s := &ix.sessions[e.Session]
	if len(s.members) == 0 {
		ix.talks++
	}
	at := len(s.members)
	for at > 0 && ix.entries[s.members[at-1]].Time > e.Time {
		at--
	}
	s.members = slices.Insert(s.members, at, seq)
	s.until = append(s.until, 0)
	if at < len(s.members)-1 {
		ix.measure(s, at)
		return
	}
	ix.place[seq] = int32(at)
	s.until[at] = s.before(at) + int64(e.Len)
	for w, radius := range [2]int{near, wide} {
		more := s.window(at, radius) + int64(e.Len)*int64(min(radius, at))
		s.windows[w] += more
		ix.windows[w] += more
	}
}

// hear counts what a speaker says.
func (ix *Index) hear(speaker int32) {
	if speaker < 0 {
		return
	}
	for int(speaker) >= len(ix.said) {
		ix.said = append(ix.said, 0)
	}
	ix.said[speaker]++
}

// heardOnce says that a speaker has said only one thing: the name may be a label.
func (ix *Index) heardOnce(speaker int32) bool {
	return int(speaker) >= len(ix.said) || ix.said[speaker] <= 1
}

// measure takes the lengths of a session anew, from the member at that place on.
func (ix *Index) measure(s *session, from int) {
	for i := from; i < len(s.members); i++ {
		ix.place[s.members[i]] = int32(i)
		s.until[i] = s.before(i) + int64(ix.entries[s.members[i]].Len)
	}
	for w, radius := range [2]int{near, wide} {
		sum := int64(0)
		for i := range s.members {
			sum += s.window(i, radius)
		}
		ix.windows[w] += sum - s.windows[w]
		s.windows[w] = sum
	}
}

func (s *session) before(i int) int64 {
	if i == 0 {
		return 0
	}
	return s.until[i-1]
}

// window is the length of the members around the i-th.
func (s *session) window(i, radius int) int64 {
	return s.until[min(i+radius, len(s.members)-1)] - s.before(max(i-radius, 0))
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

// ExtrasOf are the ids of the extra texts of a memory, sorted.
func (ix *Index) ExtrasOf(seq uint32) (ids []string) {
	for _, i := range ix.byEntry[seq] {
		ids = append(ids, ix.Extras[i].ID)
	}
	slices.Sort(ids)
	return ids
}
