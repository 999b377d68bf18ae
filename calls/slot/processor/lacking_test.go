package processor_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/slot/processor"
)

// TestLacking: members that an object lacks are asked for by name if the schema names them, and members that
// it has are never asked for.
func TestLacking(t *testing.T) {
	const dependent = `{"type":"object","required":["card"],"properties":{"card":{"type":"string"},"code":{"type":"integer"}},"dependencies":{"card":["code"]}}`
	const contact = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"email":{"type":"string"},"phone":{"type":"string"}},
		"oneOf":[{"required":["name","email"]},{"required":["phone"]}]}`
	for _, c := range []struct{ name, schema, known, answer, data, remains string }{
		{"a dependent member", dependent, `{}`, `{"/card":"x"}`, `{"card":"x"}`, `{"/code":{"type":"integer"}}`},
		{"a dependent member is taken", dependent, `{"card":"x"}`, `{"/code":"7"}`, `{"card":"x","code":7}`, ``},
		{
			"an optional member with a dependent one", `{"properties":{"card":{"type":"string"}},"dependencies":{"card":["code"]}}`,
			`{}`, `{"/card":"x"}`, `{"card":"x"}`, `{"/code":{}}`,
		},
		{"inside a branch", `{"oneOf":[{"required":["k"],"properties":{"k":{"const":1},"a":{"type":"string"}},"dependencies":{"k":["a"]}},{"required":["k"],"properties":{"k":{"const":2}}}]}`,
			`{}`, `{"/k":1}`, `{"k":1}`, `{"/a":{"type":"string"}}`},
		{"below the root", `{"properties":{"pay":` + dependent + `}}`, `{"pay":{"card":"x"}}`, `{}`, `{"pay":{"card":"x"}}`, `{"/pay/code":{"type":"integer"}}`},
		{"one of two members", contact, `{"name":"Lin"}`, `{}`, `{"name":"Lin"}`,
			`{"":{"type":"object","properties":{"name":{"type":"string"},"email":{"type":"string"},"phone":{"type":"string"}},"oneOf":[{"required":["email"]},{"required":["phone"]}]}}`},
		{"one of two members is taken", contact, `{"name":"Lin"}`, `{"/email":"l@x.org"}`, `{"name":"Lin","email":"l@x.org"}`, ``},
		{"both of two members", contact, `{}`, `{"/email":"l@x.org","/name":"Lin","/phone":"123"}`, `{"email":"l@x.org","name":"Lin"}`, ``},
		{"both of two members, and a third is missing", `{"required":["name"],"properties":{"name":{"type":"string"}},"oneOf":[{"required":["email"]},{"required":["phone"]}]}`, `{}`, `{"/phone":"123","/email":"l@x.org"}`, `{"phone":"123"}`, `{"/name":{"type":"string"}}`},
		{"a branch that the kind rules out", `{"anyOf":[{"required":["k","a"],"properties":{"k":{"const":1}}},{"required":["b"]},{"required":["c"]}]}`, `{"k":2}`, `{}`, `{"k":2}`,
			`{"":{"anyOf":[{"required":["b"]},{"required":["c"]}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fill(t, compile(t, c.schema), parse(t, c.known))
			f.Take(parse(t, c.answer), processor.User)
			remains := strings.TrimPrefix(get(f.Remaining(), "properties").JSON(), "null")
			if f.Data().JSON() != c.data || remains != c.remains {
				t.Errorf("got %s, remaining %s, rejected %v", f.Data(), remains, f.Rejected())
			}
		})
	}
}
