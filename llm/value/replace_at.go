package value

import (
	"slices"
	"strings"
)

// ReplaceAt returns a copy of v with another value at a JSON pointer (RFC 6901); v itself stays as it is. An object may
// get a new member there. It returns false if the pointer leads elsewhere, for example past the end of a list.
func (v Value) ReplaceAt(pointer string, with Value) (Value, bool) {
	if pointer == "" {
		return with, true
	}
	if pointer[0] != '/' {
		return v, false
	}
	token, rest := pointer[1:], ""
	if slash := strings.IndexByte(token, '/'); slash >= 0 {
		token, rest = token[:slash], token[slash:]
	}
	member, has := v.At("/" + token)
	inner, ok := member.ReplaceAt(rest, with)
	isNew := !has && rest == "" && v.Map() != nil
	if !ok || !has && !isNew {
		return v, false
	}
	if v.Map() != nil {
		m := v.Map().Clone()
		m.Set(Unescape(token), inner)
		return OfMap(m), true
	}
	items := slices.Clone(v.List())
	at, _ := parseIndex(token)
	items[at] = inner
	return OfList(items...), true
}
