package template

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// ofParams returns the spans of a text with the values named by their parameter: /values/city for the name city.
func ofParams(spans []prompt.Span) []prompt.Span {
	for i := range spans {
		for j := range spans[i].Sources {
			from := &spans[i].Sources[j]
			from.Name, from.Pointer = "values", "/"+value.Escape(from.Name)+from.Pointer
		}
	}
	return spans
}

// origins returns those of the values in the input, and of the rendered text, by the spans that the run has recorded.
func origins(ctx context.Context, of calls.Record, at string) (list []calls.Origin) {
	if at != "/output/text" {
		return calls.ParamsAsInput(ctx, of, at)
	}
	given, _ := of.Params.Get("template")
	template, _ := given.Str()
	output, _ := of.Output.Get("text")
	text, _ := output.Str()
	for _, s := range of.Spans {
		o := calls.Origin{Start: s.Start, End: s.End, Pointer: pointer, From: s.TemplateStart}
		switch s.Kind {
		case prompt.Literal:
			end := s.TemplateStart + s.End - s.Start
			isCopy := end <= len(template) && s.End <= len(text) && template[s.TemplateStart:end] == text[s.Start:s.End]
			o.Computed = !isCopy
			list = append(list, o)
		case prompt.Reference:
			o.Pointer, o.From = paramPointer(of.Params, s.Sources[0]), s.Sources[0].Start
			list = append(list, o)
		case prompt.Computed:
			o.Computed, o.Size = true, s.TemplateEnd-s.TemplateStart
			list = append(list, o) // the expression
			o.From, o.Size = 0, 0
			for _, from := range s.Sources {
				o.Pointer = paramPointer(of.Params, from)
				if !slices.Contains(list, o) {
					list = append(list, o)
				}
			}
		}
	}
	return list
}

// paramPointer returns the pointer of the parameter that a span names, or of the one around it if a secret was masked in the pointer only
// after the parameters were recorded.
func paramPointer(params value.Value, ref prompt.ValueRef) string {
	pointer := "/" + ref.Name + ref.Pointer
	for strings.Count(pointer, "/") > 1 {
		if _, ok := params.At(pointer); ok {
			break
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
	return pointer
}
