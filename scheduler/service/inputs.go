package service

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// UnknownInputs returns warnings of inputs that the flow does not name: JSON Schema lets them pass, but
// most of them are typing mistakes.
func UnknownInputs(f *flow.Flow, inputs *value.Map) (notes []Note) {
	names, open := inputNames(f)
	for key := range inputs.All() {
		if _, known := names.Get(key); !known && !open {
			notes = append(notes, newWarning("the flow does not name the input %q%s", key, value.DidYouMeanOrListSuffix(key, names.Keys())))
		}
	}
	return notes
}

// CheckInputs applies the defaults of the flow to inputs and checks them. The notes come from [UnknownInputs].
func CheckInputs(f *flow.Flow, inputs *value.Map) (value.Value, []Note, error) {
	notes := UnknownInputs(f, inputs)
	checked := f.Inputs.ApplyDefaults(value.OfMap(inputs))
	if problems := f.Inputs.Check(checked); problems != nil {
		lines := make([]wording.Text, len(problems))
		for i, p := range problems {
			lines[i] = wording.Text{En: "  " + p.Error(), Zh: "  " + p.In("zh")}
		}
		err := calls.Errorf(calls.Invalid, "the inputs do not fit the flow:\n%s", wording.Join(lines, "\n", "\n"))
		if missing := MissingInputs(f, inputs); missing != nil {
			err = err.WithHint("give it with %s", inputFlags(missing))
		}
		return value.Value{}, notes, err
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

// CheckInputName returns an error if the flow names its inputs, and key is not among them.
func CheckInputName(f *flow.Flow, key string) error {
	names, open := inputNames(f)
	if _, known := names.Get(key); known || open || names.Len() == 0 {
		return nil
	}
	return calls.Errorf(calls.NotFound, "the flow has no input %q%s", key, value.DidYouMeanOrListSuffix(key, names.Keys()))
}

// inputNames returns the inputs that the flow names; open is true if the flow allows others.
func inputNames(f *flow.Flow) (names *value.Map, open bool) {
	properties, _ := f.Inputs.Doc().Get("properties")
	_, open = f.Inputs.Doc().Get("additionalProperties")
	return properties.Map(), open
}

// MissingInputs returns the inputs at the top that the flow requires and that have neither a value nor a default,
// in the form in which a step waits for values; nil for none. Its Step is "".
func MissingInputs(f *flow.Flow, inputs *value.Map) *journal.WaitingFor {
	doc := f.Inputs.Doc()
	given := f.Inputs.ApplyDefaults(value.OfMap(inputs))
	required, _ := doc.Get("required")
	properties, _ := doc.Get("properties")
	wanted := value.NewMap(1)
	var pointers []string
	for _, name := range required.List() {
		key, _ := name.Str()
		if _, ok := given.Get(key); ok {
			continue
		}
		property, _ := properties.Get(key)
		pointer := "/" + value.Escape(key)
		wanted.Set(pointer, property)
		pointers = append(pointers, pointer)
	}
	if len(pointers) == 0 {
		return nil
	}
	schema := value.Pairs("type", "object", "properties", value.OfMap(wanted), "required", pointers)
	for _, name := range []string{"definitions", "$defs"} {
		if part, ok := doc.Get(name); ok {
			schema.Set(name, part)
		}
	}
	return &journal.WaitingFor{RemainingSchema: value.OfMap(schema)}
}

// inputFlags returns the flags of the command line that give inputs.
func inputFlags(missing *journal.WaitingFor) string {
	var flags []string
	for _, pointer := range missing.Pointers() {
		name := value.Unescape(strings.TrimPrefix(pointer, "/"))
		if name == "question" {
			flags = append(flags, "--question TEXT")
			continue
		}
		flags = append(flags, fmt.Sprintf("-i %s=VALUE", name))
	}
	return strings.Join(flags, " ")
}

// SetInput puts a value at a pointer into inputs, and makes the objects around it.
func SetInput(inputs *value.Map, pointer string, v value.Value) {
	first, rest, isInside := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	key := value.Unescape(first)
	if !isInside {
		inputs.Set(key, v)
		return
	}
	around, _ := inputs.Get(key)
	members := around.Map().Clone()
	SetInput(members, "/"+rest, v)
	inputs.Set(key, value.OfMap(members))
}
