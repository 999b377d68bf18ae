package service

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// CallDocument describes a call in a language: {name, summary, params, input, output, literal, example,
// request?}. request is the example for one call alone, as [Service.ParseCall] reads it.
func CallDocument(def calls.Definition, language string) value.Value {
	info := def.Info
	doc := value.Pairs("name", info.Name, "summary", info.Summary.In(language),
		"params", info.DescribeIn(language, info.Params.Doc()), "input", info.DescribeIn(language, info.Input.Doc()),
		"output", info.DescribeIn(language, info.Output.Doc()), "literal", value.Must(info.Literal), "example", ExampleFlow(def))
	if request, ok := exampleRequest(info); ok {
		doc.Set("request", request)
	}
	return value.OfMap(doc)
}

// exampleRequest returns the first example of a call as a request, with the answers of the
// model; false without one, and for one that reads files.
func exampleRequest(info *calls.Info) (value.Value, bool) {
	if len(info.Examples) == 0 || len(info.Examples[0].Files) > 0 {
		return value.Value{}, false
	}
	example := info.Examples[0]
	with, err := yaml.ParseValue([]byte(example.With))
	if err != nil {
		return value.Value{}, false
	}
	if with.IsNull() {
		with = value.OfMap(nil)
	}
	request := value.Pairs("with", with)
	if vars := exampleVars(example.Vars); vars.Len() > 0 {
		request.Set("vars", value.OfMap(vars))
	}
	var answers []value.Value
	for _, text := range example.Answers {
		answers = append(answers, value.OfMap(value.Pairs("text", text)))
	}
	if len(answers) > 0 {
		request.Set("llm", value.OfList(answers...))
	}
	return value.OfMap(request), true
}

// exampleVars returns the variables of an example's step, as the member vars of a request.
func exampleVars(v *calls.Vars) *value.Map {
	vars := value.NewMap(0)
	if v == nil {
		return vars
	}
	for _, one := range []struct{ name, text string }{
		{"question", v.Question}, {"language", v.Language}, {"user", v.Scope.User}, {"session", v.Scope.Session}, {"summary", v.Summary()},
	} {
		if one.text != "" {
			vars.Set(one.name, value.OfString(one.text))
		}
	}
	if len(v.Conversation.List()) > 0 {
		vars.Set("conversation", v.Conversation)
	}
	if v.Inputs.Kind() == value.Object {
		vars.Set("inputs", v.Inputs)
	}
	if facts := v.Facts(); len(facts) > 0 {
		vars.Set("facts", value.Must(facts))
	}
	if history := v.History(); len(history) > 0 {
		vars.Set("history", value.Must(history))
	}
	return vars
}

// ExampleFlow returns the first example of a call as a whole flow; "" without one. A call
// that asks a model answers with the offline provider echo.
func ExampleFlow(def calls.Definition) string {
	info := def.Info
	if len(info.Examples) == 0 {
		return ""
	}
	example := info.Examples[0]
	var b strings.Builder
	fmt.Fprintf(&b, "name: try-%s\n", strings.ReplaceAll(info.Name, ".", "-"))
	if info.UsesLLM {
		b.WriteString("llm: echo    # repeats the user's words; name a provider of your settings here\n")
	}
	if v := example.Vars; v != nil && v.Question != "" {
		question, err := json.Marshal(v.Question)
		if err == nil {
			fmt.Fprintf(&b, "inputs: {type: object, properties: {question: {type: string, default: %s}}}\n", question)
		}
	}
	if v := example.Vars; v != nil && v.Scope.User != "" {
		fmt.Fprintf(&b, "memory: {user: %s, session: %s}\n", v.Scope.User, v.Scope.Session)
	}
	fmt.Fprintf(&b, "steps:\n  - id: try\n    call: %s\n", info.Name)
	if with := strings.TrimSpace(example.With); with != "" && with != "{}" {
		b.WriteString("    with:\n")
		for line := range strings.SplitSeq(strings.Trim(example.With, "\n"), "\n") {
			b.WriteString(strings.TrimRight("      "+line, " ") + "\n")
		}
	}
	b.WriteString("outputs: {result: \"{{ try }}\"}\n")
	return b.String()
}

// Registry returns the calls and functions that flows can name.
func (s *Service) Registry() (*calls.Registry, error) {
	loader, _, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return nil, err
	}
	return loader.Registry, nil
}

// FlowSchema returns the JSON Schema of flow files, for editors.
func (s *Service) FlowSchema() (value.Value, error) {
	loader, _, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return value.Value{}, err
	}
	return flow.EditorSchema(loader.Registry, loader.Providers...), nil
}

// OperationOf returns [calls.Info.Operation] of a call, "" also for one that is not there.
func (s *Service) OperationOf(call string) string {
	def, err := s.CallDefinition(call)
	if err != nil {
		return ""
	}
	return def.Info.Operation
}

// CallDefinition returns a call that can be used. The error of an unknown one is of kind
// NotFound.
func (s *Service) CallDefinition(name string) (calls.Definition, error) {
	registry, err := s.Registry()
	if err != nil {
		return calls.Definition{}, err
	}
	if err := registry.CheckCall(name); err != nil {
		return calls.Definition{}, err
	}
	def, _ := registry.Call(name)
	return def, nil
}
