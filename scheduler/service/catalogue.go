package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
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

// CallMetered is [Caller.Call] that tells what models were paid for it.
func (c *Caller) CallMetered(ctx context.Context, r *CallRequest) (value.Value, llm.Usage, []Note, error) {
	meter := &meteredLLM{}
	counted := *r
	counted.wrap = func(p llm.Provider) llm.Provider {
		meter.Provider = p
		return meter
	}
	output, notes, err := c.Call(ctx, &counted)
	meter.mu.Lock()
	defer meter.mu.Unlock()
	return output, meter.usage, notes, err
}

// chatCall is the name of the call that asks a model.
const chatCall = "chat"

// Ask asks a model for the answer to messages, without a flow and a memory. provider is the
// name of one; "" is that of the settings.
func (s *Service) Ask(ctx context.Context, provider string, messages value.Value) (string, llm.Usage, error) {
	def, err := s.CallDefinition(chatCall)
	if err != nil {
		return "", llm.Usage{}, err
	}
	r := &CallRequest{With: value.OfMap(value.Pairs("messages", messages))}
	if provider != "" {
		f, problems, err := s.LintText("ask.yaml", "steps: [{id: answer, call: template, with: {template: ''}}]")
		if err != nil || f == nil {
			return "", llm.Usage{}, errors.Join(err, problems.Err())
		}
		e, _, err := s.parts.Executor(f, ExecutorOptions{Provider: provider})
		if err != nil {
			return "", llm.Usage{}, err
		}
		r.LLM = e.Env.LLM
	}
	output, usage, _, err := s.Caller(Principal{}, def).CallMetered(ctx, r)
	text, _ := output.Get("text")
	answer, _ := text.Str()
	return answer, usage, err
}
