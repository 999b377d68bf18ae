package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
)

// filterToJSON writes JSON as Hugging Face's chat templates do: nothing escaped
// for HTML, other scripts as they are, keys in their order.
func filterToJSON(m *run, c *call) (val, error) {
	if err := c.in.checkDefined(); err != nil {
		return none, err
	}
	w := newJSONWriter()
	if c.hasArg(0) && !c.args[0].isNone() {
		w.item, w.lines = ",", true
		if s, ok := c.args[0].asString(); ok {
			w.indent = s
		} else {
			n, err := c.widthArg(0)
			if err != nil {
				return none, err
			}
			w.indent = strings.Repeat(" ", max(n, 0))
		}
	}
	var err error
	w.ascii, err = c.boolArg(1, false)
	if err != nil {
		return none, err
	}
	if c.hasArg(2) && !c.args[2].isNone() {
		seps, err := m.itemsOf(c.args[2])
		if err != nil {
			return none, err
		}
		if len(seps) != 2 {
			return none, fault.Errorf(fault.Other, "separators must be two strings")
		}
		w.item, _ = seps[0].asString()
		w.key, _ = seps[1].asString()
	}
	w.sorted, err = c.boolArg(3, false)
	if err != nil {
		return none, err
	}
	text, err := w.write(c.in)
	if err != nil {
		return none, err
	}
	return ofStr(text), m.countSteps(len(text) >> 8)
}
