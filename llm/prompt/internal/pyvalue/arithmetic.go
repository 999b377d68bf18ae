package pyvalue

import (
	"cmp"
	"math"
	"math/big"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// Num is a number taken apart: an int64, a larger integer, or a float. Larger
// integers are read, compared and printed exactly; arithmetic stays within 64 bits.
type Num struct {
	Kind byte // i, b or f
	I    int64
	B    *big.Int
	F    float64
}

// ToNum reads a number; booleans count as 0 and 1, as in Python.
func ToNum(v Val) (Num, bool) {
	if v.Py() != nil {
		f, ok := v.Py().(nonFinite)
		return Num{Kind: 'f', F: float64(f)}, ok
	}
	if i, ok := v.V.Int(); ok {
		return Num{Kind: 'i', I: i}, true
	}
	switch v.V.Kind() {
	case value.Bool:
		if b, _ := v.V.Bool(); b {
			return Num{Kind: 'i', I: 1}, true
		}
		return Num{Kind: 'i'}, true
	case value.Int:
		b, ok := v.V.Big()
		return Num{Kind: 'b', B: b}, ok
	case value.Float:
		f, _ := v.V.Float()
		return Num{Kind: 'f', F: f}, true
	}
	return Num{}, false
}

// Big returns an integer.
func (n Num) Big() *big.Int {
	if n.Kind == 'b' {
		return n.B
	}
	return big.NewInt(n.I)
}

// Float returns the nearest float.
func (n Num) Float() float64 {
	switch n.Kind {
	case 'i':
		return float64(n.I)
	case 'b':
		f, _ := new(big.Float).SetInt(n.B).Float64()
		return f
	}
	return n.F
}

// key is equal for equal numbers.
func (n Num) key() string {
	if n.Kind == 'f' {
		if n.F == math.Trunc(n.F) && !math.IsInf(n.F, 0) {
			i, _ := new(big.Float).SetFloat64(n.F).Int(nil)
			return i.String()
		}
		return strconv.FormatFloat(n.F, 'g', -1, 64)
	}
	return n.Big().String()
}

// compareNums orders two numbers exactly; ok is false if one is nan.
func compareNums(a, b Num) (c int, ok bool) {
	if a.Kind == 'i' && b.Kind == 'i' {
		return cmp.Compare(a.I, b.I), true
	}
	x, okX := a.exact()
	y, okY := b.exact()
	if !okX || !okY {
		return 0, false
	}
	return x.Cmp(y), true
}

// exact returns the number without rounding; ok is false for nan.
func (n Num) exact() (f *big.Float, ok bool) {
	if n.Kind != 'f' {
		return new(big.Float).SetInt(n.Big()), true
	}
	if math.IsNaN(n.F) {
		return nil, false
	}
	return big.NewFloat(n.F), true
}

// intResult returns an integer that arithmetic made.
func intResult(i *big.Int) (Val, error) {
	if !i.IsInt64() {
		e := fault.Errorf(fault.Limit, "an integer of more than 64 bits")
		e.Hint = "make a float of one operand first: | float"
		return None, e
	}
	return OfBig(i), nil
}

// ComputeNumbers computes a binary operation of two numbers.
func ComputeNumbers(op string, a, b Num) (Val, error) {
	isNegativePower := op == "**" && b.Kind == 'i' && b.I < 0
	isFloat := a.Kind == 'f' || b.Kind == 'f'
	if isFloat || op == "/" || isNegativePower {
		return floatArith(op, a, b)
	}
	if v, ok := smallArith(op, a, b); ok {
		return v, nil
	}
	x, y := a.Big(), b.Big()
	switch op {
	case "+":
		return intResult(new(big.Int).Add(x, y))
	case "-":
		return intResult(new(big.Int).Sub(x, y))
	case "*":
		return intResult(new(big.Int).Mul(x, y))
	case "**":
		if b.Kind == 'b' {
			return intResult(y)
		}
		return raiseToPower(x, b.I)
	}
	if y.Sign() == 0 {
		return None, fault.Errorf(fault.ZeroDivision, "integer division or modulo by zero")
	}
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Sign() != y.Sign() { // Python rounds down
		q.Sub(q, big.NewInt(1))
		r.Add(r, y)
	}
	if op == "//" {
		return intResult(q)
	}
	return intResult(r)
}

// smallArith returns the common case without large integers; ok is false for other cases.
func smallArith(op string, a, b Num) (v Val, ok bool) {
	const half = 1 << 31
	isSmall := func(n Num) bool { return n.Kind == 'i' && n.I > -half && n.I < half }
	if !isSmall(a) || !isSmall(b) {
		return None, false
	}
	switch op {
	case "+":
		return Val{V: value.OfInt(a.I + b.I)}, true
	case "-":
		return Val{V: value.OfInt(a.I - b.I)}, true
	case "*":
		return Val{V: value.OfInt(a.I * b.I)}, true
	}
	return None, false
}

// raiseToPower multiplies step by step and stops at the first result that is too
// large. Powers of 0, 1 and -1 stay small: their exponent is cut before.
func raiseToPower(x *big.Int, n int64) (Val, error) {
	if x.BitLen() <= 1 && n > 2 { // only the parity of the exponent counts
		n = 2 - n%2
	}
	result := big.NewInt(1)
	for ; n > 0 && result.IsInt64(); n-- {
		result.Mul(result, x)
	}
	return intResult(result)
}

func floatArith(op string, a, b Num) (Val, error) {
	x, y := a.Float(), b.Float()
	switch op {
	case "+":
		return OfFloat(x + y), nil
	case "-":
		return OfFloat(x - y), nil
	case "*":
		return OfFloat(x * y), nil
	case "**":
		return floatPower(x, y)
	}
	if y == 0 {
		return None, fault.Errorf(fault.ZeroDivision, "division by zero")
	}
	if op == "/" {
		if a.Kind != 'f' && b.Kind != 'f' && x != 0 { // exact, then rounded once
			f, _ := new(big.Rat).SetFrac(a.Big(), b.Big()).Float64()
			return OfFloat(f), nil
		}
		return OfFloat(x / y), nil
	}
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	if op == "%" {
		if r == 0 {
			r = math.Copysign(0, y)
		}
		return OfFloat(r), nil
	}
	q := (x - r) / y
	if q == 0 {
		return OfFloat(math.Copysign(0, x/y)), nil
	}
	return OfFloat(math.Round(q)), nil
}

func floatPower(x, y float64) (Val, error) {
	if x == 0 && y < 0 {
		return None, fault.Errorf(fault.ZeroDivision, "0.0 cannot be raised to a negative power")
	}
	r := raiseFloat(x, y)
	isFinite := func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }
	if isFinite(x) && isFinite(y) && !isFinite(r) {
		return None, fault.Errorf(fault.Other, "%s ** %s is not a number", floatText(x), floatText(y))
	}
	return OfFloat(r), nil
}

// TruncateFloat returns the integer before the point; fallback if there is none.
func TruncateFloat(f float64, fallback Val) Val {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fallback
	}
	i, _ := big.NewFloat(f).Int(nil)
	return OfBig(i)
}

// AsInt returns an integer that fits 32 bits; bigger ones are clipped.
func AsInt(v Val) (int, error) {
	if err := v.CheckDefined(); err != nil {
		return 0, err
	}
	n, ok := ToNum(v)
	if !ok || n.Kind == 'f' {
		return 0, fault.Errorf(fault.Type, "'%s' is not an integer", v.PyType())
	}
	if n.Kind == 'b' {
		return math.MaxInt32 * n.B.Sign(), nil
	}
	return int(max(min(n.I, math.MaxInt32), -math.MaxInt32)), nil
}

// ReadNumber reads the digits at the start of s, if there are any.
func ReadNumber(s string) (n int, ok bool, rest string) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil && end > 0 {
		n = math.MaxInt
	}
	return n, end > 0, s[end:]
}

// floatText is Python's repr of a float: the shortest text that reads back.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return value.OfFloat(f).JSON()
}
