package calls

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Origin is where a stretch of a piece was taken from: a parameter, a file, or
// something with a name of its own. Stretches do not overlap; one that was computed from
// several sources has an origin for each of them. A call makes it as a part of a [Part]; it is
// only data.
type Origin struct {
	// Start and End are the bytes [Start, End) of the piece's text. Both are 0 where all
	// of it, be it text or not, is the value of the source.
	Start int `json:"start"`
	End   int `json:"end"`
	// Kind is what the source is, where it is neither a parameter nor a file.
	Kind OriginKind `json:"kind,omitempty"`
	Name string     `json:"name,omitempty"`
	// Pointer is the JSON pointer of the parameter; of a name, that of the member below
	// it.
	Pointer string `json:"pointer,omitempty"`
	// From is the byte of the source's text at which the stretch begins: of the
	// parameter, the name, or the file. Below 0 that is not known.
	From int `json:"from,omitempty"`
	// Computed is set where the stretch was made from its source and is not a copy
	// of it: from the Size bytes from From on, or where Size is 0, from all of it, or from what begins at From.
	Computed bool `json:"computed,omitempty"`
	Size     int  `json:"size,omitempty"`
	// File is the path of a file, and Line, from 1, the line where the stretch begins;
	// 0 where it is not known.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Use is, of the result of a tool, the piece of the step's work in which the tool was used: price-2 of the events' clerk/price-2.
	Use string `json:"use,omitempty"`
}

// OriginKind is what an [Origin] is that is neither a parameter nor a file.
type OriginKind string

// The kinds of origins.
const (
	OriginName OriginKind = "name" // Name is what templates of the step know by it: question, inputs, a step
	// OriginConversation is a message before the question: Pointer begins with its index, for
	// example /2/content.
	OriginConversation OriginKind = "conversation"
	OriginAnswer       OriginKind = "answer" // what the model has answered before
	OriginTool         OriginKind = "tool"   // the result of the tool Name
	OriginMemory       OriginKind = "memory" // the memory of the id Name
	OriginText         OriginKind = "text"   // words of the text Name of the call
	OriginUser         OriginKind = "user"   // what a person answered when the step waited
	OriginClock        OriginKind = "clock"  // the time of the run
	OriginParams       OriginKind = "params" // the schema of the parameters of the call that is filled
)

// Record is what is on record of a step that ran a call.
type Record struct {
	Params, Input, Output value.Value
	// Seen returns the question, the conversation and the finished steps that the step saw. nil: that is not
	// known.
	Seen func() *Vars
}

// FromParam returns the origin of a text that is a parameter, or a string inside one,
// as it is.
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

// OriginOfParam returns the origin of what is the parameter at a pointer, as it is; nil where the
// step did not give that parameter.
func (r Record) OriginOfParam(pointer string) []Origin {
	if v, _ := r.Params.At(pointer); v.IsNull() {
		return nil
	}
	return []Origin{{Pointer: pointer}}
}

// OriginOfParamOr is [Record.OriginOfParam] for a parameter that takes the place of a name of the
// step's templates: that is the origin where the step did not give the parameter.
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
