package input

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// givenMemory is the memory that the parameters give. Missing parts are fetched from the store; an empty list
// counts as given.
type givenMemory struct {
	shortGiven, longGiven bool
	short                 []plugins.Turn
	long                  []recalledMemory
	// shortSources and longSources are the origins of the texts of short and long.
	shortSources []turnSource
	longSources  []memorySource
}

// turnSource is the origin of an utterance.
type turnSource struct {
	content    calls.Traced
	role, time calls.Origin
}

// memorySource is the origin of a memory.
type memorySource struct {
	text  calls.Traced
	score calls.Origin
}

// recalledMemory is a memory with a score, which may be unknown.
type recalledMemory struct {
	text  string
	score *float64
	id    string // of the memory in its store; "" for one that is given
}

// JSONSchema describes the forms that entries may have.
func (givenMemory) JSONSchema() value.Value {
	entries := func(description string, types ...string) *value.Map {
		list := []value.Value{}
		for _, t := range types {
			list = append(list, value.OfString(t))
		}
		return value.Pairs("type", "array", "description", description,
			"items", value.Pairs("type", value.OfList(list...)))
	}
	return value.OfMap(value.Pairs("type", "object",
		"properties", value.Pairs(
			"short_term", entries("The dialogue, oldest first: strings, {role, content} or {is_user, content, timestamp}.", "string", "object"),
			"long_term", entries("Memories, best first: strings, {text or content, score} or [text, score].", "string", "object", "array"),
		),
		"additionalProperties", false))
}

