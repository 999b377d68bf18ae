package builtins

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// checkAdd adds numbers within 64 bits; of a number and a text both are texts.
func checkAdd(in, arg any) (any, any, error) {
	a, isInt := in.(int)
	b, isOtherInt := arg.(int)
	if isInt && isOtherInt {
		if sum := new(big.Int).Add(big.NewInt(int64(a)), big.NewInt(int64(b))); !sum.IsInt64() {
			return nil, nil, fault.Errorf(fault.Limit, "an integer of more than 64 bits")
		}
		return a, b, nil
	}
	_, isText := in.(string)
	_, isOtherText := arg.(string)
	if isText != isOtherText {
		return printGo(in), printGo(arg), nil
	}
	return in, arg, nil
}

// printGo returns a number as a template prints it: pongo2 would print a fraction with six digits.
func printGo(data any) any {
	switch x := data.(type) {
	case int:
		return strconv.Itoa(x)
	case float64:
		return pyvalue.Text(pyvalue.OfFloat(x).V)
	}
	return data
}

// timeLayouts are the forms of a time in data.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// timeOf is a time that is written as a text.
func timeOf(_ *pyvalue.Run, v pyvalue.Val) (any, error) {
	s, _ := v.AsString()
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return t, nil
		}
	}
	e := fault.Errorf(fault.Type, "the filter needs a time, not %s", pyvalue.QuoteText(s))
	if !pyvalue.IsText(v) {
		e = fault.Errorf(fault.Type, "the filter needs a time, not a '%s'", v.PyType())
	}
	e.Hint = "a time is a text such as 2026-11-28, or 2026-11-28T10:00:00Z"
	return nil, e
}

// checkDate refuses a layout without Go's elements: it would be printed unchanged.
func checkDate(in, arg any) (any, any, error) {
	t, _ := in.(time.Time)
	layout, _ := arg.(string)
	other := t.AddDate(1, 1, 1).Add(time.Hour + time.Minute + time.Second)
	hasLetters := strings.IndexFunc(layout, unicode.IsLetter) >= 0
	if hasLetters && t.Format(layout) == layout && other.Format(layout) == layout {
		e := fault.Errorf(fault.Other, "%s is not a layout of a time", pyvalue.QuoteText(layout))
		e.Hint = `the layout is the time 2006-01-02 15:04:05 written as you want it, for example "02.01.2006"`
		return nil, nil, e
	}
	return in, arg, nil
}

// The bounds of pongo2's filters.
const (
	maxDecimals = 100
	maxColumns  = 1000
	maxExact    = 1 << 53 // integers up to it are floats without rounding
)

func checkFloatFormat(in, arg any) (any, any, error) {
	decimals, isInt := arg.(int)
	if s, isText := arg.(string); isText {
		n, _ := pyvalue.ParseInt(s, 10)
		decimals, isInt = int(n.Int64()), n.IsInt64()
	}
	if arg != nil && (!isInt || decimals > maxDecimals || decimals < -maxDecimals) {
		return nil, nil, fault.Errorf(fault.Limit, "floatformat to more than %d digits", maxDecimals)
	}
	if n, isWhole := in.(int); isWhole && (n > maxExact || n < -maxExact) {
		return nil, nil, fault.Errorf(fault.Limit, "floatformat of a number that is no exact fraction: %d", n)
	}
	return in, arg, nil
}

// checkPluralize makes the plural of a fraction, of which pongo2 only uses the whole part.
func checkPluralize(in, arg any) (any, any, error) {
	if endings, _ := arg.(string); strings.Count(endings, ",") > 1 {
		return nil, nil, fault.Errorf(fault.Other, "pluralize takes one ending, or two with a comma between them")
	}
	if f, isFloat := in.(float64); isFloat && f != math.Trunc(f) {
		in = 2
	}
	if arg == nil {
		arg = ""
	}
	return in, arg, nil
}

func checkYesNo(in, arg any) (any, any, error) {
	words, isGiven := arg.(string)
	n := strings.Count(words, ",") + 1
	if isGiven && words != "" && n != 2 && n != 3 {
		return nil, nil, fault.Errorf(fault.Other, "yesno takes two or three words with commas between them")
	}
	return in, words, nil
}

// checkCount refuses a negative number, with which pongo2 panics.
func checkCount(in, arg any) (any, any, error) {
	if n, _ := arg.(int); n < 0 {
		return nil, nil, fault.Errorf(fault.Other, "a number of at least 0 is needed")
	}
	return in, arg, nil
}

func checkWidth(in, arg any) (any, any, error) {
	n, _ := arg.(int)
	if n > maxColumns {
		return nil, nil, fault.Errorf(fault.Limit, "a width of more than %d", maxColumns)
	}
	return in, max(n, 0), nil
}

var formatPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[^%]|%%)*%[-+# 0]*(\d*)(?:\.(\d*))?([a-zA-Z])(?:[^%]|%%)*$`)
})

// checkStringFormat accepts values that fmt.Sprintf can print with the one verb of the format.
func checkStringFormat(in, arg any) (any, any, error) {
	format, _ := arg.(string)
	parts := formatPattern().FindStringSubmatch(format)
	if parts == nil {
		e := fault.Errorf(fault.Other, "stringformat needs one verb of Go, not %s", pyvalue.QuoteText(format))
		e.Hint = `write the format with its percent sign, for example "%05d" or "%.2f"`
		return nil, nil, e
	}
	for _, digits := range parts[1:3] {
		if n, err := strconv.Atoi(digits); digits != "" && (err != nil || n > maxColumns) {
			return nil, nil, fault.Errorf(fault.Limit, "a width of more than %d", maxColumns)
		}
	}
	verb := parts[3]
	n, isInt := in.(int)
	_, isFloat := in.(float64)
	switch {
	case strings.Contains("sqv", verb):
		return printGo(in), arg, nil
	case strings.Contains("dxXob", verb) && isInt:
		return in, arg, nil
	case strings.Contains("feEgG", verb) && isInt:
		return float64(n), arg, nil
	case strings.Contains("feEgG", verb) && isFloat:
		return in, arg, nil
	}
	e := fault.Errorf(fault.Type, "%%%s cannot print this value", verb)
	e.Hint = "%s is for texts, %d for whole numbers, %f for fractions"
	return nil, nil, e
}

// filterSlugify returns a text for an address: letters without accents in lower case, digits, and hyphens for the
// characters between them. It is pongo2-addons' filter, to which pongo2 refers.
func filterSlugify(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	data, err := textOf(m, c.in)
	if err != nil {
		return pyvalue.None, err
	}
	text, _ := data.(string)
	if err := m.CheckTextSize(4 * len(text)); err != nil {
		return pyvalue.None, err
	}
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.IsMark(r):
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(unicode.ToLower(r))
		default:
			gap = true
		}
	}
	return pyvalue.OfStr(norm.NFC.String(b.String())), nil
}
