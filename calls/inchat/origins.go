package inchat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// origins returns the origins of the input, of the members of messages that are passed on, and of the fields of an
// entry in the source of its message.
func origins(ctx context.Context, of calls.Record, pointer string) []calls.Origin {
	at, isOfMessage := strings.CutPrefix(pointer, "/output/messages/")
	if number, member, ok := strings.Cut(at, "/"); isOfMessage && ok && !strings.HasPrefix(member, "source/") {
		return originOfMember(of, number, member)
	}
	number, field, isSource := strings.Cut(at, "/source/")
	message, err := strconv.Atoi(number)
	if !isOfMessage || !isSource || err != nil {
		return calls.ParamsAsInput(ctx, of, pointer)
	}
	trace, _ := of.Output.Get("trace")
	var parts []calls.Part
	if value.Decode(trace, &parts) != nil {
		return nil
	}
	i := slices.IndexFunc(parts, func(p calls.Part) bool { return p.Message != nil && *p.Message == message })
	if i < 0 { // it is of the history
		return nil
	}
	presets, _ := of.Params.Get("presets_in_chat")
	if i < len(presets.List()) {
		return of.OriginOfParam("/presets_in_chat/" + strconv.Itoa(i) + "/" + field)
	}
	books, _ := of.Params.Get("world_books")
	entries := readBooks(books, "/world_books").entries // the trace has a line for each
	i -= len(presets.List())
	if i >= len(entries) {
		return nil
	}
	tokens, ok := value.SplitPointer("/" + field)
	if !ok {
		return nil
	}
	tokens[0], ok = givenField(entries[i].v.Map(), tokens[0])
	if !ok {
		return nil
	}
	return of.OriginOfParam(entries[i].pointer + value.FormatPointer(tokens...))
}

// originOfMember returns the origin of a member of a history message at a pointer, for example role or
// content/0/text; nil if the call has changed it, for example a role in other letters.
func originOfMember(of calls.Record, message, member string) []calls.Origin {
	sent, _ := of.Output.At("/messages/" + message)
	index, isOfHistory := sent.At("/source/index")
	kind, _ := sent.At("/source/type")
	name, _ := kind.Str()
	passed, _ := sent.At("/" + member)
	pointer := "/history/" + index.JSON() + "/" + member
	given, _ := of.Params.At(pointer)
	if history, _ := of.Params.Get("history"); isOfHistory && history.IsNull() {
		return originsOfSpoken(of, index, member)
	}
	if !isOfHistory || !strings.HasPrefix(name, "history.") || !value.Equal(given, passed) {
		return nil
	}
	return of.OriginOfParam(pointer)
}

// givenField returns the name that a world-book entry has for a field in the source of its message;
// ok is false for a field that the call has added.
func givenField(entry *value.Map, field string) (name string, ok bool) {
	for given := range entry.All() {
		if sourceField(given) == field {
			name, ok = given, true // the last one counts
		}
	}
	return name, ok
}

// sourceField returns the name of a world-book entry's field in the source of its message, whose own id is under
// id.
func sourceField(given string) string {
	if given == "id" {
		return "wb_id"
	}
	return given
}
