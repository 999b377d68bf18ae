package pyvalue

import (
	"math"
	"math/big"
	"strconv"
)

// RoundInt is Python's round(i, precision).
func RoundInt(i *big.Int, precision int) *big.Int { return roundInt(i, -precision, false) }

// roundInt rounds to a multiple of 10**digits, to the even one if two are equally near. more means that a
// fraction, which was cut off, makes the number larger.
func roundInt(i *big.Int, digits int, more bool) *big.Int {
	if digits <= 0 {
		return i
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	quotient, rest := new(big.Int).DivMod(i, unit, new(big.Int))
	half := new(big.Int).Lsh(rest, 1).Cmp(unit)
	isTie := half == 0 && !more
	if half >= 0 && (!isTie || quotient.Bit(0) == 1) {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient.Mul(quotient, unit)
}

// RoundFloat is Python's round(f, precision): correct for the exact value of the float.
func RoundFloat(f float64, precision int) float64 {
	if precision >= 0 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
		return r
	}
	whole, accuracy := big.NewFloat(math.Abs(f)).Int(nil)
	r, _ := new(big.Float).SetInt(roundInt(whole, -precision, accuracy != big.Exact)).Float64()
	return math.Copysign(r, f)
}
