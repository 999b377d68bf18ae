package builtins

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// pongo2Filter is a filter of pongo2 whose name Jinja2 does not have. pongo2 computes it; this type limits its
// operands, because pongo2's filters treat a wrong operand as 0 or "" without an error, and some allocate without
// a bound. So `'abc' | add:1` is abc1 as pongo2 has it, but `[1] | add:1`, for which pongo2 prints the name of a
// Go type, is an error.
type pongo2Filter struct {
	// in and arg turn the input and the argument into data of Go; arg is nil for a filter that takes none.
	in, arg func(m *pyvalue.Run, v pyvalue.Val) (any, error)
	// need reports whether the argument must be given.
	need bool
	// check refuses operands that pongo2 would compute wrongly or without a bound, and returns the operands to pass
	// to it.
	check func(in, arg any) (any, any, error)
	// grow is how many bytes the result has at most for one byte of the texts.
	grow int
}

// pongo2Filters is the list of pongo2's filters that templates may use.
func pongo2Filters() map[string]*Def {
	table := map[string]*Def{
		"default_if_none": {params: []string{"arg"}, need: 1, fn: filterDefaultIfNone},
		"slugify":         {fn: filterSlugify},
	}
	maps.Copy(table, pongo2Texts())
	for name, f := range map[string]pongo2Filter{
		"add":         {in: scalarOf, arg: scalarOf, need: true, check: checkAdd, grow: 1},
		"date":        {in: timeOf, arg: textOf, need: true, check: checkDate, grow: 8},
		"time":        {in: timeOf, arg: textOf, need: true, check: checkDate, grow: 8},
		"divisibleby": {in: intOf, arg: intOf, need: true},
		"floatformat": {in: numberOf, arg: digitsOf, check: checkFloatFormat},
		"length_is":   {in: lengthOf, arg: intOf, need: true},
		"pluralize":   {in: numberOf, arg: textOf, check: checkPluralize, grow: 1},
		"yesno":       {in: truthOf, arg: textOf, check: checkYesNo, grow: 1},
	} {
		table[name] = f.define(name)
	}
	return table
}

// pongo2Texts returns pongo2's filters that work on a text.
func pongo2Texts() map[string]*Def {
	table := map[string]*Def{}
	for name, f := range map[string]pongo2Filter{
		"addslashes":    {grow: 2},
		"capfirst":      {grow: 2},
		"cut":           {arg: textOf, need: true, grow: 1},
		"linebreaks":    {grow: len("</p><p>") * 2},
		"linebreaksbr":  {grow: len("<br />")},
		"linenumbers":   {grow: len("10000000. ") + 1},
		"ljust":         {arg: intOf, need: true, check: checkWidth, grow: 1},
		"rjust":         {arg: intOf, need: true, check: checkWidth, grow: 1},
		"split":         {arg: textOf, need: true, grow: 1},
		"truncatechars": {arg: intOf, need: true, check: checkCount, grow: 1},
		"truncatewords": {arg: intOf, need: true, check: checkCount, grow: 2},
		"urlizetrunc":   {arg: intOf, need: true, check: checkCount, grow: 32},
	} {
		f.in = textOf
		table[name] = f.define(name)
	}
	table["stringformat"] = pongo2Filter{in: scalarOf, arg: textOf, need: true, check: checkStringFormat, grow: 4}.define("stringformat")
	return table
}

// define returns the filter as templates use it.
func (f pongo2Filter) define(name string) *Def {
	def := &Def{fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) { return f.apply(m, name, c) }}
	if f.arg != nil {
		def.params = []string{"arg"}
	}
	if f.need {
		def.need = 1
	}
	return def
}

func (f pongo2Filter) apply(m *pyvalue.Run, name string, c *call) (pyvalue.Val, error) {
	in, err := f.in(m, c.in)
	if err != nil {
		return pyvalue.None, err
	}
	var arg any
	if f.arg != nil && c.hasArg(0) {
		arg, err = f.arg(m, c.args[0])
		if err != nil {
			return pyvalue.None, err
		}
	}
	if f.check != nil {
		in, arg, err = f.check(in, arg)
		if err != nil {
			return pyvalue.None, err
		}
	}
	if err := m.CheckTextSize(f.grow * (sizeOf(in) + sizeOf(arg))); err != nil {
		return pyvalue.None, err
	}
	out, err := pongo2tree.ApplyFilter(name, in, arg)
	if err != nil {
		return pyvalue.None, fault.Errorf(fault.Other, "the filter %s failed: %v", name, err)
	}
	return fromGo(m, out)
}

