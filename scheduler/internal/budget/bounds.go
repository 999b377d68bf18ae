package budget

import (
	"errors"
	"sync/atomic"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Bounds bound a whole run with its sub-flows: the steps that it begins, and the outputs
// that it holds. It is safe for concurrent use.
type Bounds struct {
	maxSteps, maxBytes int64
	steps, bytes       atomic.Int64
}

// NewBounds returns the bounds of a run that has begun no step.
func NewBounds(maxSteps, maxBytes int64) *Bounds {
	return &Bounds{maxSteps: maxSteps, maxBytes: maxBytes}
}

// boundError is an error that the whole run ends with, whatever a step does about its own
// errors.
type boundError struct{ err error }

func (e *boundError) Error() string { return e.err.Error() }
func (e *boundError) Unwrap() error { return e.err }

// IsExceeded reports whether the error is that of a bound of the run.
func IsExceeded(err error) bool {
	var bound *boundError
	return errors.As(err, &bound)
}

// Restore counts steps that earlier processes have begun.
func (b *Bounds) Restore(steps int) { b.steps.Add(int64(steps)) }

// AddStep counts a step that begins.
func (b *Bounds) AddStep() error {
	if b.steps.Add(1) <= b.maxSteps {
		return nil
	}
	return &boundError{calls.Errorf(calls.Budget, "step limit of %d reached (items and sub-flow steps count)", b.maxSteps).
		WithHint("check that no flow runs itself without an end, or raise run.max_steps in the settings")}
}

// Hold counts the size of an output that the run holds from now on, until [Bounds.Free].
func (b *Bounds) Hold(size int64) error {
	if b.bytes.Add(size) <= b.maxBytes {
		return nil
	}
	return &boundError{calls.Errorf(calls.Budget, "the outputs of the run need more than %d bytes", b.maxBytes).
		WithHint("make steps return less, or raise run.max_output_bytes in the settings")}
}

// Free counts what is not held any more.
func (b *Bounds) Free(size int64) { b.bytes.Add(-size) }

// nodeSize is what a value needs beside its text, in bytes: roughly.
const nodeSize = 16

// SizeOf returns how many bytes a value needs, roughly.
func SizeOf(v value.Value) int64 {
	size := int64(nodeSize)
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		size += int64(len(text))
	case value.List:
		for _, item := range v.List() {
			size += SizeOf(item)
		}
	case value.Object:
		for key, member := range v.Map().All() {
			size += int64(len(key)) + SizeOf(member)
		}
	}
	return size
}
