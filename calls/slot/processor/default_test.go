package processor_test

import "testing"

// A misfit default is reported if it is the property's own. The default of one branch of a union is not reported.
func TestDefaultsOfBranches(t *testing.T) {
	p := compile(t, `{"type":"object","required":["own","union","free"],
		"definitions":{"a":{"type":"object","required":["t"],"default":{},"properties":{"t":{"enum":["a"]}}}},
		"properties":{"own":{"type":"string","default":7},"free":{"oneOf":[{"type":"integer","default":5},{"type":"string"}]},
		"union":{"oneOf":[{"$ref":"#/definitions/a"},{"type":"object","required":["n"]}]}}}`)
	f := fill(t, p, parse(t, `{}`))
	f.ApplyDefaults()
	if rejected := f.Rejected(); len(rejected) != 1 || rejected[0].Pointer != "/own" || f.Data().JSON() != `{"free":5}` {
		t.Errorf("got %s, rejected %v", f.Data(), rejected)
	}
}