// DecodeValue reads the entries; the error is of type [schema.Problems].
func (m *givenMemory) DecodeValue(v value.Value) error {
	var problems schema.Problems
	each := func(name string, read func(item value.Value, pointer string) error) (given bool) {
		list, given := v.Get(name)
		for i, item := range list.List() {
			if err := read(item, fmt.Sprintf("/memory/%s/%d", name, i)); err != nil {
				problems = append(problems, schema.Problem{Pointer: fmt.Sprintf("/memory/%s/%d", name, i)}.WithMessage("%v", err))
			}
		}
		return given
	}
	m.shortGiven = each("short_term", func(item value.Value, pointer string) error {
		turn, from, err := readTurn(item, pointer)
		if turn.Content != "" { // a message of tool calls alone has no text
			m.short = append(m.short, turn)
			m.shortSources = append(m.shortSources, from)
		}
		return err
	})
	m.longGiven = each("long_term", func(item value.Value, pointer string) error {
		r, err := readRecalled(item)
		if r.text != "" {
			m.long = append(m.long, r)
			m.longSources = append(m.longSources, memorySource{
				calls.TracedParam(pointer+textMember(item, "text", "content"), r.text), calls.Origin{Pointer: pointer + scoreMember(item)},
			})
		}
		return err
	})
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// textMember returns the pointer, below an entry, of its text: of one of the keys, of the
// first of a pair, or of the entry itself.
func textMember(entry value.Value, keys ...string) string {
	if key := entry.Map().FirstKey(keys...); key != "" {
		return "/" + key
	}
	if entry.Kind() == value.List {
		return "/0"
	}
	return ""
}

// readTurn reads the entry at a pointer.
func readTurn(v value.Value, pointer string) (turn plugins.Turn, from turnSource, err error) {
	if text, ok := v.Str(); ok {
		return plugins.Turn{Content: text}, turnSource{content: calls.TracedParam(pointer, text)}, nil
	}
	content, ok := v.Map().First("content", "text")
	if !ok {
		return turn, from, wording.Errorf("want a string or an object with content, got %s", v.Kind())
	}
	from.content, err = contentText(content, pointer+textMember(v, "content", "text"))
	turn.Content = from.content.Text
	from.role, from.time = calls.Origin{Pointer: pointer + "/role"}, calls.Origin{Pointer: pointer + "/timestamp"}
	if err != nil {
		return turn, from, err
	}
	if role, ok := v.Get("role"); ok {
		turn.Role, ok = role.Str()
		if !ok {
			return turn, from, wording.Errorf("role: want a string, got %s", role.Kind())
		}
	} else if isUser, ok := v.Get("is_user"); ok {
		user, ok := isUser.Bool()
		if !ok {
			return turn, from, wording.Errorf("is_user: want a boolean, got %s", isUser.Kind())
		}
		turn.Role = map[bool]string{true: "user", false: "assistant"}[user]
	}
	if when, ok := v.Get("timestamp"); ok && !when.IsNull() {
		turn.Timestamp, err = readTime(when)
		if err != nil {
			return turn, from, wording.Errorf("timestamp: %w", err)
		}
	}
	return turn, from, nil
}

// contentText returns the text of a message's content at a pointer: a string, null, or a list of parts of which
// those with type text count.
func contentText(v value.Value, pointer string) (calls.Traced, error) {
	switch v.Kind() {
	case value.Null:
		return calls.Traced{}, nil
	case value.String:
		text, _ := v.Str()
		return calls.TracedParam(pointer, text), nil
	case value.List:
		var texts []calls.Traced
		for i, part := range v.List() {
			text, _ := part.Get("text")
			if s, ok := text.Str(); ok {
				texts = append(texts, calls.TracedParam(fmt.Sprintf("%s/%d/text", pointer, i), s))
			}
		}
		return calls.JoinTraced(texts, "\n"), nil
	default:
		return calls.Traced{}, wording.Errorf("content: want a string or a list of parts, got %s", v.Kind())
	}
}

// scoreMember returns the pointer, below an entry, of its score.
func scoreMember(entry value.Value) string {
	if entry.Kind() == value.List {
		return "/1"
	}
	return "/" + entry.Map().FirstKey("score", "relevance_score")
}

func readTime(v value.Value) (time.Time, error) {
	if seconds, ok := v.Float(); ok {
		return time.UnixMilli(int64(seconds * 1000)), nil
	}
	text, _ := v.Str()
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, wording.Errorf("%s is not a time (write 2006-01-02T15:04:05Z, or Unix seconds)", v)
}

func readRecalled(v value.Value) (r recalledMemory, err error) {
	var text, score value.Value
	scored := false
	switch pair := v.List(); {
	case v.Kind() == value.String:
		text = v
	case v.Kind() == value.List && len(pair) == 2:
		text, score, scored = pair[0], pair[1], true
	default:
		text, _ = v.Map().First("text", "content")
		score, scored = v.Map().First("score", "relevance_score")
	}
	var ok bool
	r.text, ok = text.Str()
	if !ok {
		return r, wording.Errorf("want a string, an object with text or content, or [text, score], got %s", v.Kind())
	}
	if scored && !score.IsNull() {
		f, ok := score.Float()
		if !ok {
			return r, wording.Errorf("score: want a number, got %s", score.Kind())
		}
		r.score = &f
	}
	return r, nil
}

// tracedTurn returns an utterance as the prompt shows it. One without a role is shown
// as it is.
func (s settings) tracedTurn(t plugins.Turn, from turnSource) calls.Traced {
	if t.Role == "" {
		return from.content
	}
	role := calls.ComputedFrom(from.role, t.Role)
	switch t.Role {
	case "user":
		role = s.traced(keyUserLabel, s.UserLabel)
	case "assistant":
		role = s.traced(keyAssistantLabel, s.AssistantLabel)
	}
	when := calls.Traced{}
	if !t.Timestamp.IsZero() {
		when = calls.ComputedFrom(from.time, t.Timestamp.Format("2006-01-02 15:04"))
	}
	return expandFormat(s.traced(keyTurnFormat, s.TurnFormat), map[string]calls.Traced{"{role}": role, "{content}": from.content, "{time}": when})
}

// tracedMemory returns a memory as the prompt shows it.
func (s settings) tracedMemory(r recalledMemory, from memorySource) calls.Traced {
	if r.score == nil {
		return expandFormat(s.traced(keyUnscoredFormat, s.UnscoredFormat), map[string]calls.Traced{"{text}": from.text})
	}
	score := calls.ComputedFrom(from.score, strconv.FormatFloat(*r.score, 'f', 2, 64))
	return expandFormat(s.traced(keyMemoryFormat, s.MemoryFormat), map[string]calls.Traced{"{text}": from.text, "{score}": score})
}

// expandFormat replaces names in braces by their texts.
func expandFormat(format calls.Traced, texts map[string]calls.Traced) calls.Traced {
	var pieces []calls.Traced
	end := 0
	for at := 0; at < len(format.Text); at++ {
		for name, text := range texts {
			if strings.HasPrefix(format.Text[at:], name) {
				pieces = append(pieces, format.Slice(end, at), text)
				end = at + len(name)
				at = end - 1
				break
			}
		}
	}
	return calls.Traced{}.Append(append(pieces, format.Slice(end, len(format.Text)))...)
}

// readsConversation reports whether a step shows the dialogue before the question: its configuration has the
// variable, as far as the flow contains it, and the step gives no short-term memory of its own.
func readsConversation(params value.Value) bool {
	if own, _ := params.At("/memory/short_term"); !own.IsNull() {
		return false
	}
	config, isInFlow := params.Get("config")
	isKnown := isInFlow && !config.IsNull()
	return !isKnown || strings.Contains(config.JSON(), shortTerm)
}
