package openai

import (
	"encoding/json"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// detailsMember is the member in which OpenRouter sends thoughts with their signatures, and
// wants them back.
const detailsMember = "reasoning_details"

// foreignMembers are members of assistant messages that only other APIs accept: a conversation that changes its
// provider has the previous provider's.
var foreignMembers = []string{"response_items", "content_blocks"}

// thoughts are the thoughts of one answer in the form in which the vendor wants them back.
type thoughts struct {
	name    string
	details []map[string]json.RawMessage
}

// sawMember notes the name under which the server sent a text. The older name wins with
// servers that send both.
func (t *thoughts) sawMember(name string) {
	if t.name == "" || name == "reasoning_content" {
		t.name = name
	}
}

// member returns [llm.Delta.ReasoningMember]. It is "" for OpenRouter's reasoning beside its details, which say the same with signatures.
// A vendor that sends reasoning_content, for example DeepSeek behind a gateway that adds the details, refuses the next request without it.
func (t *thoughts) member() string {
	if t.details != nil && t.name == "reasoning" {
		return ""
	}
	return t.name
}

// addDetails adds a piece of the list. Pieces of one text come as items of the same type and
// index and are joined, for example {type: reasoning.text, index: 0, text: "h"} and then "m";
// encrypted items are never joined. It reports whether the piece is a list of objects.
func (t *thoughts) addDetails(raw json.RawMessage) bool {
	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return false
	}
	for _, item := range items {
		last := len(t.details) - 1
		if last >= 0 && continues(t.details[last], item) {
			joinText(t.details[last], item)
			continue
		}
		t.details = append(t.details, item)
	}
	return true
}

// textMembers are the members of a detail that come in pieces, by the type of the detail.
var textMembers = map[string]string{`"reasoning.text"`: "text", `"reasoning.summary"`: "summary"}

func continues(item, next map[string]json.RawMessage) bool {
	kind, index := string(item["type"]), string(item["index"])
	isText := textMembers[kind] != "" && index != ""
	return isText && kind == string(next["type"]) && index == string(next["index"])
}

// joinText appends the text of next to the item's; other members are replaced.
func joinText(item, next map[string]json.RawMessage) {
	text := textMembers[string(item["type"])]
	for name, raw := range next {
		var before, after string
		isText := name == text && json.Unmarshal(item[name], &before) == nil && json.Unmarshal(raw, &after) == nil
		switch {
		case isText:
			item[name] = endpoint.MustEncode(before + after)
		case string(raw) != "null":
			item[name] = raw
		}
	}
}

// wholeDetails returns the joined list; nil if there is none.
func (t *thoughts) wholeDetails() json.RawMessage {
	if t.details == nil {
		return nil
	}
	return endpoint.MustEncode(t.details)
}

// withoutForeign returns messages without [foreignMembers]. Messages that have none stay as
// they are, to the byte.
func withoutForeign(messages []llm.Message) []llm.Message {
	kept := make([]llm.Message, len(messages))
	for i, message := range messages {
		kept[i] = message
		var members map[string]json.RawMessage
		if json.Unmarshal(message, &members) != nil {
			continue
		}
		before := len(members)
		for _, name := range foreignMembers {
			delete(members, name)
		}
		if len(members) < before {
			kept[i] = endpoint.MustEncode(members)
		}
	}
	return kept
}
