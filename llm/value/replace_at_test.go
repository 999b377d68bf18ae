package value_test

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

func TestReplaceAt(t *testing.T) {
	const doc = `{"a":[1,{"b":2}],"c/d":3}`
	for _, c := range []struct {
		pointer, want string
		ok            bool
	}{
		{"", `"x"`, true},
		{"/a/0", `{"a":["x",{"b":2}],"c/d":3}`, true},
		{"/a/1/b", `{"a":[1,{"b":"x"}],"c/d":3}`, true},
		{"/a/1/new", `{"a":[1,{"b":2,"new":"x"}],"c/d":3}`, true},
		{"/c~1d", `{"a":[1,{"b":2}],"c/d":"x"}`, true},
		{"/e", `{"a":[1,{"b":2}],"c/d":3,"e":"x"}`, true},
		{"/a/2", doc, false},
		{"/a/-", doc, false},
		{"/a/00", doc, false},
		{"/e/f", doc, false},
		{"/c~1d/x", doc, false},
		{"a", doc, false},
	} {
		v, err := value.ParseJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := v.ReplaceAt(c.pointer, value.OfString("x"))
		if got.JSON() != c.want || ok != c.ok {
			t.Errorf("ReplaceAt(%q) = %s, %v; want %s, %v", c.pointer, got.JSON(), ok, c.want, c.ok)
		}
		if v.JSON() != doc {
			t.Errorf("ReplaceAt(%q) changed the value: %s", c.pointer, v.JSON())
		}
	}
}
