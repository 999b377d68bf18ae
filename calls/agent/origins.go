package agent

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// firstParts returns the parts of the messages that the work begins with.
func (p Params) firstParts() (parts []calls.Part) {
	if p.Messages != nil {
		for i := range p.Messages {
			parts = append(parts, calls.MessagePart(i, calls.Origin{Pointer: fmt.Sprintf("/messages/%d", i)}))
		}
		return parts
	}
	if p.System != "" {
		parts = append(parts, calls.NewPart(0, "", calls.TracedParam("/system", p.System)))
	}
	prompt := calls.MessagePart(len(parts), calls.Origin{Kind: calls.OriginName, Name: "question"})
	if p.Prompt != "" {
		prompt = calls.NewPart(len(parts), "", calls.TracedParam("/prompt", p.Prompt))
	}
	return append(parts, prompt)
}

// messageParts returns the parts of all messages so far.
func (l *loop) messageParts() []calls.Part {
	parts := l.params.firstParts()
	for i := len(parts); i < len(l.out.Messages); i++ {
		content, _ := l.out.Messages[i].Get("content")
		text, _ := content.Str()
		if name, isTool := toolOf(value.OfMap(l.out.Messages[i])); isTool {
			result := calls.Traced{Text: text, Origins: []calls.Origin{{End: len(text), Kind: calls.OriginTool, Name: name}}}
			parts = append(parts, calls.NewPart(i, "tool", result))
			continue
		}
		parts = append(parts, calls.AnswerPart(i, text))
	}
	return parts
}

// toolOf returns the tool whose result a message has.
func toolOf(message value.Value) (name string, ok bool) {
	role, _ := message.Get("role")
	given, _ := message.Get("name")
	name, _ = given.Str()
	kind, _ := role.Str()
	return name, kind == "tool"
}

// outputOrigins returns those of the messages: parameters, answers of the model, results of
// tools.
func outputOrigins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	if use, ok := strings.CutSuffix(pointer, "/result"); ok {
		v, _ := of.Output.At(strings.TrimPrefix(use, "/output"))
		given, _ := v.Get("name")
		name, _ := given.Str()
		return []calls.Origin{{Kind: calls.OriginTool, Name: name}}
	}
	side, at, ok := strings.Cut(strings.TrimPrefix(pointer, "/"), "/messages/")
	number, below, _ := strings.Cut(at, "/")
	i, err := strconv.Atoi(number)
	var p Params
	if !ok || err != nil || value.Decode(of.Params, &p) != nil {
		return nil
	}
	parts := p.firstParts()
	if i < len(parts) {
		o := parts[i].Origins[0]
		o.Start, o.End = 0, 0
		if p.Messages != nil {
			o.Pointer += "/" + below
		} else if below != "content" {
			return nil
		}
		return []calls.Origin{o}
	}
	if side != "output" {
		return nil
	}
	message, _ := of.Output.At("/messages/" + number)
	return originOfMember(message, below)
}

// originOfMember returns that of a member of a message that the work has added.
func originOfMember(message value.Value, member string) []calls.Origin {
	tool, isTool := toolOf(message)
	switch {
	case member == "role":
		return nil
	case member != "content": // what the model has called
		return []calls.Origin{{Kind: calls.OriginAnswer, Computed: true}}
	case isTool:
		return []calls.Origin{{Kind: calls.OriginTool, Name: tool}}
	}
	return []calls.Origin{{Kind: calls.OriginAnswer}}
}
