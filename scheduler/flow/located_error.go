package flow

import (
	"errors"
	"strings"

	"github.com/callnode/scheduler/calls"
)

// unplaced is an error without the place in it, for which there is a better one.
type unplaced struct {
	err error
	at  *calls.PositionError
}

func (e *unplaced) Error() string {
	return strings.Replace(e.err.Error(), e.at.Error(), e.at.Err.Error(), 1)
}

// In returns the message in a language.
func (e *unplaced) In(language string) string {
	return strings.Replace(calls.MessageIn(e.err, language), calls.MessageIn(e.at, language), calls.MessageIn(e.at.Err, language), 1)
}

func (e *unplaced) Unwrap() error { return e.err }

// Locate finds the place of an error in a text that the parameters of a step
// gave; other errors stay as they are.
func Locate(err error, with *Param) error {
	var at *calls.PositionError
	if with == nil || !errors.As(err, &at) {
		return err
	}
	pos, exact := with.Place(at.Pointer, at.Offset)
	if exact {
		err = &unplaced{err, at}
	}
	return &LocatedError{Pos: pos, Err: err}
}

// LocatedError is an error with its place in the flow file. It does not change.
type LocatedError struct {
	Pos Position
	Err error
}

func (e *LocatedError) Error() string { return e.Err.Error() }
func (e *LocatedError) Unwrap() error { return e.Err }
