package input

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// segmentOrigins returns where the text of a segment comes from, which begins at a byte of
// its module: segment j of module i of the configuration.
func (b *builder) segmentOrigins(i, j int, s segment, text string, at int) []calls.Origin {
	var origins []calls.Origin
	switch {
	case !s.isVariable():
		o := b.config.origin(fmt.Sprintf("/context_template/%d/segments/%d/value", i, j))
		o.End = len(text)
		origins = []calls.Origin{o}
	case b.isMemory(s.Value):
		origins = append(origins, b.memoryOrigins[s.Value]...)
	default:
		origins = b.variableOrigins(s.Value, text)
	}
	for n := range origins {
		origins[n].Start += at
		origins[n].End += at
	}
	return origins
}

// isMemory reports whether a variable comes from memory, and not from the parameter
// variables.
func (b *builder) isMemory(name string) bool {
	_, given := b.names.given.Get(name)
	return isMemoryVariable(name) && !given
}

// variableOrigins returns those of a variable that is not memory: a parameter, or a name
// that templates have too.
func (b *builder) variableOrigins(name, text string) []calls.Origin {
	s, ok := b.names.find(name)
	if !ok {
		return nil // its name stands for it
	}
	v, err := b.fetchedValue(name)
	isCopy := err == nil && v.Kind() == value.String
	o := calls.Origin{End: len(text), Computed: !isCopy}
	_, given := b.names.given.Get(s.root)
	switch {
	case given:
		o.Pointer = "/variables/" + value.Escape(s.root) + s.path
	case s.root == "current_user_input" && b.params.UserInput != nil:
		o.Pointer = "/user_input"
	case s.root == "current_user_input":
		o.Kind, o.Name = calls.OriginName, "question"
	case state[s.root] != nil:
		o.Kind, o.Name, o.Pointer = calls.OriginName, s.root, s.path
	default:
		if turn, ok := b.lastTurnOrigin(s.root, text); ok {
			return []calls.Origin{turn}
		}
		o.Kind, o.Name, o.Pointer = calls.OriginName, "vars", "/"+value.Escape(strings.TrimPrefix(s.root, "vars."))+s.path
	}
	return []calls.Origin{o}
}

// lastTurnOrigin returns the source of a built-in variable that is what was said last: the
// utterance in the dialogue that it was taken from. ok is false for any other variable.
func (b *builder) lastTurnOrigin(variable, text string) (o calls.Origin, ok bool) {
	role := map[string]string{"last_user_message": "user", "last_assistant_message": "assistant"}[variable]
	_, isOfStep := b.env.Vars.Resolved[variable] // the engine has taken it, from what it read
	if role == "" || isOfStep {
		return o, false
	}
	d := b.dialogueOrWarn()
	for i, turn := range slices.Backward(d.turns) {
		if turn.Role == role {
			o = b.turnOrigin(d, i)
			o.End = len(text)
			return o, turn.Content == text
		}
	}
	return o, false
}

// turnOrigin returns the source of an utterance.
func (b *builder) turnOrigin(d dialogue, i int) calls.Origin {
	if b.params.Memory.shortGiven {
		return calls.Origin{Pointer: b.params.Memory.shortPointers[d.total-len(d.turns)+i]}
	}
	return calls.Origin{Kind: calls.OriginMemory, Name: cmp.Or(d.turns[i].ID, "session")}
}

// dialogueOrigins returns those of the dialogue, one for each line that holds the words of
// its turn.
func (b *builder) dialogueOrigins(d dialogue) (origins []calls.Origin) {
	at := 0
	for i, line := range d.lines {
		t := d.turns[i]
		origins = append(origins, lineOrigin(b.turnOrigin(d, i), line, t.Content, len(b.settings.turnHead(t)), at))
		at += len(line) + 1
	}
	return origins
}

// recalledOrigins returns those of the memories, one for each line.
func (b *builder) recalledOrigins(list []recalledMemory, lines []string) (origins []calls.Origin) {
	at := 0
	for i, line := range lines {
		o := calls.Origin{Kind: calls.OriginMemory, Name: cmp.Or(list[i].id, "long_term")}
		if b.params.Memory.longGiven {
			o = calls.Origin{Pointer: b.params.Memory.longPointers[i]}
		}
		origins = append(origins, lineOrigin(o, line, list[i].text, len(b.settings.memoryHead(list[i])), at))
		at += len(line) + 1
	}
	return origins
}

// lineOrigin completes the origin of a line which holds some words from start on. A
// line that does not, for it was cut, is computed from them.
func lineOrigin(o calls.Origin, line, words string, start, at int) calls.Origin {
	end := start + len(words)
	if end > len(line) || line[start:end] != words {
		o.Computed = true
		start, end = 0, len(line)
	}
	o.Start, o.End = at+start, at+end
	return o
}
