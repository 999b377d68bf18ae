package macro

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// maxIndex bounds the lists that setting an element may create.
const maxIndex = 10_000

// Vars are the variables that texts read and set. [NewVars] creates them, for one expansion or several that share
// them; they are not safe for concurrent use. Setting one leaves the values it was made of unchanged: only the
// values on the path are copied, so that a fresh copy per condition costs nothing.
type Vars struct {
	base *value.Map
	set  *value.Map // the changes since, by the first step of the path
}

// NewVars makes variables that start with the members of base.
func NewVars(base *value.Map) *Vars { return &Vars{base: base} }

// All returns the variables as they are now.
func (v *Vars) All() *value.Map {
	all := v.base.Clone()
	for name, x := range v.set.All() {
		all.Set(name, x)
	}
	return all
}

func (v *Vars) rootVar(name string) (value.Value, bool) {
	if x, ok := v.set.Get(name); ok {
		return x, true
	}
	return v.base.Get(name)
}

// Get returns the value at a path like stat.mood[0] or stat['a key']; ok is false if there is none. A negative
// index never exists.
func (v *Vars) Get(path string) (x value.Value, ok bool) {
	steps := splitPath(path)
	if len(steps) == 0 {
		return value.Value{}, false
	}
	x, ok = v.rootVar(steps[0].key)
	for _, s := range steps[1:] {
		if !ok {
			return value.Value{}, false
		}
		items := x.List()
		hasItem := s.index >= 0 && s.index < len(items)
		switch {
		case x.Kind() == value.Object:
			x, ok = x.Get(s.key)
		case s.isIndex && hasItem:
			x = items[s.index]
		default:
			ok = false
		}
	}
	return x, ok
}

// Set puts x at a path. Lists and objects on the way are made as the next step needs them, and replace any other
// value. ok is false if the path is empty or an index is out of bounds.
func (v *Vars) Set(path string, x value.Value) (ok bool) {
	steps := splitPath(path)
	if len(steps) == 0 {
		return false
	}
	outOfBounds := func(s step) bool {
		isAllowed := s.index >= 0 && s.index <= maxIndex
		return s.isIndex && !isAllowed
	}
	if slices.ContainsFunc(steps[1:], outOfBounds) {
		return false
	}
	old, _ := v.rootVar(steps[0].key)
	if v.set == nil {
		v.set = value.NewMap(4)
	}
	v.set.Set(steps[0].key, setPath(old, steps[1:], x))
	return true
}

// setPath is old with x at the path below it.
func setPath(old value.Value, steps []step, x value.Value) value.Value {
	if len(steps) == 0 {
		return x
	}
	s := steps[0]
	if s.isIndex && old.Kind() != value.Object {
		items := make([]value.Value, max(len(old.List()), s.index+1))
		copy(items, old.List())
		items[s.index] = setPath(items[s.index], steps[1:], x)
		return value.OfList(items...)
	}
	m := old.Map().Clone()
	member, _ := m.Get(s.key)
	m.Set(s.key, setPath(member, steps[1:], x))
	return value.OfMap(m)
}

// step is a key; [2] is an index too, in case it meets a list.
type step struct {
	key     string
	index   int
	isIndex bool
}

// maxSteps bounds the length of a path: variables must not nest deeper than values may.
const maxSteps = 100

// Pointer returns the JSON pointer of the variable at a path of [Vars.Get].
func Pointer(path string) string {
	var b strings.Builder
	for _, s := range splitPath(path) {
		b.WriteString("/" + value.Escape(s.key))
	}
	return b.String()
}

// splitPath splits a path into steps; none if it is empty or too long. A malformed subscript is part of a key.
func splitPath(path string) []step {
	path = strings.TrimSpace(path)
	if path == "" {
		return nil
	}
	steps := make([]step, 0, min(1+strings.Count(path, ".")+strings.Count(path, "["), maxSteps))
	for rest := path; rest != ""; {
		if len(steps) == maxSteps {
			return nil
		}
		if inner, after, ok := cutSubscript(rest); ok && len(steps) > 0 {
			s := step{key: strings.Trim(inner, `'"`)}
			if i, err := strconv.Atoi(inner); err == nil {
				s = step{key: inner, index: i, isIndex: true}
			}
			steps, rest = append(steps, s), after
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		end := strings.IndexAny(rest, ".[")
		if end == 0 { // a bracket or a dot that opens nothing
			end = 1 + max(0, strings.IndexAny(rest[1:], ".["))
		}
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			steps = append(steps, step{key: rest[:end]})
		}
		rest = rest[end:]
	}
	return steps
}

// cutSubscript reads [2], ['a.b'] or ["a.b"] at the start of s.
func cutSubscript(s string) (inner, after string, ok bool) {
	if s[0] != '[' {
		return "", "", false
	}
	if len(s) > 1 && strings.IndexByte(`'"`, s[1]) >= 0 {
		end := strings.Index(s[2:], s[1:2]+"]")
		if end < 0 {
			return "", "", false
		}
		return s[1 : end+3], s[end+4:], true
	}
	inner, after, ok = strings.Cut(s[1:], "]")
	return strings.TrimSpace(inner), after, ok && inner != ""
}
