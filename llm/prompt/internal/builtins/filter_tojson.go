package builtins

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// filterToJSON writes JSON as Hugging Face's chat templates do: nothing escaped for HTML, other scripts unescaped,
// keys in their order.
func filterToJSON(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if err := c.in.CheckDefined(); err != nil {
		return pyvalue.None, err
	}
	w := pyvalue.NewJSONWriter()
	indent, ascii := 0, 1
	if m.Soft {
		indent, ascii = 1, 0
	}
	if c.hasArg(indent) && !c.args[indent].IsNone() {
		w.Item, w.Lines = ",", true
		if s, ok := c.args[indent].AsString(); ok {
			w.Indent = s
		} else {
			n, err := c.widthArg(indent, 0)
			if err != nil {
				return pyvalue.None, err
			}
			w.Indent = strings.Repeat(" ", max(n, 0))
		}
	}
	var err error
	w.Ascii, err = c.boolArg(ascii, false)
	if err != nil {
		return pyvalue.None, err
	}
	if c.hasArg(2) && !c.args[2].IsNone() {
		seps, err := m.ItemsOf(c.args[2])
		if err != nil {
			return pyvalue.None, err
		}
		if len(seps) != 2 {
			return pyvalue.None, fault.Errorf(fault.Other, "separators must be two strings")
		}
		w.Item, _ = seps[0].AsString()
		w.Key, _ = seps[1].AsString()
	}
	w.Sorted, err = c.boolArg(3, false)
	if err != nil {
		return pyvalue.None, err
	}
	text, err := w.Write(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	return pyvalue.OfStr(text), m.CountSteps(len(text) >> 8)
}
