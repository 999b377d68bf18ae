package pongo2tree

import (
	"github.com/flosch/pongo2/v6"

	"github.com/callnode/scheduler/llm/value/wording"
)

// ApplyFilter applies one of pongo2's own filters to plain data of Go; arg is nil for no argument. The caller
// passes only filters, types and sizes that pongo2 handles as documented: many of its filters treat a wrong
// operand as 0 or "", and some run without bounds.
func ApplyFilter(name string, in, arg any) (out any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = wording.Errorf("%s panicked: %v", name, r)
		}
	}()
	v, failed := pongo2.ApplyFilter(name, pongo2.AsValue(in), pongo2.AsValue(arg))
	if failed != nil { // a nil *pongo2.Error would be an error that is not nil
		return nil, failed.OrigError
	}
	return v.Interface(), nil
}