func sizeOf(data any) int {
	s, _ := data.(string)
	return len(s)
}

// fromGo returns pongo2's result as a value.
func fromGo(m *pyvalue.Run, data any) (pyvalue.Val, error) {
	switch x := data.(type) {
	case string:
		return pyvalue.OfStr(strings.ToValidUTF8(x, "")), m.CheckTextSize(len(x)) // urlizetrunc may cut a character
	case bool:
		return pyvalue.OfBool(x), nil
	case int:
		return pyvalue.OfInt(x), nil
	case float64:
		return pyvalue.OfFloat(x), nil
	case []string:
		items := make([]pyvalue.Val, len(x))
		for i, s := range x {
			items[i] = pyvalue.OfStr(s)
		}
		return pyvalue.OfList(items), m.CheckListSize(len(items))
	}
	return pyvalue.None, fault.Errorf(fault.Other, "pongo2 returned a %T", data)
}

// wrongInput returns the error of a value that a filter does not take.
func wrongInput(format string, v pyvalue.Val) error {
	return fault.Errorf(fault.Type, format, v.PyType())
}

// textOf returns a text, or the printed form of a number or a truth value.
func textOf(m *pyvalue.Run, v pyvalue.Val) (any, error) {
	isPrinted := v.Py() == nil && !v.IsNone() && !v.IsDict() && !v.IsList()
	if !isPrinted && !pyvalue.IsText(v) {
		return nil, wrongInput("the filter needs a text, not a '%s'", v)
	}
	return m.PrintedText(v)
}

// intOf is an integer.
func intOf(_ *pyvalue.Run, v pyvalue.Val) (any, error) {
	i, ok := v.V.Int()
	if v.Py() != nil || !ok {
		return nil, wrongInput("the filter needs a whole number, not a '%s'", v)
	}
	return int(i), nil
}

// numberOf is a number, also one that is written as a text.
func numberOf(_ *pyvalue.Run, v pyvalue.Val) (any, error) {
	if s, isText := v.AsString(); isText {
		f, ok := pyvalue.ParseFloat(s)
		if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, wrongInput("the filter needs a number, not a '%s'", v)
		}
		return f, nil
	}
	if i, ok := v.V.Int(); ok && v.Py() == nil {
		return int(i), nil
	}
	n, ok := pyvalue.ToNum(v)
	if isTruth := pyvalue.IsBool(v); !ok || isTruth || n.Kind != 'f' || math.IsInf(n.F, 0) || math.IsNaN(n.F) {
		return nil, wrongInput("the filter needs a number, not a '%s'", v)
	}
	return n.F, nil
}

// digitsOf is an integer, also one that is written as a text.
func digitsOf(m *pyvalue.Run, v pyvalue.Val) (any, error) {
	s, isText := v.AsString()
	if !isText {
		return intOf(m, v)
	}
	if _, ok := pyvalue.ParseInt(s, 10); !ok {
		return nil, wrongInput("the filter needs a whole number, not a '%s'", v)
	}
	return s, nil
}

// scalarOf returns a number unchanged, and anything else as a text.
func scalarOf(m *pyvalue.Run, v pyvalue.Val) (any, error) {
	if n, ok := pyvalue.ToNum(v); ok && !pyvalue.IsBool(v) && n.Kind != 'b' {
		return numberOf(m, v)
	}
	return textOf(m, v)
}

// truthOf is nil for None, and else whether the value counts as true.
func truthOf(_ *pyvalue.Run, v pyvalue.Val) (any, error) {
	if v.IsNone() {
		return nil, nil
	}
	return pyvalue.IsTruthy(v)
}

// lengthOf is a list of nothing that has the length of the value.
func lengthOf(m *pyvalue.Run, v pyvalue.Val) (any, error) {
	n, err := m.LengthOf(v)
	return make([]struct{}, n), err
}

func filterDefaultIfNone(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if c.in.IsNone() {
		return c.args[0], nil
	}
	return c.in, nil
}

// Pongo2Filters returns the names of the filters that are pongo2's, sorted.
func Pongo2Filters() []string { return slices.Sorted(maps.Keys(pongo2Filters())) }
