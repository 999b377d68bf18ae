package flow

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// A value that overrides a parameter arrives unchanged.
func TestValueNode(t *testing.T) {
	for _, text := range []string{"a\x7fb", "\u0085", "\ufeffx", "\x00", "a\u2028b", "{", "x: y", "😀", "\x1b[31m", "{{ x }}"} {
		n, err := valueNode(value.OfString(text), &yaml.Node{Line: 3, Column: 4})
		if err != nil {
			t.Fatal(err)
		}
		if n.Value != text || n.Tag != "!!str" || n.Line != 3 {
			t.Errorf("%q became %q (%s)", text, n.Value, n.Tag)
		}
	}
}
