package builtins

import (
	"math"
	"math/big"
	"strconv"

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
		if i, ok := pyvalue.ParseInt(s, base); ok {
			return pyvalue.OfBig(i), nil
		}
		f, ok := pyvalue.ParseFloat(s)
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

func filterFloat(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if err := c.in.CheckDefined(); err != nil {
		return pyvalue.None, err
	}
	fallback := pyvalue.OfFloat(0)
	if c.hasArg(0) {
		fallback = c.args[0]
	}
	if s, ok := c.in.AsString(); ok {
		if f, ok := pyvalue.ParseFloat(s); ok {
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
	if method != "common" {
		return roundToSide(n, precision, method == "ceil")
	}
	if n.Kind != 'f' {
		return pyvalue.OfBig(pyvalue.RoundInt(n.Big(), precision)), nil
	}
	if math.IsNaN(n.F) || math.IsInf(n.F, 0) {
		return pyvalue.OfFloat(n.F), nil
	}
	return pyvalue.OfFloat(pyvalue.RoundFloat(n.F, precision)), nil
}

// roundToSide rounds up or down as Jinja2 does: by a factor, so that the result has the errors
// of the two operations.
func roundToSide(n pyvalue.Num, precision int, up bool) (pyvalue.Val, error) {
	f := n.Float()
	if precision >= 0 && n.Kind != 'f' { // a whole number stays exact
		precision = 0
	}
	scale, _ := strconv.ParseFloat("1e"+strconv.Itoa(precision), 64)
	scaled := f * scale
	isComputed := scale != 0 && !math.IsInf(scale, 0) && !math.IsNaN(scaled) && !math.IsInf(scaled, 0)
	if !isComputed {
		return pyvalue.None, fault.Errorf(fault.Limit, "a number that cannot be rounded to %d digits", precision)
	}
	whole := math.Floor(scaled)
	if up {
		whole = math.Ceil(scaled)
	}
	return pyvalue.OfFloat((whole + 0) / scale), nil // + 0: no negative zero
}

// filterFileSize writes a number of bytes for people: 1.5 kB, or 1.5 KiB with binary.
func filterFileSize(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	binary, err := c.boolArg(0, false)
	if err != nil {
		return pyvalue.None, err
	}
	n, ok := pyvalue.ToNum(c.in)
	size := n.Float()
	if s, isText := c.in.AsString(); isText {
		size, ok = pyvalue.ParseFloat(s)
	}
	if !ok || math.IsNaN(size) || math.IsInf(size, 0) {
		return pyvalue.None, fault.Errorf(fault.Type, "filesizeformat needs a number of bytes, not a '%s'", c.in.PyType())
	}
	base, unit, units := 1000.0, "B", []string{"k", "M", "G", "T", "P", "E", "Z", "Y"}
	if binary {
		base, unit, units[0] = 1024, "iB", "K"
	}
	switch {
	case size == 1:
		return pyvalue.OfStr("1 Byte"), nil
	case size < base:
		return pyvalue.OfStr(strconv.FormatFloat(math.Trunc(size)+0, 'f', 0, 64) + " Bytes"), nil
	}
	scale, i := base*base, 0
	for size >= scale && i < len(units)-1 {
		scale, i = scale*base, i+1
	}
	return pyvalue.OfStr(strconv.FormatFloat(base*size/scale, 'f', 1, 64) + " " + units[i] + unit), nil
}
