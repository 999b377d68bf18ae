package template

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

// origins returns the origins of the values in the input, and of the rendered text: the template is rendered once
// more, with a trace. A text that differs the second time, for example because it contains the time, has none.
func origins(ctx context.Context, of calls.Record, at string) (list []calls.Origin) {
	if at != "/output/text" {
		return calls.ParamsAsInput(ctx, of, at)
	}
	var p Params
	if value.Decode(of.Params, &p) != nil {
		return nil
	}
	t, err := p.parseTemplate(nil)
	if err != nil {
		return nil
	}
	values := secret.MarkMasks(value.OfMap(p.Values)).Map()
	recorded, _ := of.Input.Get("seed")
	seed, _ := recorded.Int()
	rendered, spans, err := t.Trace(ctx, newNames(values, seed))
	given, _ := of.Output.Get("text")
	text, _ := given.Str()
	if err != nil {
		return nil
	}
	if rendered != text {
		if !slices.ContainsFunc(spans, func(s prompt.Span) bool { return s.Secret }) {
			return nil
		}
		aligned, ok := prompt.AlignSpans(spans, rendered, text, secret.Mask)
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
			sources := s.Sources
			if len(s.Decided) > 0 {
				sources = append(sources, p.namedIn(t, s)...)
			}
			for _, from := range sources {
				o.Pointer = valuePointer(from)
				if !slices.Contains(list, o) {
					list = append(list, o)
				}
			}
		}
	}
	return list
}

// namedIn returns the values that the template names in the part that a span comes from.
func (p *Params) namedIn(t *prompt.Template, span prompt.Span) (refs []prompt.ValueRef) {
	for _, ref := range t.Refs() {
		v, ok := p.Values.Get(ref.Path[0])
		if !ok || ref.Offset < span.TemplateStart || ref.Offset >= span.TemplateEnd {
			continue
		}
		pointer := ""
		for _, member := range ref.Path[1:] {
			below := pointer + "/" + value.Escape(member)
			if _, ok := v.At(below); !ok {
				break
			}
			pointer = below
		}
		refs = append(refs, prompt.ValueRef{Name: ref.Path[0], Pointer: pointer})
	}
	return refs
}

// computedFrom credits every value to the whole text, for example for a filter such as join that mixes them.
func computedFrom(spans []prompt.Span, text string) (list []calls.Origin) {
	o := calls.Origin{End: len(text), Pointer: pointer, Computed: true}
	list = append(list, o)
	for _, s := range spans {
		for _, from := range slices.Concat(s.Sources, s.Decided) {
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
