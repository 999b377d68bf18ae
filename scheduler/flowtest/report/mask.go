package report

import (
	"reflect"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// MaskRun returns a copy of a run with every text in it masked.
func MaskRun(run *result.Run, mask func(text string) string) *result.Run { return masked(run, mask) }

// masked returns a copy of the value of a pointer, with every text in it masked. Unexported fields stay as they
// are: results have only exported fields.
func masked[T any](from *T, mask func(string) string) *T {
	if from == nil {
		return nil
	}
	to := new(T)
	copyMasked(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem(), mask)
	return to
}

// copyMasked sets to to from, with all below it copied and every text masked.
func copyMasked(to, from reflect.Value, mask func(string) string) {
	to.Set(from)
	switch from.Kind() {
	case reflect.String:
		to.SetString(mask(from.String()))
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyMasked(to.Elem(), from.Elem(), mask)
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		}
		for i := range from.Len() {
			copyMasked(to.Index(i), from.Index(i), mask)
		}
	case reflect.Struct:
		for i := range from.NumField() {
			if to.Field(i).CanSet() {
				copyMasked(to.Field(i), from.Field(i), mask)
			}
		}
	default: // numbers and truth values
	}
}
