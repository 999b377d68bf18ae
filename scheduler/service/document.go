package service

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// CallDocument describes a call: {name, summary, params, input, output, literal, example}.
func CallDocument(def calls.Definition, language string) value.Value {
	info := def.Info
	return value.OfMap(value.Pairs("name", info.Name, "summary", info.Summary.In(language),
		"params", info.Params.Doc(), "input", info.Input.Doc(), "output", info.Output.Doc(),
		"literal", value.Must(info.Literal), "example", ExampleFlow(def)))
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
