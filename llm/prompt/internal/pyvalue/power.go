package pyvalue

import (
	"math"
	"math/big"
)

// powerBits is the precision of powers before they are rounded to a float.
const powerBits = 256

// raiseFloat is x**y, rounded once, as C libraries and so Python give it; math.Pow is often off
// in the last digit.
func raiseFloat(x, y float64) float64 {
	rough := math.Pow(x, y)
	isExact := x == 0 || x == 1 || y == 0 || math.IsInf(y, 0)
	if isExact || rough == 0 || math.IsNaN(rough) || math.IsInf(rough, 0) {
		return rough
	}
	r := exponential(new(big.Float).Mul(logarithm(math.Abs(x)), newFloat(y)))
	f, _ := r.Float64()
	return math.Copysign(f, rough)
}

func newFloat(f float64) *big.Float { return new(big.Float).SetPrec(powerBits).SetFloat64(f) }

// logarithm is the natural logarithm of a positive number.
func logarithm(x float64) *big.Float {
	fraction, exponent := math.Frexp(x) // from 0.5 to 1
	if fraction < math.Sqrt2/2 {
		fraction, exponent = 2*fraction, exponent-1
	}
	m, one := newFloat(fraction), newFloat(1)
	z := new(big.Float).Quo(new(big.Float).Sub(m, one), new(big.Float).Add(m, one))
	log := doubleArtanh(z)
	return log.Add(log, new(big.Float).Mul(logarithmOf2(), newFloat(float64(exponent))))
}

func logarithmOf2() *big.Float {
	return doubleArtanh(new(big.Float).Quo(newFloat(1), newFloat(3)))
}

// doubleArtanh is 2*(z + z**3/3 + z**5/5 ...), the logarithm of (1+z)/(1-z).
func doubleArtanh(z *big.Float) *big.Float {
	sum := newFloat(0)
	square := new(big.Float).Mul(z, z)
	term := new(big.Float).Set(z)
	for k := 1; term.Sign() != 0 && term.MantExp(nil) > -powerBits; k += 2 {
		sum.Add(sum, new(big.Float).Quo(term, newFloat(float64(k))))
		term.Mul(term, square)
	}
	return sum.Add(sum, sum)
}

// exponential is e**t.
func exponential(t *big.Float) *big.Float {
	log2 := logarithmOf2()
	turns, _ := new(big.Float).Quo(t, log2).Float64()
	turns = math.Round(turns)
	rest := new(big.Float).Sub(t, new(big.Float).Mul(log2, newFloat(turns)))
	sum, term := newFloat(1), newFloat(1)
	for k := 1; term.Sign() != 0 && term.MantExp(nil) > -powerBits; k++ {
		term.Mul(term, rest)
		term.Quo(term, newFloat(float64(k)))
		sum.Add(sum, term)
	}
	return sum.SetMantExp(sum, int(turns))
}
