package processor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// deepCopy returns a deep copy, which may be changed in place.
func deepCopy(v value.Value) value.Value {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = deepCopy(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(key, deepCopy(member))
		}
		return value.OfMap(m)
	}
	return v
}

// setAt sets x at tokens inside v, which it changes in place; path is the way to v. Values in the way that cannot
// have members, or cannot be there, are replaced only if yield reports true.
func (p *Processor) setAt(v value.Value, path, tokens []string, x value.Value, yield func(pointer string) bool) (value.Value, error) {
	if len(tokens) == 0 {
		return x, nil
	}
	token, below := tokens[0], append(slices.Clip(path), tokens[0])
	if yield != nil && yield(value.FormatPointer(path...)) && p.isMisplaced(v, path) {
		return p.setAt(p.newContainer(path, token), path, tokens, x, nil)
	}
	switch v.Kind() {
	case value.Object:
		next, has := v.Map().Get(token)
		next, err := p.setBelow(next, has, below, tokens[1:], x, yield)
		if err == nil {
			v.Map().Set(token, next)
		}
		return v, err
	case value.List:
		i, err := arrayIndex(token, len(v.List()))
		if err != nil {
			return v, wording.Errorf("%v: the array at %q has %d items", err, value.FormatPointer(path...), len(v.List()))
		}
		if i == len(v.List()) {
			next, err := p.setBelow(value.Value{}, false, below, tokens[1:], x, yield)
			if err != nil {
				return v, err
			}
			return value.OfList(append(slices.Clip(v.List()), next)...), nil
		}
		next, err := p.setBelow(v.List()[i], true, below, tokens[1:], x, yield)
		if err == nil {
			v.List()[i] = next
		}
		return v, err
	}
	return v, wording.Errorf("the value at %q is neither an object nor an array", value.FormatPointer(path...))
}

// setBelow is put for a value that may not be there yet.
func (p *Processor) setBelow(v value.Value, has bool, path, tokens []string, x value.Value, yield func(string) bool) (value.Value, error) {
	if !has && len(tokens) > 0 {
		v = p.newContainer(path, tokens[0])
	}
	return p.setAt(v, path, tokens, x, yield)
}

// newContainer returns the empty array or object that the schema wants at a place. If it allows both, or does not
// say, the next token decides.
func (p *Processor) newContainer(path []string, next string) value.Value {
	list, object, named := false, false, false
	for _, sub := range p.schema.Describe(value.FormatPointer(path...)).All {
		types := typesOf(sub)
		_, items := sub.Get("items")
		properties, _ := sub.Get("properties")
		_, has := properties.Get(next)
		isUntypedList := items && len(types) == 0
		list = list || isUntypedList || slices.Contains(types, "array")
		object = object || slices.Contains(types, "object")
		named = named || has
	}
	if list != object { // the schema takes one of both
		if list {
			return value.OfList()
		}
		return value.OfMap(nil)
	}
	isFirst := list && next == "0"
	index := next == "-" || isFirst
	if index && !named {
		return value.OfList()
	}
	return value.OfMap(nil)
}

// isMisplaced reports whether v has no members, or the schema takes no value of its kind
// at the place.
func (p *Processor) isMisplaced(v value.Value, path []string) bool {
	kind := v.Kind()
	if kind != value.Object && kind != value.List {
		return true
	}
	var types []string
	for _, sub := range p.schema.Describe(value.FormatPointer(path...)).All {
		types = append(types, typesOf(sub)...)
	}
	return len(types) > 0 && !slices.Contains(types, kind.String())
}

// arrayIndex reads an index into an array of n items; n is the place after the last.
func arrayIndex(token string, n int) (int, error) {
	if token == "-" {
		return n, nil
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || strconv.Itoa(i) != token {
		return 0, wording.Errorf("%q is not an index of an array", token)
	}
	if i > n {
		return 0, wording.Errorf("the index %d is past the end", i)
	}
	return i, nil
}

// removeAt takes the value at tokens out of v, in place.
func removeAt(v value.Value, tokens []string) value.Value {
	if len(tokens) == 0 {
		return v
	}
	next, has := v.At(value.FormatPointer(tokens[0]))
	switch {
	case !has:
	case len(tokens) == 1 && v.Kind() == value.Object:
		v.Map().Delete(tokens[0])
	case len(tokens) == 1:
		i, _ := strconv.Atoi(tokens[0])
		return value.OfList(slices.Delete(v.List(), i, i+1)...)
	case v.Kind() == value.Object:
		v.Map().Set(tokens[0], removeAt(next, tokens[1:]))
	default:
		i, _ := strconv.Atoi(tokens[0])
		v.List()[i] = removeAt(next, tokens[1:])
	}
	return v
}

// isWithin reports whether pointer is base or below it.
func isWithin(pointer, base string) bool {
	return pointer == base || strings.HasPrefix(pointer, base+"/")
}

// comparePlaces compares two places in a value whose objects have no order: token by token, numbers by value.
func comparePlaces(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		i, errX := strconv.Atoi(x)
		j, errY := strconv.Atoi(y)
		if errX == nil && errY == nil {
			return i - j
		}
		return strings.Compare(x, y)
	})
}
