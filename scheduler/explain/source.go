package explain

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// SourceKind is the kind of a [Source].
type SourceKind string

// The kinds of sources.
const (
	SourceFlow     SourceKind = "flow"     // words of the flow file, at File:Line:Col
	SourceInput    SourceKind = "input"    // an input of the flow, by its path: inputs.visitor
	SourceName     SourceKind = "name"     // another name that a template mentions
	SourceComputed SourceKind = "computed" // the result of the expression Name at File:Line:Col
	SourceFile     SourceKind = "file"     // the file Name that the flow, or a call, reads
	SourceStep     SourceKind = "step"     // a step that made the text, or passed it on
	SourcePart     SourceKind = "part"     // the Part, a kind, of that Name which a step put in
	SourceModel    SourceKind = "model"    // an answer of the model
	SourceTool     SourceKind = "tool"     // a result of the tool Name
	SourceMemory   SourceKind = "memory"   // the memory Name
	SourceUser     SourceKind = "user"     // a person's answer when the step waited
	SourceText     SourceKind = "text"     // the text Name of a call
	SourceClock    SourceKind = "clock"    // the time of the run's clock
	// SourceConversation is a message that the caller sent before the question, by its path:
	// conversation.2.content.
	SourceConversation SourceKind = "conversation"
	SourceParams       SourceKind = "params" // the schema of the parameters of the call Name
)

// Source is one station on the way of a piece of text from its origin to a prompt.
// Explain makes it; it is only data.
type Source struct {
	Kind SourceKind `json:"kind"`
	Name string     `json:"name,omitempty"`
	// Step is the id of the step that has the part, or made or passed on the text; Call is its call, if the text
	// began in the step.
	Step string `json:"step,omitempty"`
	Call string `json:"call,omitempty"`
	// Part is the kind of the part: file, preset, world_book, history ...
	Part string `json:"part,omitempty"`
	// Pointer is the JSON pointer of the parameter that gave the text, in the flow's value at the place: the with
	// of a step, its for_each, or the outputs. "" is all of it. For a step that made the text it is the pointer of
	// the text in its output.
	Pointer string `json:"pointer,omitempty"`
	// File, Line and Col are the place in the flow file, from 1; "" and 0 without one. It is the beginning of the
	// flow's words, after the indentation of their block and the escapes of their quotes; for an input, a name or
	// an expression it is the place at which the template mentions it.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	// Seq is the last event for which File had the text that the place is in, if the flow was edited later; 0 if
	// the text is still current.
	Seq int64 `json:"seq,omitempty"`
	// Path is the file that a call has read the text from, and PathLine the line in it, or in the text Name; ""
	// and 0 without one.
	Path     string `json:"path,omitempty"`
	PathLine int    `json:"path_line,omitempty"`
	// PathCol is the column of a value in a file of data, whose text may be written with escapes.
	PathCol int `json:"path_col,omitempty"`
	// Start and End are the bytes [Start, End) of the source that the text is a copy of: in the text of the
	// parameter as the flow has it, in the text of the input or name, in the file at Path, else in the output of
	// the model, the tool, the memory or the step. Both are nil if the text is no copy, or if the range is not
	// known.
	Start *int `json:"start,omitempty"`
	End   *int `json:"end,omitempty"`
	// From are the names that the text was computed from.
	From []string `json:"from,omitempty"`
	// Origins are the first sources of the names in From, through steps, items and the inputs of flows: each the
	// beginning of a way, or a file or part on it. For a text that a step made they are its makers: a model, a
	// memory, the call of a tool. Like From they may include more than is in the text.
	Origins []Source `json:"-"`
	// Possible are sources that the text may come from if no call reports it: for example the parameters of a
	// plugin's step. One of them with [Source.IsAnywhere] means any source.
	Possible []Source `json:"-"`

	// offset is one more than the byte, in the text of the parameter as the flow has it, of the expression that
	// put in a text that is no copy of the parameter's; 0 if there is none. See [placer].
	offset int
}

// withOffset returns the source with the place of the expression at a byte of the parameter.
func (s Source) withOffset(offset int) Source {
	s.offset = offset + 1
	return s
}

// withSpan returns the source of a copy of its bytes from start on.
func (s Source) withSpan(start, size int) Source {
	end := start + size
	s.Start, s.End = &start, &end
	return s
}

// withoutSpan returns the source without its bytes, for a text that is no copy, and without the place of its
// expression.
func (s Source) withoutSpan() Source {
	s.Start, s.End, s.offset = nil, nil, 0
	return s
}

// withoutBytes returns the source of a text that was computed from a copy, at the place of the copy.
func (s Source) withoutBytes() Source {
	offset := s.offset
	if s.Kind == SourceFlow && s.Start != nil {
		offset = *s.Start + 1
	}
	s = s.withoutSpan()
	s.offset = offset
	return s
}

// cut returns the source of the bytes [from, to) of a text.
func (s Source) cut(text string, from, to int) Source {
	if s.Start == nil {
		return s
	}
	if s.PathLine > 0 {
		s.PathLine += strings.Count(text[:from], "\n")
	}
	return s.withSpan(*s.Start+from, to-from)
}

