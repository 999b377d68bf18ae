package calls

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
)

// Origin is the source of a stretch of a piece: a parameter, a file, or something with a name of its own.
// Stretches do not overlap; one that was computed from several sources has an origin for each of them. A call
// makes it as a part of a [Part]; it is only data.
type Origin struct {
	// Start and End are the bytes [Start, End) of the piece's text. Both are 0 if all of it, text or not, is the
	// value of the source.
	Start int `json:"start"`
	End   int `json:"end"`
	// Kind is the kind of a source that is neither a parameter nor a file.
	Kind OriginKind `json:"kind,omitempty"`
	Name string     `json:"name,omitempty"`
	// Pointer is the JSON pointer of the parameter; for a name, the pointer of the member below it.
	Pointer string `json:"pointer,omitempty"`
	// From is the byte of the source's text at which the stretch begins: of the
	// parameter, the name, or the file. Below 0 that is not known.
	From int `json:"from,omitempty"`
	// Computed is set if the stretch was made from its source and is not a copy of it: from the Size bytes from From
	// on, or if Size is 0, from all of it, or from the part that begins at From.
	Computed bool `json:"computed,omitempty"`
	Size     int  `json:"size,omitempty"`
	// File is the path of a file, and Line, from 1, the first line of the stretch; 0 if not known.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Use is, of the result of a tool, the piece of the step's work in which the tool was used: price-2 of the events' clerk/price-2.
	Use string `json:"use,omitempty"`
}

// OriginKind is the kind of an [Origin] that is neither a parameter nor a file.
type OriginKind string

// The kinds of origins.
const (
	OriginName OriginKind = "name" // a name in templates of the step: question, inputs, a step
	// OriginConversation is a message before the question: Pointer begins with its index, for
	// example /2/content.
	OriginConversation OriginKind = "conversation"
	OriginAnswer       OriginKind = "answer" // an earlier answer of the model
	OriginTool         OriginKind = "tool"   // the result of the tool Name
	OriginMemory       OriginKind = "memory" // the memory of the id Name
	OriginText         OriginKind = "text"   // words of the text Name of the call
	OriginUser         OriginKind = "user"   // a person's answer when the step waited
	OriginClock        OriginKind = "clock"  // the time of the run
	OriginParams       OriginKind = "params" // the schema of the parameters of the call that is filled
)

// Record is the record of a step that ran a call.
type Record struct {
	Params, Input, Output value.Value
	// Spans are the spans of the output's text that the call has reported with its [Chunk]; nil: none.
	Spans []span.Span
	// Seen returns the question, the conversation and the finished steps that the step saw. nil: that is not
	// known.
	Seen func() *Vars
}

// FromParam returns the origin of a text that is an unchanged parameter, or a string inside one.
func FromParam(pointer, text string) []Origin {
	if text == "" {
		return nil
	}
	return []Origin{{End: len(text), Pointer: pointer}}
}

// ParamsAsInput is the [Definition.Origins] of a call whose input is its parameters, each under its
// own name.
func ParamsAsInput(_ context.Context, of Record, pointer string) []Origin {
	at, ok := strings.CutPrefix(pointer, "/input")
	if !ok {
		return nil
	}
	return of.OriginOfParam(at)
}

// OriginOfParam returns the origin of an unchanged parameter at a pointer; nil if the step did not give that
// parameter.
func (r Record) OriginOfParam(pointer string) []Origin {
	if v, _ := r.Params.At(pointer); v.IsNull() {
		return nil
	}
	return []Origin{{Pointer: pointer}}
}

// OriginOfParamOr is [Record.OriginOfParam] for a parameter that replaces a name of the step's templates: the name
// is the origin if the step did not give the parameter.
func (r Record) OriginOfParamOr(pointer, name string) []Origin {
	if origins := r.OriginOfParam(pointer); origins != nil {
		return origins
	}
	return []Origin{{Kind: OriginName, Name: name}}
}

// CutOrigins returns the origins of the first size bytes of a piece.
func CutOrigins(origins []Origin, size int) (cut []Origin) {
	for _, o := range origins {
		o.End = min(o.End, size)
		if o.Start < o.End {
			cut = append(cut, o)
		}
	}
	return cut
}
