package explain

import (
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// isForeign reports whether a call belongs to a plugin or a server, whose words about its sources are checked: its
// name has a dot, for example mcp.search.
func isForeign(call string) bool { return strings.Contains(call, ".") }

// foreignParts returns the parts in a list that a foreign call has put out. Unlike the parts of built-in calls
// they count as included by default; in an output without messages, message 0 is its text.
func foreignParts(output, list value.Value) (parts []calls.Part) {
	_, hasMessages := output.Get("messages")
	for _, item := range list.List() {
		part := calls.Part{}
		if value.Decode(item, &part) != nil {
			continue
		}
		if _, told := item.Get("included"); !told {
			part.Included = true
		}
		if !hasMessages && part.Message != nil && *part.Message == 0 {
			part.Message = nil
		}
		parts = append(parts, part)
	}
	return parts
}

// isCredible reports whether a call's claim about a part can be true: each origin of a foreign call must name a
// parameter that the call had, and have the bytes that it is said to have given. origins are the origins of the
// stretch.
func isCredible(got *journal.StepState, origins []calls.Origin, stretch string) bool {
	if got == nil || !isForeign(got.Call) {
		return true
	}
	end := 0
	for _, o := range origins {
		isInside := o.Start >= end && o.Start < o.End && o.End <= len(stretch)
		if !isInside || !isBetweenRunes(stretch, o.Start, o.End) || !isOfParam(got, o, stretch[o.Start:o.End]) {
			return false
		}
		if !o.Computed {
			end = o.End
		}
	}
	return true
}

// isOfParam reports whether a stretch can come from the parameters of a call, as an origin claims.
func isOfParam(got *journal.StepState, o calls.Origin, stretch string) bool {
	given, found := got.Params.At(o.Pointer)
	if !found || o.Kind != "" || o.File != "" {
		return false
	}
	text, isText := given.Str()
	if o.Computed || !isText {
		return o.Computed
	}
	return standsAt(text, shownOrigin(o, text).From, stretch)
}

// isBetweenRunes reports whether the bytes [start, end) of a text are whole characters.
func isBetweenRunes(text string, start, end int) bool {
	startsRune := func(at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }
	return startsRune(start) && startsRune(end)
}

// callHTTP is the call that reaches other machines.
const callHTTP = "http"

// isOfServer reports whether a call is a tool of an MCP server, which may answer with data from elsewhere.
func isOfServer(call string) bool { return strings.HasPrefix(call, "mcp.") }
