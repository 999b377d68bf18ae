package http

import (
	"net/url"
	"strings"

	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/llm/value"
)

// parameterTexts writes a scalar, a list of scalars or, if the operation has objects, an object in the simple
// style; none for null.
func parameterTexts(v value.Value, p *openapi.Parameter) (list []string, ok bool) {
	isJSON := p != nil && p.JSON
	if isJSON && !v.IsNull() {
		return []string{v.JSON()}, true
	}
	switch v.Kind() {
	case value.Null:
		return nil, true
	case value.List:
		for _, item := range v.List() {
			text, ok := scalarText(item)
			if !ok {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	case value.Object:
		if p == nil {
			return nil, false
		}
		for key, member := range v.Map().All() {
			text, ok := scalarText(member)
			switch {
			case !ok:
				return nil, false
			case p.Explode:
				list = append(list, key+"="+text)
			default:
				list = append(list, key, text)
			}
		}
		return list, true
	}
	text, ok := scalarText(v)
	return []string{text}, ok
}

func scalarText(v value.Value) (string, bool) {
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		return text, true
	case value.Int, value.Float, value.Bool:
		return v.JSON(), true
	}
	return "", false
}

// queryPairs writes name=value, once or several times.
func queryPairs(name string, v value.Value, p *openapi.Parameter) (pairs []string, ok bool) {
	escape := url.QueryEscape
	if p != nil && p.Reserved {
		escape = escapeButReserved
	}
	pair := func(name, text string) { pairs = append(pairs, url.QueryEscape(name)+"="+text) }
	isStyled := p != nil && !p.JSON
	if v.Kind() == value.Object && isStyled && p.Explode {
		for key, member := range v.Map().All() {
			list, ok := parameterTexts(member, nil)
			if !ok {
				return nil, false
			}
			if p.Style == "deepObject" {
				key = name + "[" + key + "]"
			}
			for _, text := range list {
				pair(key, escape(text))
			}
		}
		return pairs, true
	}
	list, ok := parameterTexts(v, p)
	for i := range list {
		list[i] = escape(list[i])
	}
	if isStyled && !p.Explode && len(list) > 1 {
		list = []string{strings.Join(list, separatorOf(p.Style))}
	}
	for _, text := range list {
		pair(name, text)
	}
	return pairs, ok
}

// separatorOf returns the separator of the values in a list that is one parameter. It is not escaped like a comma
// inside a value.
func separatorOf(style string) string {
	switch style {
	case "spaceDelimited":
		return "%20"
	case "pipeDelimited":
		return "%7C"
	}
	return ","
}

// escapeButReserved escapes a text for the query and leaves the reserved characters of RFC 3986, except characters
// that would end the value or be read as something else: & # + and %.
func escapeButReserved(text string) string {
	const kept = ":/?[]@!$'()*,;="
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(kept, r) {
			b.WriteRune(r)
		} else {
			b.WriteString(url.QueryEscape(string(r)))
		}
	}
	return b.String()
}

// findParameter returns the operation's own description of a parameter; nil if there is none.
func findParameter(op *openapi.Operation, in, name string) *openapi.Parameter {
	if op == nil {
		return nil
	}
	for i, p := range op.Parameters {
		isNamed := p.Name == name
		if in == "header" {
			isNamed = strings.EqualFold(p.Name, name)
		}
		if p.In == in && isNamed {
			return &op.Parameters[i]
		}
	}
	return nil
}
