package macro

import (
	"context"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// constants are the members of modules that are not functions.
var constants = map[string]float64{"math_pi": math.Pi, "math_e": math.E, "math_tau": 2 * math.Pi}

// functions are the functions for python code, by the names in translated code.
var functions = map[string]prompt.Func{
	"py_xor":             withArgs(2, pyXor),
	"py_is":              withArgs(2, pyIs),
	"py_len":             withArgs(1, pyLen),
	"py_abs":             withArgs(1, pyAbs),
	"py_max":             pyExtreme(1),
	"py_min":             pyExtreme(-1),
	"py_sum":             withArgs(1, pySum),
	"py_str":             withArgs(1, func(_ *run, a []value.Value) (value.Value, error) { return value.OfString(prompt.Text(a[0])), nil }),
	"py_int":             withArgs(1, pyInt),
	"py_float":           withArgs(1, pyFloat),
	"py_bool":            withArgs(1, func(_ *run, a []value.Value) (value.Value, error) { return value.OfBool(prompt.Truthy(a[0])), nil }),
	"py_round":           pyRound,
	"py_sorted":          withArgs(1, pySorted),
	"py_getvar":          withArgs(1, func(r *run, a []value.Value) (value.Value, error) { return r.lookupVar(varText(a[0])), nil }),
	"py_setvar":          withArgs(2, func(r *run, a []value.Value) (value.Value, error) { r.setVar(varText(a[0]), a[1]); return empty, nil }),
	"py_legacy_num":      pyLegacyNum,
	"py_legacy_upper":    textFunc(func(_ *run, s string) string { return prompt.Upper(s) }),
	"py_legacy_lower":    textFunc(func(_ *run, s string) string { return prompt.Lower(s) }),
	"py_legacy_reverse":  textFunc(func(_ *run, s string) string { return reverseRunes(s) }),
	"py_legacy_roll":     textFunc(func(r *run, s string) string { return strconv.Itoa(r.rollDice(s)) }),
	"py_legacy_time_utc": textFunc(func(r *run, s string) string { return r.timeUTC(s) }),
	"py_legacy_inc":      textFunc(func(r *run, s string) string { return r.incrementVar(s, 1) }),
	"py_legacy_dec":      textFunc(func(r *run, s string) string { return r.incrementVar(s, -1) }),
	"py_legacy_timediff": withArgs(2, func(*run, []value.Value) (value.Value, error) { return empty, nil }),
	"py_legacy_addvar":   withArgs(2, func(r *run, a []value.Value) (value.Value, error) { r.addToVar(varText(a[0]), a[1]); return empty, nil }),
	"py_legacy_time": withArgs(0, func(r *run, _ []value.Value) (value.Value, error) {
		return value.OfString(r.Now.Format("15:04:05")), nil
	}),
	"py_legacy_weekday_cn": withArgs(0, func(r *run, _ []value.Value) (value.Value, error) { return value.OfString(chineseWeekday(r.Now)), nil }),
	"py_math_floor":        roundingFunc(math.Floor),
	"py_math_ceil":         roundingFunc(math.Ceil),
	"py_math_trunc":        roundingFunc(math.Trunc),
	"py_math_sqrt":         floatFunc(math.Sqrt),
	"py_math_fabs":         floatFunc(math.Abs),
	"py_math_exp":          floatFunc(math.Exp),
	"py_math_log":          floatFunc(math.Log),
	"py_math_log2":         floatFunc(math.Log2),
	"py_math_log10":        floatFunc(math.Log10),
	"py_math_sin":          floatFunc(math.Sin),
	"py_math_cos":          floatFunc(math.Cos),
	"py_random_random":     withArgs(0, func(r *run, _ []value.Value) (value.Value, error) { return value.OfFloat(r.Rand.Float64()), nil }),
	"py_random_randint":    withArgs(2, pyRandint),
	"py_random_choice":     withArgs(1, pyChoice),
}

var empty = value.OfString("")

// withArgs makes a function with a fixed number of arguments.
func withArgs(n int, f func(*run, []value.Value) (value.Value, error)) prompt.Func {
	return func(ctx context.Context, args []value.Value) (value.Value, error) {
		if len(args) != n {
			return value.Value{}, wording.Errorf("want %d arguments, got %d", n, len(args))
		}
		return f(runOf(ctx), args)
	}
}

func textFunc(f func(*run, string) string) prompt.Func {
	return withArgs(1, func(r *run, a []value.Value) (value.Value, error) { return value.OfString(f(r, varText(a[0]))), nil })
}

func floatFunc(f func(float64) float64) prompt.Func {
	return withArgs(1, func(_ *run, a []value.Value) (value.Value, error) {
		x, ok := toFloat(a[0])
		y := f(x)
		isFinite := !math.IsNaN(y) && !math.IsInf(y, 0)
		if !ok || a[0].Kind() == value.String || !isFinite {
			return value.Value{}, wording.Errorf("%s is outside of what the function takes", value.Truncate(a[0].JSON(), 60))
		}
		return value.OfFloat(y), nil
	})
}

// roundingFunc makes an integer by rounding.
func roundingFunc(f func(float64) float64) prompt.Func {
	return withArgs(1, func(_ *run, a []value.Value) (value.Value, error) {
		if i, ok := bigOf(a[0]); ok {
			return value.OfBig(i), nil
		}
		if a[0].Kind() != value.Float {
			return value.Value{}, wording.Errorf("a number is wanted")
		}
		x, _ := a[0].Float()
		return wholeValue(f(x))
	})
}

func wholeValue(f float64) (value.Value, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return value.Value{}, wording.Errorf("an infinite number has no integer")
	}
	i, _ := big.NewFloat(f).Int(nil)
	return value.OfBig(i), nil
}

