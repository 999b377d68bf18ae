package prompt

import (
	"cmp"
	"math"
	"math/big"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// num is a number taken apart: an int64, a larger integer, or a float. Larger
// integers are read, compared and printed exactly; arithmetic stays within 64 bits.
type num struct {
	kind byte // i, b or f
	i    int64
	b    *big.Int
	f    float64
}

// toNum reads a number; booleans count as 0 and 1, as in Python.
func toNum(v val) (num, bool) {
	if v.py() != nil {
		f, ok := v.py().(nonFinite)
		return num{kind: 'f', f: float64(f)}, ok
	}
	if i, ok := v.v.Int(); ok {
		return num{kind: 'i', i: i}, true
	}
	switch v.v.Kind() {
	case value.Bool:
		if b, _ := v.v.Bool(); b {
			return num{kind: 'i', i: 1}, true
		}
		return num{kind: 'i'}, true
	case value.Int:
		b, ok := v.v.Big()
		return num{kind: 'b', b: b}, ok
	case value.Float:
		f, _ := v.v.Float()
		return num{kind: 'f', f: f}, true
	}
	return num{}, false
}

func (n num) big() *big.Int {
	if n.kind == 'b' {
		return n.b
	}
	return big.NewInt(n.i)
}

func (n num) float() float64 {
	switch n.kind {
	case 'i':
		return float64(n.i)
	case 'b':
		f, _ := new(big.Float).SetInt(n.b).Float64()
		return f
	}
	return n.f
}

// key is equal for equal numbers.
func (n num) key() string {
	if n.kind == 'f' {
		if n.f == math.Trunc(n.f) && !math.IsInf(n.f, 0) {
			i, _ := new(big.Float).SetFloat64(n.f).Int(nil)
			return i.String()
		}
		return strconv.FormatFloat(n.f, 'g', -1, 64)
	}
	return n.big().String()
}

// compareNums orders two numbers exactly; ok is false where one is nan.
func compareNums(a, b num) (c int, ok bool) {
	if a.kind == 'i' && b.kind == 'i' {
		return cmp.Compare(a.i, b.i), true
	}
	x, okX := a.exact()
	y, okY := b.exact()
	if !okX || !okY {
		return 0, false
	}
	return x.Cmp(y), true
}

// exact returns the number without rounding; ok is false for nan.
func (n num) exact() (f *big.Float, ok bool) {
	if n.kind != 'f' {
		return new(big.Float).SetInt(n.big()), true
	}
	if math.IsNaN(n.f) {
		return nil, false
	}
	return big.NewFloat(n.f), true
}

// intResult returns an integer that arithmetic made.
func intResult(i *big.Int) (val, error) {
	if !i.IsInt64() {
		e := fault.Errorf(fault.Limit, "an integer of more than 64 bits")
		e.Hint = "make a float of one operand first: | float"
		return none, e
	}
	return ofBig(i), nil
}

// computeNumbers computes a binary operation of two numbers.
func computeNumbers(op string, a, b num) (val, error) {
	isNegativePower := op == "**" && b.kind == 'i' && b.i < 0
	isFloat := a.kind == 'f' || b.kind == 'f'
	if isFloat || op == "/" || isNegativePower {
		return floatArith(op, a, b)
	}
	if v, ok := smallArith(op, a, b); ok {
		return v, nil
	}
	x, y := a.big(), b.big()
	switch op {
	case "+":
		return intResult(new(big.Int).Add(x, y))
	case "-":
		return intResult(new(big.Int).Sub(x, y))
	case "*":
		return intResult(new(big.Int).Mul(x, y))
	case "**":
		if b.kind == 'b' {
			return intResult(y)
		}
		return raiseToPower(x, b.i)
	}
	if y.Sign() == 0 {
		return none, fault.Errorf(fault.ZeroDivision, "integer division or modulo by zero")
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

// smallArith returns the common case without large integers; ok is false where it is
// not one.
func smallArith(op string, a, b num) (v val, ok bool) {
	const half = 1 << 31
	isSmall := func(n num) bool { return n.kind == 'i' && n.i > -half && n.i < half }
	if !isSmall(a) || !isSmall(b) {
		return none, false
	}
	switch op {
	case "+":
		return val{v: value.OfInt(a.i + b.i)}, true
	case "-":
		return val{v: value.OfInt(a.i - b.i)}, true
	case "*":
		return val{v: value.OfInt(a.i * b.i)}, true
	}
	return none, false
}

// raiseToPower multiplies step by step and stops at the first result that is too
// large. Powers of 0, 1 and -1 stay small: their exponent is cut before.
func raiseToPower(x *big.Int, n int64) (val, error) {
	if x.BitLen() <= 1 && n > 2 { // only the parity of the exponent counts
		n = 2 - n%2
	}
	result := big.NewInt(1)
	for ; n > 0 && result.IsInt64(); n-- {
		result.Mul(result, x)
	}
	return intResult(result)
}

func floatArith(op string, a, b num) (val, error) {
	x, y := a.float(), b.float()
	switch op {
	case "+":
		return ofFloat(x + y), nil
	case "-":
		return ofFloat(x - y), nil
	case "*":
		return ofFloat(x * y), nil
	case "**":
		return floatPower(x, y)
	}
	if y == 0 {
		return none, fault.Errorf(fault.ZeroDivision, "division by zero")
	}
	if op == "/" {
		if a.kind != 'f' && b.kind != 'f' && x != 0 { // exact, then rounded once
			f, _ := new(big.Rat).SetFrac(a.big(), b.big()).Float64()
			return ofFloat(f), nil
		}
		return ofFloat(x / y), nil
	}
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	if op == "%" {
		if r == 0 {
			r = math.Copysign(0, y)
		}
		return ofFloat(r), nil
	}
	q := (x - r) / y
	if q == 0 {
		return ofFloat(math.Copysign(0, x/y)), nil
	}
	return ofFloat(math.Round(q)), nil
}

func floatPower(x, y float64) (val, error) {
	if x == 0 && y < 0 {
		return none, fault.Errorf(fault.ZeroDivision, "0.0 cannot be raised to a negative power")
	}
	r := math.Pow(x, y)
	isFinite := func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }
	if isFinite(x) && isFinite(y) && !isFinite(r) {
		return none, fault.Errorf(fault.Other, "%s ** %s is not a number", floatText(x), floatText(y))
	}
	return ofFloat(r), nil
}

func truncateFloat(f float64, fallback val) val {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fallback
	}
	i, _ := big.NewFloat(f).Int(nil)
	return ofBig(i)
}

func asInt(v val) (int, error) {
	if err := v.checkDefined(); err != nil {
		return 0, err
	}
	n, ok := toNum(v)
	if !ok || n.kind == 'f' {
		return 0, fault.Errorf(fault.Type, "'%s' is not an integer", v.pyType())
	}
	if n.kind == 'b' {
		return math.MaxInt32 * n.b.Sign(), nil
	}
	return int(max(min(n.i, math.MaxInt32), -math.MaxInt32)), nil
}

// readNumber reads the digits at the start of s, if there are any.
func readNumber(s string) (n int, ok bool, rest string) {
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
