package openai

import (
	"net/http"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
)

// What becomes of the fields of a request: an input of the flow that has the name takes the field. Of the others, some are
// followed by the server, some decide nothing about the answer, some are refused, as an answer without them would be another
// one in kind, and the rest is told in the answer as ignored.

// followedFields are those that the server follows.
func followedFields() []string {
	return []string{"model", "messages", "stream", "stream_options", "metadata"}
}

// idleFields are those that decide nothing about the text of an answer.
func idleFields() []string {
	return []string{
		"store", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier", "prediction",
		"parallel_tool_calls",
	}
}

// refusedFields are those that some values of ask for an answer of a kind that a flow does not give; what isRefused lets pass
// asks for nothing.
func refusedFields() []string {
	return []string{
		"n", "tools", "functions", "logprobs", "top_logprobs", "audio", "web_search_options", "tool_choice", "function_call",
		"response_format", "modalities",
	}
}

// isRefused reports whether a field asks for an answer of a kind that a flow does not give.
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

// isNothing reports whether a value asks for nothing: null, false, 0, or what is empty.
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

// isInput reports whether a flow, which may be nil, has an input of a name.
func isInput(f *flow.Flow, name string) bool {
	if f == nil {
		return false
	}
	properties, _ := f.Inputs.Doc().Get("properties")
	_, ok := properties.Get(name)
	return ok
}

// checkFields refuses the request where the flow, nil for a task, cannot give such an answer.
func (in *request) checkFields(f *flow.Flow) error {
	for name, v := range in.doc.Map().All() {
		if isRefused(name, v) && !isInput(f, name) {
			return NewError(http.StatusBadRequest, wording.Say("%s is not supported: the flow decides", name), name, "unsupported_parameter")
		}
	}
	return nil
}

// ignoredFields returns the fields of the request that nothing follows, sorted. messages stands for those but the last question.
func (in *request) ignoredFields(f *flow.Flow) (ignored []string) {
	known := slices.Concat(followedFields(), idleFields(), refusedFields())
	for name, v := range in.doc.Map().All() {
		isTaken := slices.Contains(known, name) || isInput(f, name)
		if !isTaken && !v.IsNull() {
			ignored = append(ignored, value.Truncate(name, 80))
		}
	}
	isRead := f == nil || isInput(f, "messages") || isInput(f, "history")
	if !isRead && len(in.messages.List()) > 1 {
		ignored = append(ignored, "messages")
	}
	slices.Sort(ignored)
	return ignored
}

// checkQuestion refuses a question of which the flow would get a part only: images and the like reach it by an input messages.
func (in *request) checkQuestion(f *flow.Flow, isAnswer bool) error {
	at := in.lastQuestion()
	if at < 0 || isInput(f, "messages") && !isAnswer {
		return nil
	}
	content, _ := in.messages.List()[at].Get("content")
	for _, part := range content.List() {
		kind, _ := part.Get("type")
		if name, _ := kind.Str(); name != "text" {
			return NewError(http.StatusBadRequest, wording.Say("the flow reads no %q in a message: send a text, or give the flow an input messages", value.Truncate(name, 80)), "messages", "unsupported_content")
		}
	}
	return nil
}
