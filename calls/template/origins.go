package template

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// outputOrigins returns those of the rendered text: the template is rendered once more, with a
// trace. A text that comes out differently, for it has the time in it, has none.
func outputOrigins(ctx context.Context, of calls.Record, at string) (list []calls.Origin) {
	var p Params
	if at != "/output/text" || value.Decode(of.Params, &p) != nil {
		return nil
	}
	t, err := p.parseTemplate(nil)
	if err != nil {
		return nil
	}
	text, spans, err := t.Trace(ctx, prompt.Values{Map: value.OfMap(p.Values).Map()})
	given, _ := of.Output.Get("text")
	if was, _ := given.Str(); err != nil || text != was {
		return nil
	}
	for _, s := range spans {
		o := calls.Origin{Start: s.Start, End: s.End, Pointer: pointer, From: s.TemplateStart}
		switch s.Kind {
		case prompt.Literal:
			end := s.TemplateStart + s.End - s.Start
			o.Computed = end > len(p.Template) || p.Template[s.TemplateStart:end] != text[s.Start:s.End]
			list = append(list, o)
		case prompt.Reference:
			o.Pointer, o.From = valuePointer(s.Sources[0]), s.Sources[0].Start
			list = append(list, o)
		case prompt.Computed:
			o.Computed = true
			if len(s.Sources) == 0 {
				list = append(list, o) // of constants
			}
			for _, from := range s.Sources {
				o.Pointer = valuePointer(from)
				list = append(list, o)
			}
		}
	}
	return list
}

// valuePointer returns the pointer of the parameter that a name of the template is.
func valuePointer(ref prompt.ValueRef) string {
	return "/values/" + value.Escape(ref.Name) + ref.Pointer
}
