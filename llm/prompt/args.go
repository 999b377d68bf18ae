package prompt

import "math"

// hasArg reports whether argument i is there.
func (c *call) hasArg(i int) bool { return !c.args[i].isAbsent() }

// stringArg is argument i as a string.
func (c *call) stringArg(i int, fallback string) (string, error) {
	if !c.hasArg(i) {
		return fallback, nil
	}
	if err := c.args[i].checkDefined(); err != nil {
		return "", err
	}
	s, ok := c.args[i].asString()
	if !ok {
		return "", errorf(Type, "argument %d must be a string, not '%s'", i+1, c.args[i].pyType())
	}
	return s, nil
}

// intArg is argument i as an integer that fits 32 bits; bigger ones are clipped.
func (c *call) intArg(i, fallback int) (int, error) {
	if !c.hasArg(i) || c.args[i].isNone() {
		return fallback, nil
	}
	return asInt(c.args[i])
}

func asInt(v val) (int, error) {
	if err := v.checkDefined(); err != nil {
		return 0, err
	}
	n, ok := toNum(v)
	if !ok || n.kind == 'f' {
		return 0, errorf(Type, "'%s' is not an integer", v.pyType())
	}
	if n.kind == 'b' {
		return math.MaxInt32 * n.b.Sign(), nil
	}
	return int(max(min(n.i, math.MaxInt32), -math.MaxInt32)), nil
}

// widthArg is argument i as a number of columns within the bound.
func (c *call) widthArg(i int) (int, error) {
	n, err := c.intArg(i, 0)
	if err == nil && n > maxPad {
		err = errorf(Limit, "a width of more than %d", maxPad)
	}
	return n, err
}

// boolArg is the truth of argument i.
func (c *call) boolArg(i int, fallback bool) (bool, error) {
	if !c.hasArg(i) {
		return fallback, nil
	}
	return isTruthy(c.args[i])
}
