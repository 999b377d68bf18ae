package prompt

import "math"

// given says whether argument i is there.
func (c *call) given(i int) bool { return !c.args[i].isAbsent() }

// str is argument i as a string.
func (c *call) str(i int, fallback string) (string, error) {
	if !c.given(i) {
		return fallback, nil
	}
	if err := c.args[i].use(); err != nil {
		return "", err
	}
	s, ok := c.args[i].str()
	if !ok {
		return "", errorf(Type, "argument %d must be a string, not '%s'", i+1, c.args[i].pyType())
	}
	return s, nil
}

// int is argument i as an integer that fits 32 bits; bigger ones are clipped.
func (c *call) int(i, fallback int) (int, error) {
	if !c.given(i) || c.args[i].isNone() {
		return fallback, nil
	}
	return asInt(c.args[i])
}

func asInt(v val) (int, error) {
	if err := v.use(); err != nil {
		return 0, err
	}
	n, ok := toNum(v)
	switch {
	case !ok || n.kind == 'f':
		return 0, errorf(Type, "'%s' is not an integer", v.pyType())
	case n.kind == 'b':
		return math.MaxInt32 * n.b.Sign(), nil
	}
	return int(max(min(n.i, math.MaxInt32), -math.MaxInt32)), nil
}

// width is argument i as a number of columns within the bound.
func (c *call) width(i int) (int, error) {
	n, err := c.int(i, 0)
	if err == nil && n > maxPad {
		err = errorf(Limit, "a width of more than %d", maxPad)
	}
	return n, err
}

// bool is the truth of argument i.
func (c *call) bool(i int, fallback bool) (bool, error) {
	if !c.given(i) {
		return fallback, nil
	}
	return truthy(c.args[i])
}
