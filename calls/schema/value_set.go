package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// valueSet finds a value among many without comparing it with each: by a text that only
// equal values have. newValueSet creates it; it does not change.
type valueSet struct {
	texts   map[string]struct{}
	longest int
}

func newValueSet(values []any) *valueSet {
	s := &valueSet{texts: make(map[string]struct{}, len(values))}
	for _, x := range values {
		w := equalityText{unbounded: true}
		w.write(x)
		s.texts[string(w.text)] = struct{}{}
		s.longest = max(s.longest, len(w.text))
	}
	return s
}

// has reports whether x, as the library has values, is in the set.
func (s *valueSet) has(x any) bool {
	w := equalityText{left: s.longest}
	if !w.write(x) {
		return false
	}
	_, found := s.texts[string(w.text)]
	return found
}

// cost returns about how many steps it takes to find v.
func (s *valueSet) cost(v value.Value) int {
	if s == nil {
		return 0
	}
	return textCost(v, s.longest)
}

// bytesPerStep is how many bytes of a text are copied in one step.
const bytesPerStep = 128

// textCost returns how many steps the text of v takes, which ends after most bytes.
func textCost(v value.Value, most int) int {
	text, _ := v.Str()
	steps := 1 + min(len(text), most)/bytesPerStep
	for _, item := range v.List() {
		if steps > most {
			break
		}
		steps += textCost(item, most-steps)
	}
	for key, member := range v.Map().All() {
		if steps > most {
			break
		}
		steps += 1 + min(len(key), most)/bytesPerStep + textCost(member, most-steps)
	}
	return steps
}

// equalityText is a text that equal values share and others do not have: members are in
// order, and 1 and 1.0 are the same. It is given up when it has no bytes left.
type equalityText struct {
	text      []byte
	left      int
	unbounded bool
}

// write appends a value; false means that its text would exceed the limit.
func (w *equalityText) write(x any) bool {
	switch x := x.(type) {
	case nil:
		return w.put("n")
	case bool:
		return w.put(strconv.FormatBool(x))
	case string:
		return w.putText(x)
	case int64:
		return w.put(canonicalNumber(strconv.FormatInt(x, 10)))
	case json.Number:
		return w.put(canonicalNumber(x.String()))
	case []any:
		if !w.put("[") {
			return false
		}
		for _, item := range x {
			if !w.write(item) {
				return false
			}
		}
		return w.put("]")
	case map[string]any:
		if !w.put("{") || !w.hasRoom(len(x)) {
			return false
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if !w.putText(key) || !w.write(x[key]) {
				return false
			}
		}
		return w.put("}")
	}
	return false
}

// putText appends a text with its length, so that no other value continues like it.
func (w *equalityText) putText(text string) bool {
	return w.hasRoom(len(text)) && w.put(`"`+strconv.Itoa(len(text))+":") && w.put(text)
}

func (w *equalityText) put(text string) bool {
	if !w.hasRoom(len(text)) {
		return false
	}
	w.left -= len(text)
	w.text = append(w.text, text...)
	return true
}

func (w *equalityText) hasRoom(n int) bool { return w.unbounded || n <= w.left }

// canonicalNumber returns the digits of a number of JSON without zeros around them, and its
// exponent.
func canonicalNumber(number string) string {
	digits, isNegative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(digits[i+1:]) // Checkable has bounded it
		digits = digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0;"
	}
	sign := ""
	if isNegative {
		sign = "-"
	}
	return sign + trimmed + "e" + strconv.Itoa(exponent) + ";"
}