func pyXor(_ *run, a []value.Value) (value.Value, error) {
	x, xIsBool := a[0].Bool()
	y, yIsBool := a[1].Bool()
	if xIsBool && yIsBool {
		return value.OfBool(x != y), nil
	}
	i, iok := bigOf(a[0])
	j, jok := bigOf(a[1])
	if !iok || !jok {
		return value.Value{}, wording.Errorf("^ wants integers or booleans")
	}
	return value.OfBig(new(big.Int).Xor(i, j)), nil
}

// pyIs is Python's is, as far as values allow: None and the booleans are
// themselves, other values are the same when they are of one type and equal.
func pyIs(_ *run, a []value.Value) (value.Value, error) {
	return value.OfBool(a[0].Kind() == a[1].Kind() && value.Equal(a[0], a[1])), nil
}

func pyLen(_ *run, a []value.Value) (value.Value, error) {
	switch v := a[0]; v.Kind() {
	case value.String:
		s, _ := v.Str()
		return value.OfInt(int64(utf8.RuneCountInString(s))), nil
	case value.List:
		return value.OfInt(int64(len(v.List()))), nil
	case value.Object:
		return value.OfInt(int64(v.Map().Len())), nil
	default:
		return value.Value{}, wording.Errorf("a %s has no length", v.Kind())
	}
}

func pyAbs(_ *run, a []value.Value) (value.Value, error) {
	if i, ok := bigOf(a[0]); ok {
		return value.OfBig(new(big.Int).Abs(i)), nil
	}
	if a[0].Kind() != value.Float {
		return value.Value{}, wording.Errorf("abs wants a number")
	}
	f, _ := a[0].Float()
	return value.OfFloat(math.Abs(f)), nil
}

// comparePython orders numbers and strings; anything else, or a mixture, is an error.
func comparePython(a, b value.Value) (int, error) {
	_, aok := a.Float()
	_, bok := b.Float()
	areNumbers := aok && bok
	areStrings := a.Kind() == value.String && b.Kind() == value.String
	if areNumbers || areStrings {
		return value.Compare(a, b), nil
	}
	return 0, wording.Errorf("a %s and a %s have no order", a.Kind(), b.Kind())
}

// pyExtreme is max (sign 1) or min (sign -1), of its arguments or of one list.
func pyExtreme(sign int) prompt.Func {
	return func(_ context.Context, args []value.Value) (value.Value, error) {
		if len(args) == 1 {
			args = args[0].List()
		}
		if len(args) == 0 {
			return value.Value{}, wording.Errorf("there is nothing to choose from")
		}
		best := args[0]
		for _, x := range args[1:] {
			c, err := comparePython(x, best)
			if err != nil {
				return value.Value{}, err
			}
			if c*sign > 0 {
				best = x
			}
		}
		return best, nil
	}
}

