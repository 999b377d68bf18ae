package extract

import (
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// maxLead is how many bytes may precede the object that [Members] reads: blanks, a fence.
const maxLead = 64

// Members reads the members of a JSON object that comes in pieces, for example of the
// arguments of a tool call. Its zero value is ready; it is used by one goroutine, for one
// answer. It gives up on a text that does not begin with its object, or is not quite JSON:
// [Find] reads the whole of these.
type Members struct {
	lead, member strings.Builder // before the object; of the member that is being read
	depth        int
	inString     bool
	isEscaped    bool
	isOver       bool
}

// Add adds a piece and returns the members that end in it, each as an object of its own.
func (m *Members) Add(piece string) (ended []value.Value) {
	for i := 0; i < len(piece) && !m.isOver; i++ {
		c := piece[i]
		if m.depth == 0 {
			m.addLead(c)
			continue
		}
		if m.endsMember(c) {
			if one, ok := m.takeMember(); ok {
				ended = append(ended, one)
			}
			continue
		}
		m.member.WriteByte(c)
	}
	return ended
}

// addLead adds a byte before the object.
func (m *Members) addLead(c byte) {
	if c != '{' {
		m.lead.WriteByte(c)
		m.isOver = m.lead.Len() > maxLead
		return
	}
	name, isFenced := strings.CutPrefix(trimText(m.lead.String()), "```")
	isBlank := name == "" || isFenced && !strings.ContainsAny(name, " \n`")
	m.depth, m.isOver = 1, !isBlank
}

// endsMember reports whether a byte ends a member of the object.
func (m *Members) endsMember(c byte) bool {
	if m.inString {
		isQuote := c == '"' && !m.isEscaped
		m.inString = !isQuote
		m.isEscaped = c == '\\' && !m.isEscaped
		return false
	}
	switch c {
	case '"':
		m.inString = true
	case '{', '[':
		m.depth++
	case '}', ']':
		m.depth--
		m.isOver = m.depth == 0
		return m.isOver
	case ',':
		return m.depth == 1
	}
	return false
}

// takeMember returns the member that has been read.
func (m *Members) takeMember() (one value.Value, ok bool) {
	one, err := value.ParseJSON([]byte("{" + m.member.String() + "}"))
	m.member.Reset()
	if err != nil {
		m.isOver = true
	}
	return one, err == nil && one.Map().Len() > 0
}
