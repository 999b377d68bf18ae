package prompt

import (
	"math"
	"math/big"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// num is a number taken apart: an int64, a bigger integer, or a float.
type num struct {
	kind byte // i, b or f
	i    int64
	b    *big.Int
	f    float64
}

// toNum reads a number; booleans count as 0 and 1, as in Python.
func toNum(v val) (num, bool) {
	if v.x != nil {
		f, ok := v.x.(special)
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

func (n num) zero() bool {
	switch n.kind {
	case 'i':
		return n.i == 0
	case 'b':
		return n.b.Sign() == 0
	}
	return n.f == 0
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
	if n.kind == 'i' {
		return strconv.FormatInt(n.i, 10)
	}
	return n.b.String()
}

// compareNums orders two numbers exactly; ok is false where one is nan.
func compareNums(a, b num) (c int, ok bool) {
	switch {
	case a.kind == 'i' && b.kind == 'i':
		switch {
		case a.i < b.i:
			return -1, true
		case a.i > b.i:
			return 1, true
		}
		return 0, true
	case a.kind == 'f' && b.kind == 'f':
		switch {
		case a.f < b.f:
			return -1, true
		case a.f > b.f:
			return 1, true
		}
		return 0, a.f == b.f
	case a.kind == 'f':
		c, ok := compareNums(b, a)
		return -c, ok
	case b.kind == 'f':
		if math.IsNaN(b.f) {
			return 0, false
		}
		if math.IsInf(b.f, 0) {
			return -int(math.Copysign(1, b.f)), true
		}
		return new(big.Float).SetInt(a.big()).Cmp(big.NewFloat(b.f)), true
	}
	return a.big().Cmp(b.big()), true
}

func bigResult(i *big.Int) (val, error) {
	if i.BitLen() > maxBits {
		return none, errorf(Limit, "an integer of more than %d bits", maxBits)
	}
	return ofBig(i), nil
}

// arith computes a binary operation of two numbers.
func arith(op string, a, b num) (val, error) {
	if a.kind == 'f' || b.kind == 'f' || op == "/" {
		return floatArith(op, a, b)
	}
	if a.kind == 'i' && b.kind == 'i' {
		if v, ok := intArith(op, a.i, b.i); ok {
			return v, nil
		}
	}
	x, y := a.big(), b.big()
	switch op {
	case "+":
		return bigResult(new(big.Int).Add(x, y))
	case "-":
		return bigResult(new(big.Int).Sub(x, y))
	case "*":
		return bigResult(new(big.Int).Mul(x, y))
	case "**":
		return power(a, b)
	}
	if y.Sign() == 0 {
		return none, errorf(ZeroDivision, "integer division or modulo by zero")
	}
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Sign() != y.Sign() { // Python rounds down
		q.Sub(q, big.NewInt(1))
		r.Add(r, y)
	}
	if op == "//" {
		return bigResult(q)
	}
	return bigResult(r)
}

// intArith is the common case without big integers; ok is false where the result
// might not fit.
func intArith(op string, a, b int64) (v val, ok bool) {
	const half = 1 << 31
	switch op {
	case "+":
		if c := a + b; (c > a) == (b > 0) {
			return val{v: value.OfInt(c)}, true
		}
	case "-":
		if c := a - b; (c < a) == (b > 0) {
			return val{v: value.OfInt(c)}, true
		}
	case "*":
		if a > -half && a < half && b > -half && b < half {
			return val{v: value.OfInt(a * b)}, true
		}
	case "//", "%":
		if b == 0 || b == -1 {
			return none, false
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if op == "%" {
			q = r
		}
		return val{v: value.OfInt(q)}, true
	}
	return none, false
}

func power(a, b num) (val, error) {
	x, y := a.big(), b.big()
	if y.Sign() < 0 {
		return floatArith("**", a, b)
	}
	if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits || int64(x.BitLen()-1)*y.Int64() > maxBits) {
		return none, errorf(Limit, "an integer of more than %d bits", maxBits)
	}
	if x.BitLen() <= 1 { // 0, 1 and -1: only the parity of the exponent counts
		y = new(big.Int).SetUint64(uint64(y.Bit(0)))
		if b.big().Sign() > 0 && y.Sign() == 0 {
			y.SetInt64(2)
		}
	}
	return bigResult(new(big.Int).Exp(x, y, nil))
}

func floatArith(op string, a, b num) (val, error) {
	x, y := a.float(), b.float()
	if (a.kind == 'b' && math.IsInf(x, 0)) || (b.kind == 'b' && math.IsInf(y, 0)) {
		return none, errorf(Other, "int too large to convert to float")
	}
	switch op {
	case "+":
		return ofFloat(x + y), nil
	case "-":
		return ofFloat(x - y), nil
	case "*":
		return ofFloat(x * y), nil
	case "**":
		if x == 0 && y < 0 {
			return none, errorf(ZeroDivision, "0.0 cannot be raised to a negative power")
		}
		r := math.Pow(x, y)
		switch {
		case math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
			return none, errorf(Other, "the result of ** is too big")
		case math.IsNaN(r) && !math.IsNaN(x) && !math.IsNaN(y):
			return none, errorf(Other, "a negative number has no such power")
		}
		return ofFloat(r), nil
	}
	if y == 0 {
		return none, errorf(ZeroDivision, "division by zero")
	}
	if op == "/" {
		if a.kind != 'f' && b.kind != 'f' && !a.zero() { // exact, then rounded once
			f, _ := new(big.Rat).SetFrac(a.big(), b.big()).Float64()
			return ofFloat(f), nil
		}
		return ofFloat(x / y), nil
	}
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	if r == 0 {
		r = math.Copysign(0, y)
	}
	if op == "%" {
		return ofFloat(r), nil
	}
	q := (x - r) / y
	if q == 0 {
		return ofFloat(math.Copysign(0, x/y)), nil
	}
	if f := math.Floor(q); q-f > 0.5 {
		q = f + 1
	} else {
		q = f
	}
	return ofFloat(q), nil
}