// pySum adds one after the other, integers exactly until the first float.
func pySum(_ *run, a []value.Value) (value.Value, error) {
	whole, isWhole := new(big.Int), true
	total := 0.0
	for _, x := range a[0].List() {
		if i, ok := bigOf(x); ok && isWhole {
			whole.Add(whole, i)
			continue
		}
		f, ok := toFloat(x)
		if !ok || x.Kind() == value.String {
			return value.Value{}, wording.Errorf("a %s cannot be added", x.Kind())
		}
		if isWhole {
			total, _ = new(big.Float).SetInt(whole).Float64()
			isWhole = false
		}
		total += f
	}
	if isWhole {
		return value.OfBig(whole), nil
	}
	return value.OfFloat(total), nil
}

func pyInt(_ *run, a []value.Value) (value.Value, error) {
	if s, ok := a[0].Str(); ok {
		if i, ok := prompt.ParseInt(s); ok {
			return value.OfBig(i), nil
		}
		return value.Value{}, wording.Errorf("%q is not an integer", value.Truncate(s, 60))
	}
	if i, ok := bigOf(a[0]); ok {
		return value.OfBig(i), nil
	}
	f, ok := a[0].Float()
	if !ok {
		return value.Value{}, wording.Errorf("a %s is not an integer", a[0].Kind())
	}
	return wholeValue(math.Trunc(f))
}

func pyFloat(_ *run, a []value.Value) (value.Value, error) {
	f, ok := toFloat(a[0])
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return value.Value{}, wording.Errorf("%s is not a number", value.Truncate(a[0].JSON(), 60))
	}
	return value.OfFloat(f), nil
}

// pyRound rounds halves to the even neighbour; a float with a number of digits stays a float.
func pyRound(_ context.Context, args []value.Value) (value.Value, error) {
	if len(args) == 0 || len(args) > 2 {
		return value.Value{}, wording.Errorf("want a number, and how many digits")
	}
	hasDigits := len(args) == 2 && !args[1].IsNull()
	digits := int64(0)
	if hasDigits {
		i, ok := bigOf(args[1])
		if !ok || !i.IsInt64() || i.Int64() < -300 || i.Int64() > 300 {
			return value.Value{}, wording.Errorf("round wants -300 to 300 digits")
		}
		digits = i.Int64()
	}
	if i, ok := bigOf(args[0]); ok {
		return value.OfBig(prompt.RoundInt(i, int(digits))), nil
	}
	if args[0].Kind() != value.Float {
		return value.Value{}, wording.Errorf("round wants a number")
	}
	f, _ := args[0].Float()
	if !hasDigits {
		return wholeValue(math.RoundToEven(f))
	}
	return value.OfFloat(prompt.RoundFloat(f, int(digits))), nil
}

func pySorted(_ *run, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.List {
		return value.Value{}, wording.Errorf("sorted wants a list")
	}
	items := slices.Clone(a[0].List())
	var failed error
	slices.SortStableFunc(items, func(x, y value.Value) int {
		c, err := comparePython(x, y)
		if err != nil {
			failed = err
		}
		return c
	})
	return value.OfList(items...), failed
}

// pyLegacyNum is legacy_num(v, default): v as a number, whatever it is.
func pyLegacyNum(_ context.Context, args []value.Value) (value.Value, error) {
	if len(args) == 0 || len(args) > 2 {
		return value.Value{}, wording.Errorf("legacy_num wants a value and a default")
	}
	if f, ok := toFloat(args[0]); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return value.OfFloat(f), nil
	}
	if len(args) == 2 {
		return args[1], nil
	}
	return value.OfInt(0), nil
}

func pyRandint(r *run, a []value.Value) (value.Value, error) {
	lo, ok := a[0].Int()
	hi, ok2 := a[1].Int()
	areIntegers := ok && ok2
	if !areIntegers || hi < lo || uint64(hi-lo) >= math.MaxInt64 {
		return value.Value{}, wording.Errorf("randint wants two integers, the smaller one first")
	}
	return value.OfInt(lo + r.Rand.Int64N(hi-lo+1)), nil
}

func pyChoice(r *run, a []value.Value) (value.Value, error) {
	items := a[0].List()
	if len(items) == 0 {
		return value.Value{}, wording.Errorf("choice wants a list that is not empty")
	}
	return items[r.Rand.IntN(len(items))], nil
}

func reverseRunes(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}
