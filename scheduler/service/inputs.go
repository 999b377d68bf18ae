package service

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// CheckInputs applies the defaults of the flow to inputs and checks them. The notes warn of
// inputs that the flow does not name: JSON Schema lets them pass, but most of them are
// typing mistakes.
func CheckInputs(f *flow.Flow, inputs *value.Map) (value.Value, []Note, error) {
	var notes []Note
	names, open := inputNames(f)
	for key := range inputs.All() {
		if _, known := names.Get(key); !known && !open {
			notes = append(notes, warning("the flow does not name the input %q%s", key, value.DidYouMeanSuffix(key, names.Keys())))
		}
	}
	checked := f.Inputs.ApplyDefaults(value.OfMap(inputs))
	if problems := f.Inputs.Check(checked); problems != nil {
		lines := []string{"the inputs do not fit the flow:"}
		for _, p := range problems {
			lines = append(lines, "  "+p.Error())
		}
		return value.Value{}, notes, calls.Errorf(calls.Invalid, "%s", strings.Join(lines, "\n"))
	}
	return checked, notes, nil
}

// ParseInput types text by the schema of the flow's input key. The error is of kind Invalid.
func ParseInput(f *flow.Flow, key, text string) (value.Value, error) {
	v, err := f.Inputs.FromText(key, text)
	if err != nil {
		return v, calls.Errorf(calls.Invalid, "%w", err)
	}
	return v, nil
}

// CheckInputName is an error where the flow names its inputs, and key is none of them.
func CheckInputName(f *flow.Flow, key string) error {
	names, open := inputNames(f)
	if _, known := names.Get(key); known || open || names.Len() == 0 {
		return nil
	}
	return calls.Errorf(calls.NotFound, "the flow has no input %q%s", key, value.DidYouMeanSuffix(key, names.Keys()))
}

// inputNames returns the inputs that the flow names; open is true where it says whether
// there may be others.
func inputNames(f *flow.Flow) (names *value.Map, open bool) {
	properties, _ := f.Inputs.Doc().Get("properties")
	_, open = f.Inputs.Doc().Get("additionalProperties")
	return properties.Map(), open
}
