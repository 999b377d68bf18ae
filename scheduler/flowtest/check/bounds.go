package check

import (
	"cmp"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// countWant is a number, or bounds of one.
type countWant struct {
	Min *int `json:"min"`
	Max *int `json:"max"`
}

// JSONSchema returns the schema of both forms.
func (countWant) JSONSchema() value.Value { return boundsSchema("integer") }

// DecodeValue reads both forms.
func (w *countWant) DecodeValue(v value.Value) error {
	if n, ok := v.Int(); ok {
		exact := int(n)
		w.Min, w.Max = &exact, &exact
		return nil
	}
	type bounds countWant
	err := value.Decode(v, (*bounds)(w))
	return cmp.Or(err, checkBounds(w.Min, w.Max))
}

// isBound reports whether a number can be out of the bounds, and adds the problem if none can.
func (w countWant) isBound(a *argument) bool {
	if w.Max != nil && (w.Min == nil || *w.Min <= 0) && !a.isReached("", float64(*w.Max), maxCount) {
		return false
	}
	if w.Min != nil && !a.isReached("", float64(*w.Min), maxCount) { // below not
		return false
	}
	return w.Min == nil || w.Max != nil || a.isBound("", float64(*w.Min))
}

// holds reports whether a number is within the bounds.
func (w countWant) holds(n int) bool {
	return (w.Min == nil || n >= *w.Min) && (w.Max == nil || n <= *w.Max)
}

// text returns the bounds as messages name them.
func (w countWant) text() wording.Text {
	switch {
	case w.Min != nil && w.Max != nil && *w.Min == *w.Max:
		return wording.Same(value.OfInt(int64(*w.Min)).JSON())
	case w.Min != nil && w.Max != nil:
		return wording.Say("%d to %d", *w.Min, *w.Max)
	case w.Min != nil:
		return wording.Say("at least %d", *w.Min)
	case w.Max != nil:
		return wording.Say("at most %d", *w.Max)
	}
	return wording.Say("any number")
}

// boundsSchema returns the schema of a number of a type, or of bounds of one.
func boundsSchema(kind string) value.Value {
	number := value.OfMap(value.Pairs("type", kind, "minimum", 0))
	return value.OfMap(value.Pairs("anyOf", value.OfList(number, value.OfMap(value.Pairs(
		"type", "object", "additionalProperties", false, "minProperties", 1, "properties", value.OfMap(value.Pairs("min", number, "max", number)),
	)))))
}

// checkBounds returns an error of bounds that no number is within.
func checkBounds[N int | float64](min, max *N) error {
	if min != nil && max != nil && *min > *max {
		return wording.Errorf("no number is at least %v and at most %v", *min, *max)
	}
	return nil
}

// rangeWant are bounds of a number; a number is the upper one.
type rangeWant struct {
	Min *float64 `json:"min"`
	Max *float64 `json:"max"`
}

// JSONSchema returns the schema of both forms.
func (rangeWant) JSONSchema() value.Value { return boundsSchema("number") }

// DecodeValue reads both forms.
func (w *rangeWant) DecodeValue(v value.Value) error {
	if n, ok := v.Float(); ok {
		w.Max = &n
		return nil
	}
	type bounds rangeWant
	err := value.Decode(v, (*bounds)(w))
	return cmp.Or(err, checkBounds(w.Min, w.Max))
}

// isBound reports whether a number can be out of the bounds, and adds the problem if none can. No run comes to most.
func (w rangeWant) isBound(a *argument, most float64) bool {
	if w.Max != nil && (w.Min == nil || *w.Min <= 0) && !a.isReached("", *w.Max, most) {
		return false
	}
	if w.Min != nil && !a.isReached("", *w.Min, most) { // below not
		return false
	}
	return w.Min == nil || w.Max != nil || a.isBound("", *w.Min)
}

// verdictOf compares a number with the bounds.
func (w rangeWant) verdictOf(n float64, unit string) *verdict {
	if w.Max != nil && n > *w.Max {
		return failf("it is %s %s, more than %s", decimal(n), wording.Of(unit), decimal(*w.Max))
	}
	if w.Min != nil && n < *w.Min {
		return failf("it is %s %s, less than %s", decimal(n), wording.Of(unit), decimal(*w.Min))
	}
	return pass()
}

// decimal writes a number without an exponent.
func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// boundWant is a bound from 0 to 1, written as {min: 0.5} or as the number.
type boundWant struct{ Min float64 }

// JSONSchema returns the schema of both forms.
func (boundWant) JSONSchema() value.Value {
	number := value.OfMap(value.Pairs("type", "number", "minimum", 0, "maximum", 1))
	return value.OfMap(value.Pairs("anyOf", value.OfList(number, value.OfMap(value.Pairs(
		"type", "object", "additionalProperties", false, "required", []string{"min"}, "properties", value.OfMap(value.Pairs("min", number)),
	)))))
}

// DecodeValue reads both forms.
func (w *boundWant) DecodeValue(v value.Value) error {
	if inner, ok := v.Get("min"); ok {
		v = inner
	}
	return value.Decode(v, &w.Min)
}
