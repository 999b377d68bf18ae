package prompt

import (
	"maps"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

// newFilterTable is Jinja2's filters but random, whose result no test could hold,
// and urlize.
func newFilterTable() map[string]*builtin {
	t := map[string]*builtin{
		"default": {params: []string{"default_value", "boolean"}, lax: true, fn: filterDefault},
		"abs":     {fn: filterAbs},
		"int":     {params: []string{"default", "base"}, fn: filterInt},
		"float":   {params: []string{"default"}, fn: filterFloat},
		"round":   {params: []string{"precision", "method"}, fn: filterRound},
		"string":  {fn: func(m *run, c *call) (val, error) { return m.asText(c.in) }},
		"length":  {fn: lengthFilter},
		"tojson":  {params: []string{"indent", "ensure_ascii", "separators", "sort_keys"}, lax: true, fn: filterToJSON},
	}
	maps.Copy(t, textFilters())
	maps.Copy(t, listFilters())
	for alias, name := range map[string]string{"d": "default", "count": "length", "e": "escape"} {
		t[alias] = t[name]
	}
	return t
}

func filterDefault(_ *run, c *call) (val, error) {
	fallback := c.args[0]
	if fallback.isAbsent() {
		fallback = ofStr("")
	}
	if u := c.in.asUndefined(); u != nil {
		if u.class == fault.Security {
			return none, u.toError()
		}
		return fallback, nil
	}
	loose, err := c.boolArg(1, false)
	if err != nil || !loose {
		return c.in, err
	}
	t, err := isTruthy(c.in)
	if err != nil || t {
		return c.in, err
	}
	return fallback, nil
}

func filterAbs(_ *run, c *call) (val, error) {
	n, ok := toNum(c.in)
	if !ok {
		return none, fault.Errorf(fault.Type, "abs needs a number, not a '%s'", c.in.pyType())
	}
	if n.kind == 'f' {
		return ofFloat(math.Abs(n.f)), nil
	}
	return ofBig(new(big.Int).Abs(n.big())), nil
}

func filterInt(_ *run, c *call) (val, error) {
	if err := c.in.checkDefined(); err != nil {
		return none, err
	}
	fallback := ofInt(0)
	if c.hasArg(0) {
		fallback = c.args[0]
	}
	base, err := c.intArg(1, 10)
	if err != nil {
		return none, err
	}
	if s, ok := c.in.asString(); ok {
		if i, ok := parseInt(s, base); ok {
			return ofBig(i), nil
		}
		f, ok := parseFloat(s)
		if !ok {
			return fallback, nil
		}
		return truncateFloat(f, fallback), nil
	}
	n, ok := toNum(c.in)
	if !ok {
		return fallback, nil
	}
	if n.kind == 'f' {
		return truncateFloat(n.f, fallback), nil
	}
	return ofBig(n.big()), nil
}

// parseInt is Python's int(s, base) for text.
func parseInt(s string, base int) (*big.Int, bool) {
	s = strings.TrimFunc(s, isSpace)
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
	s = strings.Map(asciiDigit, strings.TrimFunc(s, isSpace))
	if strings.ContainsAny(s, "xXpP") || !hasSingleUnderscores(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func filterFloat(_ *run, c *call) (val, error) {
	if err := c.in.checkDefined(); err != nil {
		return none, err
	}
	fallback := ofFloat(0)
	if c.hasArg(0) {
		fallback = c.args[0]
	}
	if s, ok := c.in.asString(); ok {
		if f, ok := parseFloat(s); ok {
			return ofFloat(f), nil
		}
		return fallback, nil
	}
	if n, ok := toNum(c.in); ok {
		return ofFloat(n.float()), nil
	}
	return fallback, nil
}

func filterRound(_ *run, c *call) (val, error) {
	n, ok := toNum(c.in)
	precision, err := c.intArg(0, 0)
	if err != nil {
		return none, err
	}
	method, err := c.stringArg(1, "common")
	if err != nil {
		return none, err
	}
	switch {
	case method != "common" && method != "ceil" && method != "floor":
		return none, fault.Errorf(fault.Other, "the method of round must be common, ceil or floor")
	case !ok:
		return none, fault.Errorf(fault.Type, "round needs a number, not a '%s'", c.in.pyType())
	case precision > 400 || precision < -400:
		return none, fault.Errorf(fault.Limit, "round to more than 400 digits")
	}
	if n.kind != 'f' && method == "common" {
		if precision < 0 && n.kind == 'i' {
			return truncateFloat(roundHalfEven(n.float(), precision), none), nil
		}
		return ofBig(n.big()), nil
	}
	f := n.float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return ofFloat(f), nil
	}
	switch method {
	case "common":
		return ofFloat(roundHalfEven(f, precision)), nil
	case "ceil":
		scale := math.Pow(10, float64(precision))
		return ofFloat((math.Ceil(f*scale) + 0) / scale), nil
	}
	scale := math.Pow(10, float64(precision))
	return ofFloat((math.Floor(f*scale) + 0) / scale), nil
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

// lengthFilter is length.
func lengthFilter(m *run, c *call) (val, error) {
	n, err := m.lengthOf(c.in)
	v := ofInt(n)
	if !m.trace || err != nil {
		return v, err
	}
	from, known := originsOf(c.in)
	if !known {
		from = m.touched
	}
	return v.withOrigin(trace.HarmlessOrigin(from, true)), nil
}
