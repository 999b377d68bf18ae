package pyvalue

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value/wording"
)

// MissingMember returns the undefined value of a member that o has not.
func MissingMember(o Val, path, name string, offset int) *UndefinedValue {
	u := &UndefinedValue{Class: fault.Undefined, Name: path, Off: offset}
	u.Format, u.Args = "%s is undefined: the %s has no member %s", []any{path, o.PyType(), QuoteText(name)}
	if o.isMarkup() {
		u.Hint = wording.Of(escapeLast)
	}
	if o.IsNone() {
		u.Format, u.Args = "%s is undefined: what comes before %s is None", []any{path, QuoteText(name)}
	}
	if o.IsDict() {
		u.Format, u.Args = "%s is undefined: the object has no key %s", []any{path, QuoteText(name)}
		u.keys = func() []string {
			var keys []string
			for i := range DictLen(o) {
				k, _ := DictAt(o, i)
				if s, ok := k.AsString(); ok {
					keys = append(keys, s)
				}
			}
			return keys
		}
	}
	return u
}

// ItemPath adds a subscript to a path, as messages show it.
func ItemPath(path string, key Val) string {
	if s, ok := key.AsString(); ok {
		return MemberPath(path, s)
	}
	p := printer{max: 200}
	p.addRepr(key)
	return path + "[" + string(p.b) + "]"
}
