package calls

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Traced is a text with the origins of its bytes. Calls build it while they assemble a prompt, and pass it on as a
// [Part]. Bytes without an origin are the call's own words. It is a value: its methods return new ones.
type Traced struct {
	Text    string
	Origins []Origin
}

// TracedParam returns a text that is the parameter at a pointer, or a string inside one.
func TracedParam(pointer, text string) Traced { return Traced{text, FromParam(pointer, text)} }

// TracedName returns a text that is a name of the step's templates, or at a pointer below
// it.
func TracedName(name, pointer, text string) Traced {
	if text == "" {
		return Traced{}
	}
	return Traced{text, []Origin{{End: len(text), Kind: OriginName, Name: name, Pointer: pointer}}}
}

// TracedUser returns a text that a person wrote when the step waited.
func TracedUser(text string) Traced {
	if text == "" {
		return Traced{}
	}
	return Traced{text, []Origin{{End: len(text), Kind: OriginUser}}}
}

// TracedFile returns the text of a file without a byte-order mark, and with CRLF and CR as LF. Its origins are the
// bytes and lines of the unchanged file.
func TracedFile(path, content string) Traced {
	mark := len(content) - len(strings.TrimPrefix(content, "\ufeff"))
	var text strings.Builder
	var origins []Origin
	line := 1
	add := func(from int, copied string) {
		if copied != "" {
			start := text.Len()
			text.WriteString(copied)
			origins = append(origins, Origin{Start: start, End: text.Len(), From: from, File: path, Line: line})
			line += strings.Count(copied, "\n")
		}
	}
	for from := mark; from < len(content); {
		size := strings.IndexByte(content[from:], '\r')
		if size < 0 {
			add(from, content[from:])
			break
		}
		add(from, content[from:from+size])
		from += size + 1
		if !strings.HasPrefix(content[from:], "\n") {
			start := text.Len()
			text.WriteByte('\n')
			origins = append(origins, Origin{Start: start, End: start + 1, From: from - 1, Computed: true, Size: 1, File: path, Line: line})
		}
	}
	return Traced{text.String(), origins}
}

// ComputedFrom returns a text that was made from something, and is not a copy of it.
func ComputedFrom(source Origin, text string) Traced {
	if text == "" {
		return Traced{}
	}
	source.Start, source.End, source.Computed = 0, len(text), true
	return Traced{text, []Origin{source}}
}

// Slice returns the bytes [start, end).
func (t Traced) Slice(start, end int) Traced {
	cut := Traced{Text: t.Text[start:end]}
	for _, o := range t.Origins {
		from, to := max(o.Start, start), min(o.End, end)
		if from >= to {
			continue
		}
		if !o.Computed {
			o.From += from - o.Start
			if o.Line > 0 {
				o.Line += strings.Count(t.Text[o.Start:from], "\n")
			}
		}
		o.Start, o.End = from-start, to-start
		cut.Origins = append(cut.Origins, o)
	}
	return cut
}

// Append returns the text with others after it.
func (t Traced) Append(others ...Traced) Traced {
	size, count := len(t.Text), len(t.Origins)
	for _, other := range others {
		size += len(other.Text)
		count += len(other.Origins)
	}
	var text strings.Builder
	text.Grow(size)
	text.WriteString(t.Text)
	origins := append(make([]Origin, 0, count), t.Origins...)
	for _, other := range others {
		for _, o := range other.Origins {
			o.Start += text.Len()
			o.End += text.Len()
			origins = appendOrigin(origins, o)
		}
		text.WriteString(other.Text)
	}
	return Traced{text.String(), origins}
}

// appendOrigin adds an origin; one that continues the last is merged with it.
func appendOrigin(origins []Origin, o Origin) []Origin {
	if last := len(origins) - 1; last >= 0 && !o.Computed && o.Line == 0 {
		before := origins[last]
		goesOn := before.End == o.Start && before.From+before.End-before.Start == o.From
		before.Start, before.End, before.From = o.Start, o.End, o.From
		if goesOn && before == o {
			origins[last].End = o.End
			return origins
		}
	}
	return append(origins, o)
}

// JoinTraced is [strings.Join] of traced texts.
func JoinTraced(list []Traced, separator string) Traced {
	all := make([]Traced, 0, 2*len(list))
	for i, t := range list {
		if i > 0 {
			all = append(all, Traced{Text: separator})
		}
		all = append(all, t)
	}
	return Traced{}.Append(all...)
}

// TrimSpace is [strings.TrimSpace].
func (t Traced) TrimSpace() Traced {
	end := len(strings.TrimRightFunc(t.Text, unicode.IsSpace))
	start := end - len(strings.TrimLeftFunc(t.Text[:end], unicode.IsSpace))
	return t.Slice(start, end)
}

// ReplaceAll is [strings.ReplaceAll]. The replacement counts as computed from the replaced text.
func (t Traced) ReplaceAll(old, replacement string) Traced {
	if old == "" || old == replacement || !strings.Contains(t.Text, old) {
		return t
	}
	var pieces []Traced
	for {
		at := strings.Index(t.Text, old)
		if at < 0 {
			return Traced{}.Append(append(pieces, t)...)
		}
		pieces = append(pieces, t.Slice(0, at), t.Slice(at, at+len(old)).replaced(replacement))
		t = t.Slice(at+len(old), len(t.Text))
	}
}

