package pyvalue

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
)

// numberText is the text of a number as Python reads it: without white space around it, and with other scripts'
// decimal digits as ASCII digits.
func numberText(s string) string {
	return strings.Map(func(r rune) rune {
		if n, ok := lettercase.DigitValue(r); ok {
			return '0' + rune(n)
		}
		return r
	}, strings.TrimFunc(s, IsSpace))
}

// basePrefixes are the bases that may be written before the digits.
var basePrefixes = map[string]int{"0x": 16, "0o": 8, "0b": 2}

// ParseInt is Python's int(s, base) for text; base 0 uses the prefix's base, else 10.
func ParseInt(s string, base int) (*big.Int, bool) {
	s = numberText(s)
	if len(s) > fault.MaxDigits || base == 1 || base < 0 || base > 36 {
		return nil, false
	}
	sign, digits := cutSign(s)
	digits = strings.ToLower(digits)
	if len(digits) > 2 {
		if named := basePrefixes[digits[:2]]; named != 0 && (base == named || base == 0) {
			base, digits = named, strings.TrimPrefix(digits[2:], "_")
		}
	}
	if base == 0 {
		base = 10
		if strings.HasPrefix(digits, "0") && strings.Trim(digits, "0_") != "" {
			return nil, false // 010 could be octal
		}
	}
	if strings.Trim(digits, "_") != digits || strings.Contains(digits, "__") || strings.ContainsAny(digits, "+-") {
		return nil, false
	}
	return new(big.Int).SetString(sign+strings.ReplaceAll(digits, "_", ""), base)
}

// floatForm matches the numbers that Python's float reads besides inf and nan: an underscore is allowed between
// digits.
var floatForm = regexp.MustCompile(`^(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)([eE][+-]?\d+(_\d+)*)?$`)

// ParseFloat is Python's float(s) for text.
func ParseFloat(s string) (float64, bool) {
	sign, digits := cutSign(numberText(s))
	switch strings.ToLower(digits) {
	case "nan":
		return math.NaN(), true
	case "inf", "infinity":
		digits = "inf"
	default:
		if !floatForm.MatchString(digits) {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(sign+strings.ReplaceAll(digits, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// cutSign takes one sign from the start of a number.
func cutSign(s string) (sign, rest string) {
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
		return s[:1], s[1:]
	}
	return "", s
}
