package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// missingMember returns the undefined value of a member that o has not.
func missingMember(o val, path, name string, offset int) *undefinedValue {
	u := &undefinedValue{class: fault.Undefined, name: path, off: offset}
	u.format, u.args = "%s is undefined: the %s has no member %s", []any{path, o.pyType(), quoteText(name)}
	u.hint = keyHint(o)
	if o.isNone() {
		u.format, u.args = "%s is undefined: what comes before %s is None", []any{path, quoteText(name)}
	}
	if o.isDict() {
		u.format, u.args = "%s is undefined: the object has no key %s", []any{path, quoteText(name)}
		u.keys = func() []string {
			var keys []string
			for i := range dictLen(o) {
				k, _ := dictAt(o, i)
				if s, ok := k.asString(); ok {
					keys = append(keys, s)
				}
			}
			return keys
		}
	}
	return u
}

// keyHint returns the way to the key that a method hides, where v is the method of a dict.
func keyHint(v val) wording.Text {
	if v.isMarkup() {
		return wording.Of(escapeLast)
	}
	if f, ok := v.py().(*function); ok && dictMethods[f.name] {
		return wording.Say("after a dot %s is the method of the dict; the key is ['%s']", f.name, f.name)
	}
	return wording.Text{}
}

// wrongTypeError returns the error of v where something else is wanted.
func wrongTypeError(v val, format string, args ...any) *fault.Error {
	e := fault.Errorf(fault.Type, format, args...)
	fault.SetHint(e, keyHint(v))
	return e
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// itemPath adds a subscript to a path, as messages show it.
func itemPath(path string, key val) string {
	if s, ok := key.asString(); ok {
		return memberPath(path, s)
	}
	p := printer{max: 200}
	p.addRepr(key)
	return path + "[" + string(p.b) + "]"
}

func memberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// dictMethods are the methods that win over a key of the same name after a dot.
var dictMethods = map[string]bool{
	"keys": true, "values": true, "items": true, "get": true, "copy": true, "fromkeys": true,
	"pop": true, "clear": true, "popitem": true, "setdefault": true, "update": true,
}

func (u *undefinedValue) toError() *fault.Error {
	format := u.format
	if format == "" {
		format = "the inline if has no else, and its condition is false"
	}
	e := fault.ErrorAt(u.class, u.off, format, u.args...)
	e.Name = u.name
	fault.SetHint(e, u.hint)
	if u.keys != nil {
		fault.SetHint(e, keysHint(lastName(u.name), u.keys()))
	}
	return e
}

// maxListed bounds how many keys a hint lists.
const maxListed = 8

// keysHint returns the hint for a key that an object does not have: the nearest of its
// keys, or else what it has.
func keysHint(key string, keys []string) wording.Text {
	hint := value.DidYouMean(key, keys)
	if hint != "" || len(keys) == 0 {
		return wording.Of(hint)
	}
	if len(keys) > maxListed {
		keys = append(keys[:maxListed:maxListed], "...")
	}
	return wording.Say("it has %s", strings.Join(keys, ", "))
}

// escapeLast is the way out where the text that escape made is worked on.
const escapeLast = "escape last, as in {{ text | upper | e }}"
