package context

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// origins returns the origins of the input, and of the members of given messages. The parts have the origins of
// the texts of messages.
func origins(ctx context.Context, of calls.Record, pointer string) []calls.Origin {
	at, isOfMessage := strings.CutPrefix(pointer, "/output/messages/")
	number, member, isMember := strings.Cut(at, "/")
	i, err := strconv.Atoi(number)
	if !isOfMessage || !isMember || err != nil {
		return calls.ParamsAsInput(ctx, of, pointer)
	}
	if sent := conversationBehind(of, i); sent >= 0 {
		return []calls.Origin{calls.Dialogue{}.Origin(sent, "/"+member)}
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

// givenMessage returns the pointer of the parameter that a message of the output was given as; "" for messages
// that the call has written. Behind the system prompt are the newest messages of the history, then the user's
// message if there is one, then the appended messages.
func givenMessage(of calls.Record, message int) (pointer string) {
	history, _ := of.Params.Get("history")
	appended, _ := of.Params.Get("append")
	left := leftFrom(of, message)
	if left <= len(appended.List()) {
		return fmt.Sprintf("/append/%d", len(appended.List())-left)
	}
	if i := indexInHistory(of, message, len(history.List())); i >= 0 {
		return fmt.Sprintf("/history/%d", i)
	}
	return ""
}

// conversationBehind returns the index of the message of the conversation that a message of the output is; -1 for none.
func conversationBehind(of calls.Record, message int) int {
	history, _ := of.Params.Get("history")
	if of.Seen == nil || !history.IsNull() {
		return -1
	}
	return indexInHistory(of, message, len(calls.ConversationOf(of.Seen())))
}

// indexInHistory returns which of size messages of before a message of the output is; -1 for none.
func indexInHistory(of calls.Record, message, size int) int {
	appended, _ := of.Params.Get("append")
	left := leftFrom(of, message) - len(appended.List())
	said, _ := of.Params.Get("current_message")
	media, _ := of.Params.Get("media")
	if hasUser := !said.IsNull() || len(media.List()) > 0; hasUser {
		left--
	}
	if isSystem := message == 0; isSystem || left <= 0 || left > size {
		return -1
	}
	return size - left
}

// leftFrom counts the messages of the output from one on.
func leftFrom(of calls.Record, message int) int {
	messages, _ := of.Output.Get("messages")
	return len(messages.List()) - message
}
