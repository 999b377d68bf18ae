package value

import (
	"cmp"
	"strconv"
	"strings"
)

// numberLen returns the length of the number that s begins with, by the grammar of
// RFC 8259; 0 for any other text.
func numberLen(s string) int {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(s) && s[i] >= '0' && s[i] <= '9' {
		return 0
	}
	whole := i
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return whole
		}
		whole = i
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && strings.IndexByte("+-", s[i]) >= 0 {
			i++
		}
		if !digits() {
			return whole
		}
	}
	return i
}

// decimal is a number in a form that compares digit by digit, for any size: 0.digits x 10^exponent, in which
// digits neither begins nor ends with a zero. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// maxExponent is the limit from which exponents are not distinguished: no number of that size means anything, and
// sums with it must not overflow.
const maxExponent = 1 << 40

// decimalOf returns the number v as a decimal. A float64 counts as the shortest
// decimal that names it, the one that it is written as: 0.1 is 0.1.
func decimalOf(v Value) (d decimal, ok bool) {
	var s string
	switch x := v.unhide().v.(type) {
	case int64:
		s = strconv.FormatInt(x, 10)
	case float64:
		s = strconv.FormatFloat(x, 'e', -1, 64)
	case raw:
		s = string(x)
	default:
		return decimal{}, false
	}
	s, d.negative = strings.CutPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 64)
		if err != nil { // out of range: ParseInt gives the nearest that fits
			e = min(max(e, -maxExponent), maxExponent)
		}
		d.exponent = int(min(max(e, -maxExponent), maxExponent))
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.exponent += len(whole)
	d.digits = whole + fraction
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exponent -= len(d.digits) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

func (d decimal) sign() int {
	if d.digits == "" {
		return 0
	}
	if d.negative {
		return -1
	}
	return 1
}

func (d decimal) compare(o decimal) int {
	sign := d.sign()
	if c := cmp.Compare(sign, o.sign()); c != 0 || sign == 0 {
		return c
	}
	c := cmp.Compare(d.exponent, o.exponent)
	if c == 0 {
		c = strings.Compare(d.digits, o.digits)
	}
	return sign * c
}

// wholeDigits returns the number in digits, if it has no fraction and not too many digits for any Go integer.
func (d decimal) wholeDigits() (string, bool) {
	zeros := d.exponent - len(d.digits)
	if d.digits == "" {
		return "0", true
	}
	if zeros < 0 || d.exponent > 40 {
		return "", false
	}
	text := d.digits + strings.Repeat("0", zeros)
	if d.negative {
		text = "-" + text
	}
	return text, true
}

// compareNumbers orders two numbers by their mathematical value.
func compareNumbers(a, b Value) int {
	a, b = a.unhide(), b.unhide()
	switch x := a.v.(type) {
	case int64:
		if y, ok := b.v.(int64); ok {
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.v.(float64); ok {
			return cmp.Compare(x, y)
		}
	}
	x, _ := decimalOf(a)
	y, _ := decimalOf(b)
	return x.compare(y)
}
