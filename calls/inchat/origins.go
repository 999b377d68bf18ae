package inchat

import (
	"context"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// outputOrigins returns those of the fields of an entry that stand in the source of its message.
func outputOrigins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	at, ok := strings.CutPrefix(pointer, "/output/messages/")
	number, field, isSource := strings.Cut(at, "/source/")
	message, err := strconv.Atoi(number)
	trace, _ := of.Output.Get("trace")
	var parts []calls.Part
	if !ok || !isSource || err != nil {
		return nil
	}
	if value.Decode(trace, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		if p.Message == nil || *p.Message != message || len(p.Origins) == 0 {
			continue
		}
		entry, isContent := strings.CutSuffix(p.Origins[0].Pointer, "content")
		for _, o := range p.Origins[1:] { // a macro may begin the content
			if !isContent {
				entry, isContent = strings.CutSuffix(o.Pointer, "content")
			}
		}
		if !isContent {
			return nil
		}
		given := entry + field
		was, _ := of.Params.At(given)
		is, _ := of.Output.At(strings.TrimPrefix(pointer, "/output"))
		if value.Equal(was, is) { // not a field that the call has added
			return []calls.Origin{{Pointer: given}}
		}
	}
	return nil
}
