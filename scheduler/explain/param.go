package explain

import (
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// findParam finds the parameter whose value, or a string in it, is text: first at
// the very pointer, for calls that pass a parameter on, then anywhere.
func findParam(with *flow.Param, params value.Value, text, pointer string) (p *flow.Param, at string, ok bool) {
	if with == nil {
		return nil, "", false
	}
	if v, has := params.At(pointer); pointer != "" && has {
		if s, isString := v.Str(); isString && s == text || v.Kind() == value.Object && mediaMark(v) == text {
			p, at = flow.Descend(with, pointer)
			return p, at, true
		}
	}
	place, found := "", false
	eachText(params, "", func(where, have string) {
		if have == text && !found {
			place, found = where, true
		}
	})
	if !found {
		return nil, "", false
	}
	p, at = flow.Descend(with, place)
	return p, at, true
}
