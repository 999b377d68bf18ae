package slot

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

// inputOrigins returns the origins of the values in [Params.Init]: parameters, or names that the step saw.
func inputOrigins(of calls.Record, pointer string) []calls.Origin {
	name, below, _ := strings.Cut(strings.TrimPrefix(pointer, "/input/"), "/")
	given, _ := of.Params.Get(name)
	text, _ := given.Str()
	isGiven := text != "" || len(given.List()) > 0
	switch {
	case name == "question":
		return []calls.Origin{{Kind: calls.OriginName, Name: name}}
	case name == "summary" && isGiven, name == "facts" && isGiven:
		return []calls.Origin{{Pointer: strings.TrimPrefix(pointer, "/input")}}
	case name == "summary":
		return []calls.Origin{{Kind: calls.OriginName, Name: name}}
	case name == "facts" && below != "":
		return []calls.Origin{{Kind: calls.OriginName, Name: name, Pointer: "/" + below}}
	case name == "history" && of.Seen != nil:
		return historyOrigins(of, below)
	}
	return nil
}

// historyOrigins returns the origins of a member of a finished step: the input has the newest of them.
func historyOrigins(of calls.Record, pointer string) []calls.Origin {
	number, member, ok := strings.Cut(pointer, "/")
	i, err := strconv.Atoi(number)
	taken, _ := of.Input.Get("history")
	if !ok || err != nil {
		return nil
	}
	i += len(of.Seen().History()) - len(taken.List())
	return []calls.Origin{{Kind: calls.OriginName, Name: "history", Pointer: "/" + strconv.Itoa(i) + "/" + member}}
}

// outputOrigins returns the origins of the data in a step's output. params reads its parameters.
func outputOrigins(of calls.Record, pointer string, params func() (Params, error)) []calls.Origin {
	at, ok := strings.CutPrefix(pointer, "/output/slot_data")
	v, found := of.Output.At("/slot_data" + at)
	if !ok || !found {
		return nil
	}
	var p Params
	if data, _ := of.Params.Get("data"); hasPointers(data) {
		read, err := params()
		if err != nil {
			return nil
		}
		p = read
	}
	sources, _ := of.Output.Get("sources")
	o := p.originOfDatum(sources.Map())(at)
	o.End = len(v.PlainText())
	// The place of the parameter is known. Its value only distinguishes a copy from a value made to fit the
	// schema.
	if given, _ := of.Params.At(o.Pointer); o.Pointer != "" && !value.Equal(given, v) {
		o.Computed = true
	}
	return []calls.Origin{o}
}

// hasPointers reports whether keys of data may be pointers, and not names.
func hasPointers(data value.Value) bool {
	for key := range data.Map().All() {
		if key == "" || key[0] == '/' {
			return true
		}
	}
	return false
}

// originOfDatum returns the origins of the data by pointer: a parameter, or the source that found the value.
func (p *Params) originOfDatum(sources *value.Map) func(pointer string) calls.Origin {
	known := p.originOfKnown()
	return func(pointer string) calls.Origin {
		for at := pointer; ; at = at[:strings.LastIndexByte(at, '/')] {
			if v, ok := sources.Get(at); ok {
				source, _ := v.Str()
				return originBySource(processor.Source(source), pointer, known)
			}
			if at == "" {
				return known(pointer)
			}
		}
	}
}

// isGuess reports whether a model has written the datum at a pointer, as from_model says: of it, or of all around it.
func (p *Params) isGuess() func(pointer string) bool {
	if len(p.FromModel) == 0 {
		return func(string) bool { return false }
	}
	known := p.originOfKnown()
	return func(pointer string) bool {
		given, _ := strings.CutPrefix(known(pointer).Pointer, "/data")
		return slices.ContainsFunc(p.FromModel, func(of string) bool { return given == of || strings.HasPrefix(given, of+"/") })
	}
}

// originOfKnown returns the origin of a known value, by its pointer in the data. If keys of the parameter are
// pointers, the value has another place there.
func (p *Params) originOfKnown() func(pointer string) calls.Origin {
	asGiven := func(pointer string) calls.Origin { return calls.Origin{Pointer: "/data" + pointer} }
	if len(p.Stages) == 0 || !hasPointers(p.Data.Value) {
		return asGiven
	}
	proc, err := p.newProcessor()
	if err != nil { // then there is no data
		return asGiven
	}
	pointers := proc.ConvertPointers(p.Data.Value)
	return func(pointer string) calls.Origin {
		at, _ := pointers.At(pointer)
		if given, ok := at.Str(); ok {
			return calls.Origin{Pointer: "/data" + given}
		}
		return calls.Origin{Pointer: "/data", Computed: true} // an object of several
	}
}

// originBySource returns the origin of a value by its source; known returns the origin of a known value.
func originBySource(source processor.Source, pointer string, known func(pointer string) calls.Origin) calls.Origin {
	switch source {
	case processor.Known:
		return known(pointer)
	case processor.User:
		return calls.Origin{Kind: calls.OriginUser}
	case processor.Default:
		return calls.Origin{Pointer: "/current_schema", Computed: true}
	}
	return calls.Origin{Kind: calls.OriginAnswer, Computed: true}
}
