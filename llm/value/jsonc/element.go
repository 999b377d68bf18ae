package jsonc

import (
	"bytes"

	"github.com/tailscale/hujson"

	"github.com/callnode/scheduler/llm/value"
)

// Element is a value in a text with its place, as needed to read JSON as a part of another format.
type Element struct {
	// Start is the offset of its first byte.
	Start int
	// Kind is the type: value.Object, value.List, or a scalar's kind.
	Kind value.Kind
	// Raw is the text of a scalar as written, Text a string's decoded text.
	Raw, Text string
	// Items are the elements of a list, and the names and members of an object in turn.
	Items []Element
}

// ParseElements reads exactly one value; a key may occur twice. Errors are of type *[Error].
func ParseElements(data []byte) (Element, error) {
	d := &Document{text: string(data)}
	if wrong := value.FindEncodingError(data); wrong != nil {
		message, _ := wrong.Text()
		return Element{}, d.newError(wrong.Offset, "%s", message)
	}
	if i := tooDeep(data); i >= 0 {
		return Element{}, d.newError(i, "nested too deep")
	}
	tree, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		return Element{}, d.libraryError(err)
	}
	if err := d.checkPairs(&tree); err != nil {
		return Element{}, err
	}
	return elementOf(&tree), nil
}

func elementOf(v *hujson.Value) Element {
	e := Element{Start: v.StartOffset}
	switch x := v.Value.(type) {
	case *hujson.Object:
		e.Kind = value.Object
		for i := range x.Members {
			e.Items = append(e.Items, elementOf(&x.Members[i].Name), elementOf(&x.Members[i].Value))
		}
	case *hujson.Array:
		e.Kind = value.List
		for i := range x.Elements {
			e.Items = append(e.Items, elementOf(&x.Elements[i]))
		}
	case hujson.Literal:
		e.Raw = string(x)
		scalar, _ := value.ParseJSON(x) // the library has checked it
		e.Kind = scalar.Kind()
		e.Text, _ = scalar.Str()
	}
	return e
}
