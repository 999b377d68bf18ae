package endpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm"
)

// Servers that cut a text between UTF-16 units send one character in two chunks, for example
// "\ud83d" and then "\ude00" for one emoji. Decoding each chunk alone gives U+FFFD twice. So
// markHalves replaces such an escape by a mark that decoding keeps, before a chunk is decoded,
// and halfJoiner joins the marks of following deltas. A half that stays alone becomes U+FFFD.

const (
	// halfMark begins a mark: a noncharacter, which no text has.
	halfMark = "\uFDD0"
	// halfBase is added to the unit, less the first surrogate: the result is a private character, which identifies
	// the unit.
	halfBase = 0x10F000
	// firstHalf is the first unit of the surrogates, lastHalf the last.
	firstHalf, lastHalf = 0xD800, 0xDFFF
	// escapeLen is the length in bytes of an escape such as \u00e9, markLen the length of a mark in UTF-8.
	escapeLen, markLen = 6, len(halfMark) + 4
)

// markHalves returns JSON text with a mark in place of each escape that is half a character without its other
// half.
func markHalves(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		if data[i] != '\\' {
			out = append(out, data[i])
			i++
			continue
		}
		n := escapeLen
		unit := escapedUnit(data[i:])
		switch {
		case utf16.DecodeRune(unit, escapedUnit(data[min(i+escapeLen, len(data)):])) != utf8.RuneError:
			n = 2 * escapeLen
			out = append(out, data[i:i+n]...)
		case utf16.IsSurrogate(unit):
			out = append(out, halfMark...)
			out = utf8.AppendRune(out, unit-firstHalf+halfBase)
		default:
			n = min(2, len(data)-i) // the backslash and the character that it escapes
			out = append(out, data[i:i+n]...)
		}
		i += n
	}
	return out
}

// escapedUnit returns the unit of the escape \uXXXX that text begins with; 0 for another text.
func escapedUnit(text []byte) rune {
	if len(text) < escapeLen || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(text[2:escapeLen]), 16, 32)
	if err != nil {
		return 0
	}
	return rune(unit)
}

// markedHalf returns the unit of the mark that text begins with; 0 for another text.
func markedHalf(text string) rune {
	rest, ok := strings.CutPrefix(text, halfMark)
	if !ok {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(rest)
	unit := r - halfBase + firstHalf
	if unit < firstHalf || unit > lastHalf {
		return 0
	}
	return unit
}

// replaceMarks returns text with replace(unit) in place of each mark.
func replaceMarks(text string, replace func(unit rune) string) string {
	if !strings.Contains(text, halfMark) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		if unit := markedHalf(text[i:]); unit != 0 {
			out.WriteString(replace(unit))
			i += markLen
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

// withoutMarks returns text with U+FFFD in place of each mark.
func withoutMarks(text string) string {
	return replaceMarks(text, func(rune) string { return "\uFFFD" })
}

// unmarkJSON returns JSON text with the escapes again that were marked.
func unmarkJSON(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(halfMark)) {
		return raw
	}
	return []byte(replaceMarks(string(raw), func(unit rune) string { return `\u` + strconv.FormatInt(int64(unit), 16) }))
}

// halfJoiner joins marked halves over the deltas of one answer. The zero value is ready to
// use, by one goroutine.
type halfJoiner struct {
	text, reasoning halfText
	arguments       map[int]*halfText
}

// halfText is a text in pieces that ended so far with half a character.
type halfText struct{ first rune }

// add returns the next piece with whole characters; the half that it ends with is held back.
func (h *halfText) add(piece string) string {
	if piece == "" || h.first == 0 && !strings.Contains(piece, halfMark) {
		return piece
	}
	begin := ""
	if h.first != 0 {
		joined := utf16.DecodeRune(h.first, markedHalf(piece))
		begin, h.first = string(joined), 0 // U+FFFD if they do not belong together
		if joined != utf8.RuneError {
			piece = piece[markLen:]
		}
	}
	if at := strings.LastIndex(piece, halfMark); at >= 0 && at+markLen == len(piece) {
		if unit := markedHalf(piece[at:]); utf16.DecodeRune(unit, 0xDC00) != utf8.RuneError {
			h.first, piece = unit, piece[:at]
		}
	}
	return begin + withoutMarks(piece)
}

// takeRest returns U+FFFD for a half that nothing follows.
func (h *halfText) takeRest() string {
	if h.first == 0 {
		return ""
	}
	h.first = 0
	return "\uFFFD"
}

// join returns a delta with whole characters. An ending, the delta with the reason to finish,
// has the halves too that nothing follows.
func (j *halfJoiner) join(d llm.Delta) llm.Delta {
	d.Text = j.text.add(d.Text)
	d.Reasoning = j.reasoning.add(d.Reasoning)
	calls := make([]llm.ToolCallDelta, len(d.ToolCalls))
	for i, call := range d.ToolCalls {
		call.Arguments = j.argumentsOf(call.Index).add(call.Arguments)
		call.Extra = unmarkMembers(call.Extra)
		calls[i] = call
	}
	if d.ToolCalls != nil {
		d.ToolCalls = calls
	}
	d.Extra = unmarkMembers(d.Extra)
	if d.FinishReason != "" {
		d.Text += j.text.takeRest()
		d.Reasoning += j.reasoning.takeRest()
	}
	return d
}

func (j *halfJoiner) argumentsOf(index int) *halfText {
	if j.arguments == nil {
		j.arguments = map[int]*halfText{}
	}
	if j.arguments[index] == nil {
		j.arguments[index] = &halfText{}
	}
	return j.arguments[index]
}

// unmarkMembers returns members without marks. The map is not changed.
func unmarkMembers(members map[string]json.RawMessage) map[string]json.RawMessage {
	var clean map[string]json.RawMessage
	for name, raw := range members {
		if !bytes.Contains(raw, []byte(halfMark)) {
			continue
		}
		if clean == nil {
			clean = maps.Clone(members)
		}
		clean[name] = unmarkJSON(raw)
	}
	if clean == nil {
		return members
	}
	return clean
}
