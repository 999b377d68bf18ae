package context

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// origins returns those of the input, and of the members of messages that were given. The texts of messages are told by the parts.
func origins(ctx context.Context, of calls.Record, pointer string) []calls.Origin {
	at, isOfMessage := strings.CutPrefix(pointer, "/output/messages/")
	number, member, isMember := strings.Cut(at, "/")
	i, err := strconv.Atoi(number)
	if !isOfMessage || !isMember || err != nil {
		return calls.ParamsAsInput(ctx, of, pointer)
	}
	given := givenMessage(of, i)
	if given == "" {
		return nil
	}
	sent, _ := of.Output.At("/messages/" + at)
	if same, _ := of.Params.At(given + "/" + member); value.Equal(same, sent) {
		return of.OriginOfParam(given + "/" + member)
	}
	name, _, _ := strings.Cut(member, "/")
	origins := of.OriginOfParam(given + "/" + name)
	for i := range origins { // in the shape that providers take
		origins[i].Computed = true
	}
	return origins
}

// givenMessage returns the pointer of the parameter that a message of the output was given as; "" for those that the call has written. Behind
// the system prompt are the newest messages of the history, then the user's message where there is one, then what is appended.
func givenMessage(of calls.Record, message int) (pointer string) {
	messages, _ := of.Output.Get("messages")
	history, _ := of.Params.Get("history")
	appended, _ := of.Params.Get("append")
	left := len(messages.List()) - message // with those behind it
	if left <= len(appended.List()) {
		return fmt.Sprintf("/append/%d", len(appended.List())-left)
	}
	left -= len(appended.List())
	said, _ := of.Params.Get("current_message")
	media, _ := of.Params.Get("media")
	if hasUser := !said.IsNull() || len(media.List()) > 0; hasUser {
		left--
	}
	if isSystem := message == 0; isSystem || left <= 0 || left > len(history.List()) {
		return ""
	}
	return fmt.Sprintf("/history/%d", len(history.List())-left)
}
