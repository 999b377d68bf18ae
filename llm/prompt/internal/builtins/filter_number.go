package builtins

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

func filterAbs(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	n, ok := pyvalue.ToNum(c.in)
	if !ok {
		return pyvalue.None, fault.Errorf(fault.Type, "abs needs a number, not a '%s'", c.in.PyType())
	}
	if n.Kind == 'f' {
		return pyvalue.OfFloat(math.Abs(n.F)), nil
	}
	return pyvalue.OfBig(new(big.Int).Abs(n.Big())), nil
}

func filterInt(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if err := c.in.CheckDefined(); err != nil {
		return pyvalue.None, err
	}
	fallback := pyvalue.OfInt(0)
	if c.hasArg(0) {
		fallback = c.args[0]
	}
	base, err := c.intArg(1, 10)
	if err != nil {
		return pyvalue.None, err
	}
	if s, ok := c.in.AsString(); ok {
		if i, ok := parseInt(s, base); ok {
			return pyvalue.OfBig(i), nil
		}
		f, ok := parseFloat(s)
		if !ok {
			return fallback, nil
		}
		return pyvalue.TruncateFloat(f, fallback), nil
	}
	n, ok := pyvalue.ToNum(c.in)
	if !ok {
		return fallback, nil
	}
	if n.Kind == 'f' {
		return pyvalue.TruncateFloat(n.F, fallback), nil
	}
	return pyvalue.OfBig(n.Big()), nil
}

// parseInt is Python's int(s, base) for text.
func parseInt(s string, base int) (*big.Int, bool) {
	s = strings.TrimFunc(s, pyvalue.IsSpace)
	if len(s) > fault.MaxDigits || base < 2 || base > 36 {
		return nil, false
	}
	digits := strings.TrimLeft(s, "+-")
	sign := s[:len(s)-len(digits)]
	if prefix := map[int]string{16: "0x", 8: "0o", 2: "0b"}[base]; prefix != "" {
		digits = strings.TrimPrefix(strings.ToLower(digits), prefix)
	}
	if len(sign) > 1 || !hasSingleUnderscores(digits) {
		return nil, false
	}
	digits = strings.Map(asciiDigit, digits)
	return new(big.Int).SetString(sign+strings.ReplaceAll(digits, "_", ""), base)
}

// hasSingleUnderscores reports whether underscores only separate digits.
func hasSingleUnderscores(s string) bool {
	return strings.Trim(s, "_") == s && !strings.Contains(s, "__")
}

// asciiDigit makes the ASCII digit of a digit of another script.
func asciiDigit(r rune) rune {
	if r < utf8.RuneSelf || !unicode.IsDigit(r) {
		return r
	}
	zero := r
	for unicode.IsDigit(zero-1) && r-zero < 9 {
		zero--
	}
	return '0' + r - zero
}

// parseFloat is Python's float(s) for text.
func parseFloat(s string) (float64, bool) {
	s = strings.Map(asciiDigit, strings.TrimFunc(s, pyvalue.IsSpace))
	if strings.ContainsAny(s, "xXpP") || !hasSingleUnderscores(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func filterFloat(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if err := c.in.CheckDefined(); err != nil {
		return pyvalue.None, err
	}
	fallback := pyvalue.OfFloat(0)
	if c.hasArg(0) {
		fallback = c.args[0]
	}
	if s, ok := c.in.AsString(); ok {
		if f, ok := parseFloat(s); ok {
			return pyvalue.OfFloat(f), nil
		}
		return fallback, nil
	}
	if n, ok := pyvalue.ToNum(c.in); ok {
		return pyvalue.OfFloat(n.Float()), nil
	}
	return fallback, nil
}

func filterRound(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	n, ok := pyvalue.ToNum(c.in)
	precision, err := c.intArg(0, 0)
	if err != nil {
		return pyvalue.None, err
	}
	method, err := c.stringArg(1, "common")
	if err != nil {
		return pyvalue.None, err
	}
	switch {
	case method != "common" && method != "ceil" && method != "floor":
		return pyvalue.None, fault.Errorf(fault.Other, "the method of round must be common, ceil or floor")
	case !ok:
		return pyvalue.None, fault.Errorf(fault.Type, "round needs a number, not a '%s'", c.in.PyType())
	case precision > 400 || precision < -400:
		return pyvalue.None, fault.Errorf(fault.Limit, "round to more than 400 digits")
	}
	if n.Kind != 'f' && method == "common" {
		if precision < 0 && n.Kind == 'i' {
			return pyvalue.TruncateFloat(roundHalfEven(n.Float(), precision), pyvalue.None), nil
		}
		return pyvalue.OfBig(n.Big()), nil
	}
	f := n.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return pyvalue.OfFloat(f), nil
	}
	switch method {
	case "common":
		return pyvalue.OfFloat(roundHalfEven(f, precision)), nil
	case "ceil":
		scale := math.Pow(10, float64(precision))
		return pyvalue.OfFloat((math.Ceil(f*scale) + 0) / scale), nil
	}
	scale := math.Pow(10, float64(precision))
	return pyvalue.OfFloat((math.Floor(f*scale) + 0) / scale), nil
}

// roundHalfEven is Python's round: correct for the exact value of the float.
func roundHalfEven(f float64, precision int) float64 {
	if precision >= 0 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
		return r
	}
	scale := math.Pow(10, float64(-precision))
	return math.RoundToEven(f/scale) * scale
}
