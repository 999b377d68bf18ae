package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// keys are the members that an answer may have as JSON.
var keys = []string{"text", "json", "error", "tool_calls", "deltas", "reasoning", "finish_reason", "usage"}

// Parse reads answers written as JSON or YAML: a list of texts and of objects with
// the members
//
//	text           the text
//	json           any value: the text is its JSON
//	error          a message, or {message, status, temporary}
//	tool_calls     [{id, name, arguments}], as in the API or flat; without arguments they are {}
//	deltas         the text in pieces, before an error too
//	reasoning, finish_reason, usage {input_tokens, output_tokens}
//
// The error names the place as a JSON pointer.
func Parse(list value.Value) ([]Answer, error) {
	if list.Kind() != value.List && !list.IsNull() {
		return nil, wording.Errorf("the scripted answers must be an array, not %s", list.Kind())
	}
	answers := make([]Answer, len(list.List()))
	for i, item := range list.List() {
		var err error
		answers[i], err = parseAnswer(item)
		if err != nil {
			return nil, withPointer(fmt.Sprintf("/%d", i), err)
		}
	}
	return answers, nil
}

// withPointer puts a pointer in front of an error that may begin with one.
func withPointer(pointer string, err error) error {
	if strings.HasPrefix(err.Error(), "/") {
		return wording.Errorf("%s%w", pointer, err)
	}
	return wording.Errorf("%s: %w", pointer, err)
}

func parseAnswer(item value.Value) (Answer, error) {
	var a Answer
	if text, ok := item.Str(); ok {
		a.Text = text
		return a, nil
	}
	if item.Kind() != value.Object {
		return a, wording.Errorf("a scripted answer must be an object or a text, not %s", item.Kind())
	}
	if err := checkTogether(item); err != nil {
		return a, err
	}
	for key, member := range item.Map().All() {
		var err error
		switch key {
		case "text":
			err = value.Decode(member, &a.Text)
		case "json":
			a.Text = member.JSON()
		case "error":
			a.Error, err = parseError(member)
		case "tool_calls":
			a.ToolCalls, err = parseToolCalls(member)
		case "deltas":
			var pieces []string
			err = value.Decode(member, &pieces)
			for _, piece := range pieces {
				a.Deltas = append(a.Deltas, llm.Delta{Text: piece})
			}
		case "reasoning":
			err = value.Decode(member, &a.Reasoning)
		case "finish_reason":
			err = value.Decode(member, &a.FinishReason)
		case "usage":
			a.Usage, err = parseUsage(member)
		default:
			return a, unknownMember("", key, keys)
		}
		if err != nil {
			return a, withPointer("/"+value.Escape(key), err)
		}
	}
	return a, nil
}

// checkTogether returns an error for members that cannot belong to one answer: its text is given once, and nothing
// comes after an error.
func checkTogether(item value.Value) error {
	textKey := ""
	for _, key := range []string{"text", "json", "deltas"} {
		if _, ok := item.Get(key); !ok {
			continue
		}
		if textKey != "" {
			return wording.Errorf("/%s: the answer has %s already: give one of text, json and deltas", key, textKey)
		}
		textKey = key
	}
	_, hasError := item.Get("error")
	for key := range item.Map().All() {
		isLost := slices.Contains(keys, key) && key != "error" && key != "deltas"
		if hasError && isLost {
			return wording.Errorf("/%s: an answer with an error has no %s: take one of them out", key, key)
		}
	}
	return nil
}

// parseUsage reads the usage of an answer.
func parseUsage(v value.Value) (*llm.Usage, error) {
	var u *llm.Usage
	if err := checkMembers("", v, "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "cost"); err != nil {
		return nil, err
	}
	if err := value.Decode(v, &u); err != nil {
		return nil, err
	}
	for key, member := range v.Map().All() {
		if number, _ := member.Float(); number < 0 {
			return nil, wording.Errorf("/%s: %s is less than 0", key, member.JSON())
		}
	}
	return u, nil
}

// checkMembers returns an error for a member that an object at a pointer cannot have.
func checkMembers(pointer string, v value.Value, known ...string) error {
	for key := range v.Map().All() {
		if !slices.Contains(known, key) {
			return unknownMember(pointer, key, known)
		}
	}
	return nil
}

func unknownMember(pointer, key string, known []string) error {
	return wording.Errorf("%s/%s: unknown member%s", pointer, value.Escape(key), value.DidYouMeanOrListSuffix(key, known))
}

func parseError(v value.Value) (*llm.Error, error) {
	e := &llm.Error{Provider: "scripted"}
	if text, ok := v.Str(); ok {
		e.Message = text
		return e, nil
	}
	if err := checkMembers("", v, "message", "status", "temporary"); err != nil {
		return nil, err
	}
	var given struct {
		Message   string `json:"message"`
		Status    int    `json:"status"`
		Temporary bool   `json:"temporary"`
	}
	if err := value.Decode(v, &given); err != nil {
		return nil, err
	}
	e.Message, e.Status, e.Temporary = given.Message, given.Status, given.Temporary
	return e, nil
}

func parseToolCalls(v value.Value) ([]llm.ToolCall, error) {
	type function struct {
		Name      string      `json:"name"`
		Arguments value.Value `json:"arguments"`
	}
	var given []struct {
		ID        string      `json:"id"`
		Function  *function   `json:"function"`
		Name      string      `json:"name"`
		Arguments value.Value `json:"arguments"`
	}
	for i, item := range v.List() {
		if item.Kind() != value.Object {
			return nil, wording.Errorf("/%d: want object, got %s", i, item.Kind())
		}
		if err := checkMembers(fmt.Sprintf("/%d", i), item, "id", "type", "index", "function", "name", "arguments"); err != nil {
			return nil, err
		}
		inner, isNested := item.Get("function")
		_, isFlat := item.Get("name")
		if isNested && isFlat {
			return nil, wording.Errorf("/%d/name: the call has a function already: give name and arguments in it alone", i)
		}
		if err := checkMembers(fmt.Sprintf("/%d/function", i), inner, "name", "arguments"); err != nil {
			return nil, err
		}
	}
	if err := value.Decode(v, &given); err != nil {
		return nil, err
	}
	toolCalls := make([]llm.ToolCall, len(given))
	for i, g := range given {
		f := function{g.Name, g.Arguments}
		if g.Function != nil {
			f = *g.Function
		}
		if f.Name == "" {
			return nil, wording.Errorf("/%d: the call names no tool: add a name", i)
		}
		arguments, isText := f.Arguments.Str()
		if f.Arguments.IsNull() {
			arguments = "{}"
		} else if !isText {
			arguments = f.Arguments.JSON()
		}
		toolCalls[i] = llm.ToolCall{Index: i, ID: g.ID, Name: f.Name, Arguments: arguments}
	}
	return toolCalls, nil
}
