package openai

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

// How the fields of a request are handled. A field that an input of the flow is named after becomes that input. Of the
// others, the server follows some, some have no effect on the text of an answer, and some are refused because the flow cannot
// give the kind of answer that they ask for. The answer lists the rest as ignored.

// followedFields returns the fields that the server follows.
func followedFields() []string {
	return []string{"model", "messages", "stream", "stream_options", "metadata"}
}

// idleFields returns the fields that have no effect on the text of an answer.
func idleFields() []string {
	return []string{
		"store", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier", "prediction",
		"parallel_tool_calls",
	}
}

// refusedFields returns the fields that isRefused refuses with some values. Their other values have no effect.
func refusedFields() []string {
	return []string{
		"n", "tools", "functions", "logprobs", "top_logprobs", "audio", "web_search_options", "tool_choice", "function_call",
		"response_format", "modalities",
	}
}

// isRefused reports whether a field asks for a kind of answer that a flow cannot give.
func isRefused(name string, v value.Value) bool {
	text, isText := v.Str()
	n, isNumber := v.Int()
	switch name {
	case "n":
		return !v.IsNull() && (!isNumber || n != 1)
	case "tools", "functions", "logprobs", "top_logprobs", "audio", "web_search_options":
		return !isNothing(v)
	case "tool_choice", "function_call":
		return !isNothing(v) && text != "none" && text != "auto"
	case "response_format":
		kind, _ := v.Get("type")
		name, _ := kind.Str()
		return !v.IsNull() && name != "text"
	case "modalities":
		return slices.ContainsFunc(v.List(), func(one value.Value) bool { s, _ := one.Str(); return s != "text" }) || isText
	}
	return false
}

// isNothing reports whether a value asks for nothing: null, false, 0, or an empty text or list.
func isNothing(v value.Value) bool {
	if yes, isBool := v.Bool(); isBool {
		return !yes
	}
	if n, isNumber := v.Int(); isNumber {
		return n == 0
	}
	text, isText := v.Str()
	return v.IsNull() || isText && text == "" || v.Kind() == value.List && len(v.List()) == 0
}

// isEmpty reports whether a field that the server does not follow has no effect: it is null, an empty text or an
// empty list, or has no bias. Of other fields an empty object may ask for something, as web_search_options does.
func isEmpty(name string, v value.Value) bool {
	text, isText := v.Str()
	isEmptyText := isText && text == ""
	isEmptyList := v.Kind() == value.List && len(v.List()) == 0
	hasNoBias := name == "logit_bias" && v.Kind() == value.Object && v.Map().Len() == 0
	return v.IsNull() || isEmptyText || isEmptyList || hasNoBias
}

// isInput reports whether a flow, which may be nil, has an input of a name.
func isInput(f *flow.Flow, name string) bool {
	if f == nil {
		return false
	}
	properties, _ := f.Inputs.Doc().Get("properties")
	_, ok := properties.Get(name)
	return ok
}

// checkFields refuses a request that asks for a kind of answer that the flow cannot give. The flow is nil for a task.
func (in *request) checkFields(f *flow.Flow) error {
	for name, v := range in.doc.Map().All() {
		if isRefused(name, v) && !isInput(f, name) {
			return NewError(http.StatusBadRequest, wording.Say("%s is not supported: the flow decides", name), name, "unsupported_parameter")
		}
	}
	return nil
}

// ignoredFields returns the sorted names of the fields of the request that have no effect. The name messages means all
// messages but the last question.
func (in *request) ignoredFields(f *flow.Flow) (ignored []string) {
	known := slices.Concat(followedFields(), idleFields(), refusedFields())
	for name, v := range in.doc.Map().All() {
		isTaken := slices.Contains(known, name) || isInput(f, name)
		if !isTaken && !isEmpty(name, v) {
			ignored = append(ignored, value.Truncate(name, 80))
		}
	}
	isRead := f == nil || service.ReadsConversation(f)
	if !isRead && len(in.messages.List()) > 1 {
		ignored = append(ignored, "messages")
	}
	slices.Sort(ignored)
	if len(ignored) > maxIgnored {
		ignored = append(ignored[:maxIgnored], "...")
	}
	return ignored
}

// maxIgnored limits the fields that are named, also in a header: clients refuse answers with long headers.
const maxIgnored = 20

// checkQuestion refuses a question with parts that the flow would not get, such as images: they reach a flow only by an
// input messages.
func (in *request) checkQuestion(f *flow.Flow, isAnswer bool) error {
	at := in.lastQuestion()
	if at < 0 || isInput(f, "messages") && !isAnswer {
		return nil
	}
	content, _ := in.messages.List()[at].Get("content")
	for i, part := range content.List() {
		kind, _ := part.Get("type")
		if name, _ := kind.Str(); name != "text" {
			place := fmt.Sprintf("messages[%d].content[%d]", at, i)
			return NewError(http.StatusBadRequest, wording.Say("the flow reads no %q in a message: send a text, or give the flow an input messages", value.Truncate(name, 80)), place, "unsupported_content")
		}
	}
	return nil
}
