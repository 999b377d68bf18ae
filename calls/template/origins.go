package template

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
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
	rendered, spans, err := t.Trace(ctx, prompt.Values{Map: value.OfMap(p.Values).Map()})
	given, _ := of.Output.Get("text")
	text, _ := given.Str()
	if err != nil {
		return nil
	}
	if rendered != text {
		isOfMask := func(s prompt.Span) bool { return slices.ContainsFunc(s.Sources, p.isMasked) }
		if !slices.ContainsFunc(spans, isOfMask) {
			return nil
		}
		aligned, ok := prompt.AlignSpans(spans, rendered, text, isOfMask)
		if !ok {
			return computedFrom(spans, text)
		}
		spans = aligned
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
			o.Computed, o.Size = true, s.TemplateEnd-s.TemplateStart
			list = append(list, o) // the expression
			o.From, o.Size = 0, 0
			for _, from := range s.Sources {
				o.Pointer = valuePointer(from)
				list = append(list, o)
			}
		}
	}
	return list
}

// isMasked reports whether a value is on record with a mask in the place of a secret: what the
// template made of the secret is not what it makes of the mask.
func (p *Params) isMasked(from prompt.ValueRef) bool {
	v, _ := value.OfMap(p.Values).At("/" + value.Escape(from.Name) + from.Pointer)
	return strings.Contains(v.JSON(), secret.Mask)
}

// computedFrom returns the origins of a text of which is not known which bytes which values gave.
func computedFrom(spans []prompt.Span, text string) (list []calls.Origin) {
	o := calls.Origin{End: len(text), Pointer: pointer, Computed: true}
	list = append(list, o)
	for _, s := range spans {
		for _, from := range s.Sources {
			o.Pointer = valuePointer(from)
			if !slices.Contains(list, o) {
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