// String returns the source as people read it, in English.
func (s Source) String() string { return s.Text().En }

// Text returns the source as people read it.
func (s Source) Text() wording.Text {
	place := ""
	if s.File != "" {
		place = s.position().String()
	}
	switch s.Kind {
	case SourceFlow:
		return wording.Same(place)
	case SourceComputed:
		return s.computed(place)
	case SourceFile:
		name := s.Name
		if s.PathCol > 0 {
			name = flow.Position{File: s.Name, Line: s.PathLine, Col: s.PathCol}.String()
		}
		if place == "" {
			return wording.Say("file %s", name)
		}
		return wording.Say("file %s (%s)", name, place)
	case SourceStep, SourcePart:
		return s.ofStep()
	case SourceModel:
		return wording.Say("the model's answer")
	case SourceTool:
		return wording.Say("the tool %s", s.Name)
	case SourceMemory:
		return wording.Say("the memory %s", s.Name)
	case SourceUser:
		return wording.Say("the user's answer")
	case SourceText:
		return wording.Say("the text %s", s.Name)
	case SourceClock:
		return wording.Say("the clock of the run")
	case SourceInput, SourceName, SourceConversation:
		if place != "" {
			return wording.Same(s.Name + " (" + place + ")")
		}
	case SourceParams:
		return wording.Say("the parameters of %s (%s)", s.Name, place)
	}
	return wording.Same(s.Name)
}

// ofStep names the step that made or put in the text.
func (s Source) ofStep() wording.Text {
	maker := s.Step
	if s.Call != "" {
		maker += " (" + s.Call + ")"
	}
	if s.Kind == SourceStep {
		return wording.Same(maker)
	}
	part := PartName(s.Part)
	if s.Name == "" || s.Name == s.Part {
		return wording.Say("%s: %s", maker, part)
	}
	return wording.Say("%s: %s %s", maker, part, s.Name)
}

// computed describes a text that an expression, or a call, computed.
func (s Source) computed(place string) wording.Text {
	if s.Name != "" {
		place += " {{ " + s.Name + " }}"
	}
	if len(s.From) > 0 {
		names := make([]wording.Text, len(s.From))
		for i, name := range s.From {
			names[i] = textOfOrigin(name)
		}
		return wording.Say("%s computed from %s", place, wording.Join(names, ", ", "、"))
	}
	if s.Name == "" {
		return wording.Say("%s (computed)", place)
	}
	return wording.Same(place)
}

// textOfOrigin returns a name of [Source.From] as people read it. One that [Source.String] has made of a source with a
// name is that source's again: names of templates have no space in them.
func textOfOrigin(name string) wording.Text {
	for _, kind := range []SourceKind{SourceTool, SourceMemory, SourceText, SourceFile} {
		prefix := Source{Kind: kind}.String() // with a space at its end, for the name
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return Source{Kind: kind, Name: rest}.Text()
		}
	}
	return wording.Of(name)
}

// origins returns the names of the source for a text that was computed from it.
func (s Source) origins() []string {
	if len(s.From) > 0 {
		return s.From
	}
	if s.isNamed() {
		return []string{s.Name}
	}
	return []string{s.String()}
}

// isNamed reports whether templates know the source by its name.
func (s Source) isNamed() bool {
	return s.Kind == SourceInput || s.Kind == SourceName || s.Kind == SourceConversation
}

// equals reports whether two sources are the same, even if their bytes differ.
func (s Source) equals(other Source) bool {
	isSame := slices.Equal(s.From, other.From)
	s, other = s.withoutSpan(), other.withoutSpan()
	s.From, other.From = nil, nil
	return isSame && reflect.DeepEqual(s, other)
}

// wayKey returns a text that is the same for ways of the same sources, also for other bytes of
// them.
func wayKey(way []Source) string {
	var b strings.Builder
	for _, s := range way {
		for _, text := range []string{string(s.Kind), s.Name, s.Step, s.Call, s.Part, s.Pointer, s.File, strconv.FormatInt(s.Seq, 10), strconv.Itoa(s.Line), strconv.Itoa(s.Col), s.Path, strconv.Itoa(s.PathLine), strconv.Itoa(s.PathCol)} {
			b.WriteString(text)
			b.WriteByte(0)
		}
		for _, name := range s.From {
			b.WriteString(name)
			b.WriteByte(1)
		}
	}
	return b.String()
}

func (s Source) position() flow.Position {
	return flow.Position{File: s.File, Line: s.Line, Col: s.Col}
}

// sourceOfMaker returns the source of a text that a step or an item made.
func sourceOfMaker(got *journal.StepState) Source {
	return Source{Kind: SourceStep, Step: got.ID, Call: got.Call}
}

// sourceOfPart returns the source of a part that a step made itself.
func sourceOfPart(got *journal.StepState, kind string) Source {
	return Source{Kind: SourcePart, Step: got.ID, Call: got.Call, Part: kind}
}

// anywhere is a source that means any source: the origin of a text is not known.
var anywhere = Source{}

// IsAnywhere reports whether the source means any source, in [Source.Possible].
func (s Source) IsAnywhere() bool { return s.Kind == "" }
