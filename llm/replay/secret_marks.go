package replay

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

// An answer that holds a secret is recorded with a mark in its place, which has the secret's name and length: for
// example, a body "Bearer sk-123456" is "Bearer [secret:TOKEN:9]". In a replay the mark becomes a text of that
// length again: the secret, if this machine has it, else a stand-in, which the flow then sees as secrets.TOKEN
// too. So lengths are as in the recorded run, and a search for the secret finds it. Requests have only [secret]:
// they are compared, and the secret may change.
//
// The parts of a mark, after its name and length:
//
//	[secret:PIN:4d]             4 digits
//	[secret:PIN:4d#]            a number
//	[secret:TOKEN:9+2:4]        4 bytes of the secret, from byte 2 on
//	[secret:TOKEN:9~7+0:12]     the 12 bytes of form 7 of the secret, in base64: see [secret.Spellings]
//	[secret:TOKEN:9@0:3]        its first 3 bytes; the rest is in the next pieces of the answer
//	[secret:?:24]               a text of 24 bytes that is not a form of a secret with a name
//	[secret:]                   the characters "[secret:" of the answer itself

// Secret is a text that must not be written, with the name by which flows use it.
type Secret struct{ Name, Text string }

const (
	markStart = "[secret:"
	// noName is the name in a mark of a text that is not a form of a secret with a name.
	noName = "?"
	// maxStandIn bounds the length that a mark can ask for, which people may have written.
	maxStandIn = 1 << 20
)

var markPattern = regexp.MustCompile(`\[secret:(?:(\w+|\?):(\d{1,7}d?)(?:~(\d{1,2}))?(?:\+(\d{1,7}):(\d{1,7}))?(?:@(\d{1,7}):(\d{1,7}))?(#)?)?\]`)

// mark replaces a secret in a recorded answer.
type mark struct {
	name  string
	shape shape
	form  int
	// offset and length are the part of the form; a length of 0 is the whole.
	offset, length int
	// from and size are the piece of all this; a size of 0 is all of it.
	from, size int
	isNumber   bool
}

// isAll reports whether the mark replaces the secret as it is.
func (m mark) isAll() bool { return m.form == 0 && m.length == 0 }

// shape is the recorded property of a secret: its length in bytes, with d behind it if it has only digits.
type shape string

func shapeOf(text string) shape {
	isDigits := text != "" && strings.Trim(text, "0123456789") == ""
	if isDigits {
		return shape(strconv.Itoa(len(text)) + "d")
	}
	return shape(strconv.Itoa(len(text)))
}

// String returns the mark as it is written.
func (m mark) String() string {
	text := fmt.Sprintf("%s%s:%s", markStart, m.name, m.shape)
	if m.form > 0 {
		text += fmt.Sprintf("~%d", m.form)
	}
	if m.length > 0 {
		text += fmt.Sprintf("+%d:%d", m.offset, m.length)
	}
	if m.size > 0 {
		text += fmt.Sprintf("@%d:%d", m.from, m.size)
	}
	if m.isNumber {
		text += "#"
	}
	return text + "]"
}

// parseMark reads the groups of markPattern.
func parseMark(groups []string) mark {
	number := func(text string) int {
		n, _ := strconv.Atoi(text) // the pattern has digits alone
		return min(n, maxStandIn)
	}
	return mark{
		name: groups[1], shape: shape(groups[2]), form: number(groups[3]), offset: number(groups[4]), length: number(groups[5]),
		from: number(groups[6]), size: number(groups[7]), isNumber: groups[8] != "",
	}
}

// standIn returns a text of the shape, the same for each name: letters, or digits.
func (s shape) standIn(name string) string {
	size, isDigits := strings.CutSuffix(string(s), "d")
	n, _ := strconv.Atoi(size) // a wrong one is 0
	n = min(n, maxStandIn)
	b := make([]byte, 0, n+sha256.Size)
	for i := 0; len(b) < n; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, i))
		for _, x := range sum {
			if isDigits {
				b = append(b, '1'+x%9) // a number does not begin with 0
			} else {
				b = append(b, 'a'+x%26)
			}
		}
	}
	return string(b[:n])
}

// shower replaces marks by secrets, or their stand-ins.
type shower struct {
	named []Secret
	// isStrict is set if only the secrets that are as long as they were are used.
	isStrict bool
	// hidden gets the stand-ins: they are masked as the secrets were. It may be nil.
	hidden *secret.Set
}

// newShower returns one for the run of ctx.
func newShower(ctx context.Context, named func() []Secret, isStrict bool) *shower {
	return &shower{listSecrets(named), isStrict, secret.FromContext(ctx)}
}

// showValue returns v without marks.
func (show *shower) showValue(v value.Value) value.Value {
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		if !strings.Contains(text, markStart) {
			return v
		}
		if groups := markPattern.FindStringSubmatch(text); len(groups) > 8 && groups[0] == text && groups[8] != "" {
			return numberOf(show.textOf(parseMark(groups)))
		}
		return value.OfString(show.showText(text))
	case value.List:
		return mapList(v, show.showValue)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(show.showText(key), show.showValue(member))
		}
		return value.OfMap(m)
	}
	return v
}

// numberOf returns the number that a text is; the text if it is none.
func numberOf(text string) value.Value {
	if v, err := value.ParseJSON([]byte(text)); err == nil {
		return v
	}
	return value.OfString(text)
}

// showText returns a text without marks.
func (show *shower) showText(text string) string {
	if !strings.Contains(text, markStart) {
		return text
	}
	var b strings.Builder
	end := 0
	for _, at := range markPattern.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[end:at[0]])
		end = at[1]
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = text[at[2*i]:at[2*i+1]]
			}
		}
		if groups[1] == "" {
			b.WriteString(markStart)
			continue
		}
		b.WriteString(show.textOf(parseMark(groups)))
	}
	return b.String() + text[end:]
}

// textOf returns the text for a mark.
func (show *shower) textOf(m mark) string {
	for _, one := range show.named {
		if one.Name == m.name && (shapeOf(one.Text) == m.shape || !show.isStrict) {
			return m.pieceOf(m.cutFrom(one.Text))
		}
	}
	whole := m.shape.standIn(m.name)
	show.hidden.Add(whole)
	text := m.cutFrom(whole)
	if !m.isAll() {
		show.hidden.AddDerived(text)
	}
	return m.pieceOf(text)
}

// pieceOf returns the piece that the mark is of a text.
func (m mark) pieceOf(text string) string {
	if m.size == 0 {
		return text
	}
	from := min(m.from, len(text))
	return text[from:min(from+m.size, len(text))]
}

// cutFrom returns the form, or the part of it, of a secret.
func (m mark) cutFrom(text string) string {
	if m.form > 0 && text != "" {
		all := secret.Spellings(text)
		text = all[min(m.form, len(all)-1)]
	}
	if m.length == 0 {
		return text
	}
	if end := m.offset + m.length; end > len(text) { // a form of the stand-in may be shorter than the secret's
		text += shape(strconv.Itoa(end - len(text))).standIn(m.name)
	}
	return text[m.offset : m.offset+m.length]
}
