package builtins

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// filterFromJSON returns the value that a text writes as JSON, for example a model's answer. Other values are
// passed on.
func filterFromJSON(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if err := c.in.CheckDefined(); err != nil {
		return pyvalue.None, err
	}
	text, isText := c.in.AsString()
	if !isText {
		return c.in, nil
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return pyvalue.None, fault.Errorf(fault.Other, "fromjson: the text is not JSON: %s", err.Error())
	}
	return pyvalue.Val{V: v}, nil
}