// replaced returns a text that was computed from t.
func (t Traced) replaced(by string) Traced {
	put := Traced{Text: by}
	if by == "" {
		return put
	}
	for _, o := range t.Origins {
		if !o.Computed {
			o.Computed, o.Size, o.Line = true, o.End-o.Start, 0
		}
		o.Start, o.End = 0, len(by)
		put.Origins = append(put.Origins, o)
	}
	return put
}

// Fields returns the words of the text, with one space between them.
func (t Traced) Fields() Traced {
	var pieces []Traced
	end := -1 // of the last word
	for rest := 0; rest < len(t.Text); {
		start := len(t.Text) - len(strings.TrimLeftFunc(t.Text[rest:], unicode.IsSpace))
		if start == len(t.Text) {
			break
		}
		if end >= 0 {
			pieces = append(pieces, t.Slice(end, start).ReplaceAll(t.Text[end:start], " "))
		}
		end = len(t.Text)
		if n := strings.IndexFunc(t.Text[start:], unicode.IsSpace); n >= 0 {
			end = start + n
		}
		pieces = append(pieces, t.Slice(start, end))
		rest = end
	}
	return Traced{}.Append(pieces...)
}

// Truncate is [llm.TruncateTokens] of a text that costs more than budget.
func (t Traced) Truncate(budget int, tokens llm.Counter) Traced {
	short, _ := llm.TruncateTokens(t.Text, budget, tokens)
	return t.TruncatedTo(short)
}

// TruncatedTo returns the text as shortened by [llm.TruncateTokens].
func (t Traced) TruncatedTo(short string) Traced {
	if short == t.Text {
		return t
	}
	kept := strings.TrimSuffix(short, llm.TruncationMarker)
	return t.Slice(0, len(kept)).Append(Traced{Text: short[len(kept):]})
}

// TracedJSON returns the JSON of a value. from returns the origin of the value at a pointer into it. Strings that
// JSON writes unescaped are copies of the value's; names of members belong to their object. Brackets, commas and
// quotes around these are the call's own.
func TracedJSON(v value.Value, from func(pointer string) Origin) Traced {
	return jsonTracer{from: from}.trace(v)
}

// TracedContent is [TracedJSON] of the content of a message, a list of parts: of these, names of
// members are the call's own too.
func TracedContent(v value.Value, from func(pointer string) Origin) Traced {
	return jsonTracer{from: from, ownsNames: true}.trace(v)
}

// jsonTracer writes JSON with origins. It lives for one value.
type jsonTracer struct {
	from      func(pointer string) Origin
	ownsNames bool
}

func (j jsonTracer) trace(v value.Value) Traced { return Traced{}.Append(j.appendJSON(nil, v, "")...) }

// copied returns a text with the origin of the value at a pointer.
func (j jsonTracer) copied(pointer, text string) Traced {
	o := j.from(pointer)
	o.Start, o.End = 0, len(text)
	return Traced{text, []Origin{o}}
}

// appendJSON appends the pieces of the JSON of the value at a pointer.
func (j jsonTracer) appendJSON(pieces []Traced, v value.Value, pointer string) []Traced {
	own := func(text string) { pieces = append(pieces, Traced{Text: text}) }
	switch {
	case len(v.List()) > 0:
		open := "["
		for i, item := range v.List() {
			own(open)
			open = ","
			pieces = j.appendJSON(pieces, item, pointer+"/"+strconv.Itoa(i))
		}
		own("]")
	case v.Map().Len() > 0:
		open := "{"
		for key, member := range v.Map().All() {
			own(open)
			pieces = append(pieces, j.traceName(key, pointer), Traced{Text: ":"})
			pieces = j.appendJSON(pieces, member, pointer+"/"+value.Escape(key))
			open = ","
		}
		own("}")
	case v.Kind() == value.String:
		text, _ := v.Str()
		own(`"`)
		pieces = append(pieces, escapeJSON(Traced{text, originsOfShortened(j.from(pointer), text)}))
		own(`"`)
	default: // a list, or an object, without members too
		pieces = append(pieces, j.copied(pointer, v.JSON()))
	}
	return pieces
}

// traceName returns the name of a member of the object at a pointer, in quotes.
func (j jsonTracer) traceName(name, pointer string) Traced {
	quoted := value.OfString(name).JSON()
	if j.ownsNames || name == "" {
		return Traced{Text: quoted}
	}
	quote := Traced{Text: `"`}
	return quote.Append(j.copied(pointer, quoted[1:len(quoted)-1]), quote)
}

// originsOfShortened returns the origins of a text that may be the beginning of its source: its end is then
// computed.
func originsOfShortened(o Origin, text string) []Origin {
	kept := len(strings.TrimSuffix(text, llm.TruncationMarker))
	marker := o
	o.Start, o.End = 0, kept
	if kept == len(text) {
		return []Origin{o}
	}
	marker.Start, marker.End, marker.Computed, marker.From, marker.Size = kept, len(text), true, o.From+kept, 0
	return []Origin{o, marker}
}

// escapeJSON returns the text as written between the quotes in JSON.
func escapeJSON(t Traced) Traced {
	var pieces []Traced
	end := 0
	for at, c := range t.Text {
		size := utf8.RuneLen(c)
		if c == utf8.RuneError { // or bytes that are not a character
			_, size = utf8.DecodeRuneInString(t.Text[at:])
		}
		character := t.Text[at : at+size]
		quoted := value.OfString(character).JSON()
		if written := quoted[1 : len(quoted)-1]; written != character {
			pieces = append(pieces, t.Slice(end, at), t.Slice(at, at+size).replaced(written))
			end = at + size
		}
	}
	return Traced{}.Append(append(pieces, t.Slice(end, len(t.Text)))...)
}
