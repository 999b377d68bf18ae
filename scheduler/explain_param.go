package scheduler

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// findParam finds the parameter whose value, or a string in it, is text: first at
// the very pointer, for calls that pass a parameter on, then anywhere.
func findParam(with *Param, params value.Value, text, pointer string) (p *Param, at string, ok bool) {
	if with == nil {
		return nil, "", false
	}
	if v, has := params.At(pointer); pointer != "" && has {
		if s, isString := v.Str(); isString && s == text || v.Kind() == value.Object && mark(v) == text {
			p, at = descend(with, pointer)
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
	p, at = descend(with, place)
	return p, at, true
}

// descend follows pointer into the flow's tree of parameters as far as it is
// written out there; rest is the pointer inside the value of what it came to.
func descend(p *Param, pointer string) (at *Param, rest string) {
	for pointer != "" {
		token, tail, _ := strings.Cut(pointer[1:], "/")
		if tail != "" {
			tail = "/" + tail
		}
		var next *Param
		for _, m := range p.Map {
			if value.Escape(m.Key) == token {
				next = m.Param
			}
		}
		if i, err := strconv.Atoi(token); err == nil && i < len(p.List) {
			next = p.List[i]
		}
		if next == nil {
			return p, pointer
		}
		p, pointer = next, tail
	}
	return p, ""
}

func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i := range list {
		list[i] = pointerToken.Replace(list[i])
	}
	return list
}
