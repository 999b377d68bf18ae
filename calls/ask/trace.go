package ask

import (
	"reflect"
	"strings"

	"github.com/callnode/scheduler/calls"
)

// tracer takes the text of a template. A template writes each piece of its own text
// and each value at once: what is written tells what it is.
type tracer struct {
	own   string            // what the template is called
	names map[string]string // of the texts in the data
	text  strings.Builder
	parts []calls.Part
}

// learn notes the texts in the data by the names of their fields.
func (t *tracer) learn(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		t.learn(name, v.Elem())
	case reflect.String:
		if _, known := t.names[v.String()]; !known {
			t.names[v.String()] = strings.ToLower(name)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			t.learn(name, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if key.Kind() == reflect.String {
				t.learn(key.String(), v.MapIndex(key))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				t.learn(v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
}

// Write takes one piece.
func (t *tracer) Write(piece []byte) (int, error) {
	if len(piece) == 0 {
		return 0, nil
	}
	part := calls.Part{Kind: "text", Name: t.own, Message: new(int), Start: t.text.Len(), Included: true}
	if name, ok := t.names[string(piece)]; ok && name != "" {
		part.Kind, part.Name = name, name
	}
	t.text.Write(piece)
	part.End = t.text.Len()
	if last := len(t.parts) - 1; last >= 0 && part.Kind == "text" && t.parts[last].Kind == "text" {
		t.parts[last].End = part.End
	} else {
		t.parts = append(t.parts, part)
	}
	return len(piece), nil
}

// result is the text without the last newline of the file, and its parts.
func (t *tracer) result() (string, []calls.Part) {
	text := strings.TrimSuffix(t.text.String(), "\n")
	if last := len(t.parts) - 1; last >= 0 {
		t.parts[last].End = min(t.parts[last].End, len(text))
	}
	return text, t.parts
}
