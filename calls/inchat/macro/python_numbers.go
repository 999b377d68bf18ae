package macro

import (
	"math"
	"math/big"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// Int reads a value as Python's int() does: numbers lose their fraction, true is 1, strings are digits of any
// script with a sign, single underscores and blanks around. A number beyond int64 is cut to its nearest bound. ok
// is false for everything else.
func Int(v value.Value) (i int64, ok bool) {
	switch v.Kind() {
	case value.Bool:
		if b, _ := v.Bool(); b {
			return 1, true
		}
		return 0, true
	case value.Int:
		i, ok = v.Int()
		if ok {
			return i, true
		}
		b, _ := v.Big()
		return clampToInt64(b), true
	case value.Float:
		f, _ := v.Float()
		if f >= math.MaxInt64 {
			return math.MaxInt64, true
		}
		if f <= math.MinInt64 {
			return math.MinInt64, true
		}
		return int64(f), true
	case value.String:
		s, _ := v.Str()
		b, ok := prompt.ParseInt(s)
		if !ok {
			return 0, false
		}
		return clampToInt64(b), true
	case value.Null, value.List, value.Object:
	}
	return 0, false
}

func clampToInt64(b *big.Int) int64 {
	if b.IsInt64() {
		return b.Int64()
	}
	if b.Sign() < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// toFloat reads a value as Python's float() does.
func toFloat(v value.Value) (float64, bool) {
	switch v.Kind() {
	case value.Int, value.Float:
		return v.Float()
	case value.Bool:
		b, _ := v.Bool()
		return map[bool]float64{true: 1}[b], true
	case value.String:
		s, _ := v.Str()
		return prompt.ParseFloat(s)
	case value.Null, value.List, value.Object:
	}
	return 0, false
}

// floatText prints a float: 5.0, 1e+16, inf.
func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	return prompt.Text(value.OfFloat(f))
}

// varText prints a variable; null prints nothing.
func varText(v value.Value) string {
	if v.IsNull() {
		return ""
	}
	if s, ok := v.Str(); ok {
		return s
	}
	return prompt.Text(v)
}
