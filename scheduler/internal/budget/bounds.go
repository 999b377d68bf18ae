package budget

import (
	"errors"
	"sync/atomic"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Bounds bound a whole run with its sub-flows: the steps that it begins, and the bytes
// that it holds. [Holder] counts for them. They are safe for concurrent use.
type Bounds struct {
	maxSteps, maxBytes int64
	steps, bytes       atomic.Int64
}

// NewBounds returns the bounds of a run that has begun no step.
func NewBounds(maxSteps, maxBytes int64) *Bounds {
	return &Bounds{maxSteps: maxSteps, maxBytes: maxBytes}
}

// Restore counts steps that earlier processes have begun.
func (b *Bounds) Restore(steps int) { b.steps.Add(int64(steps)) }

// boundError is an error that the whole run ends with, even if a step handles its own errors.
type boundError struct{ err error }

func (e *boundError) Error() string { return e.err.Error() }
func (e *boundError) Unwrap() error { return e.err }

// IsExceeded reports whether the error reports an exceeded bound of the run.
func IsExceeded(err error) bool {
	var bound *boundError
	return errors.As(err, &bound)
}

// Holder counts the memory that a flow, a step or a part of one holds, and the steps that begin in it. The engine
// has one in each, for as long as that runs. It is safe for concurrent use once it is set up.
type Holder struct {
	bounds   *Bounds
	outer    *Holder
	bytes    atomic.Int64
	exceeded atomic.Pointer[boundError]
}

// SetUp has the holder count for the bounds; outer is the holder around this one, or nil.
func (h *Holder) SetUp(bounds *Bounds, outer *Holder) { h.bounds, h.outer = bounds, outer }

// AddStep counts a step that begins.
func (h *Holder) AddStep() error {
	if h.bounds.steps.Add(1) <= h.bounds.maxSteps {
		return h.Exceeded()
	}
	return h.exceed(calls.Errorf(calls.Budget, "step limit of %d reached (items and sub-flow steps count)", h.bounds.maxSteps).
		WithHint("check that no flow runs itself without an end, or raise run.max_steps in the settings"))
}

// Hold counts bytes that are held from now on, until [Holder.Free] or [Holder.Release].
func (h *Holder) Hold(size int64) error {
	h.bytes.Add(size)
	if h.bounds.bytes.Add(size) <= h.bounds.maxBytes {
		return h.Exceeded()
	}
	return h.exceed(calls.Errorf(calls.Budget, "the outputs of the run need more than %d bytes", h.bounds.maxBytes).
		WithHint("make steps return less, or raise run.max_output_bytes in the settings"))
}

// Free counts bytes that are not held any more.
func (h *Holder) Free(size int64) {
	h.bytes.Add(-size)
	h.bounds.bytes.Add(-size)
}

// Release frees all that is still held.
func (h *Holder) Release() { h.bounds.bytes.Add(-h.bytes.Swap(0)) }

// exceed keeps the error in all holders around too: a call may ignore it, but its step still ends with it.
func (h *Holder) exceed(err error) error {
	bound := &boundError{err}
	for ; h != nil; h = h.outer {
		h.exceeded.CompareAndSwap(nil, bound)
	}
	return bound
}

// Exceeded returns the error of the first bound that was exceeded in here; nil if none was.
func (h *Holder) Exceeded() error {
	if bound := h.exceeded.Load(); bound != nil {
		return bound
	}
	return nil
}

// nodeSize is roughly the memory of a value besides its text, in bytes.
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
