package pyvalue

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// wrongTypeError returns the error for a v of the wrong type.
func wrongTypeError(v Val, format string, args ...any) *fault.Error {
	e := fault.Errorf(fault.Type, format, args...)
	if v.isMarkup() {
		e.Hint = escapeLast
	}
	return e
}

// LastName returns the last name of a dotted path.
func LastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// MemberPath adds a name to a dotted path.
func MemberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// CheckDefined returns the error of an undefined value that is used, or nil.
func (v Val) CheckDefined() error {
	if v.Py() == nil {
		return nil
	}
	if u := v.AsUndefined(); u != nil {
		return u.ToError()
	}
	return nil
}

// CheckRead returns the error of an undefined value that is not even empty, or nil: soft
// ones may be filtered, joined and compared, but not computed with.
func (v Val) CheckRead() error {
	if u := v.AsUndefined(); u != nil && !u.Soft {
		return u.ToError()
	}
	return nil
}

// ToError returns the error of using the value.
func (u *UndefinedValue) ToError() *fault.Error {
	format := u.Format
	if format == "" {
		format = "the inline if has no else, and its condition is false"
	}
	e := fault.ErrorAt(u.Class, u.Off, format, u.Args...)
	e.Name = u.Name
	fault.SetHint(e, u.Hint)
	if u.keys != nil {
		fault.SetHint(e, keysHint(LastName(u.Name), u.keys()))
	}
	return e
}

// SetHint replaces the hint, and the keys that it would list.
func (u *UndefinedValue) SetHint(hint wording.Text) { u.Hint, u.keys = hint, nil }

// maxListed limits the keys that a hint lists.
const maxListed = 8

// keysHint returns the hint for a key that an object does not have: the nearest of its keys, or else a list of
// them.
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

// escapeLast is the remedy for work on text that escape made.
const escapeLast = "escape last, as in {{ text | upper | e }}"

// Undefined returns the value of an undefined name: in a chat template it is empty, unless it is the name of a
// method that the template should have called.
func (m *Run) Undefined(u *UndefinedValue) Val {
	u.Soft = m.Soft && u.Class == fault.Undefined && u.CallError == nil
	return OfPython(u)
}
