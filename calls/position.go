package calls

import (
	"fmt"
	"strings"
)

// PositionError is an error with its place in a text that a call takes literally: a template, a condition. The
// engine turns the place into one of the flow file, or of the file that the text was read from.
type PositionError struct {
	// Pointer is the RFC 6901 pointer of the text in the parameters.
	Pointer string
	// Offset is the byte in the text, Line and Col are the same place, from 1.
	Offset, Line, Col int
	// Err is the error, without the place.
	Err error
}

// Error returns parameter:line:col: error.
func (e *PositionError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", strings.TrimPrefix(e.Pointer, "/"), e.Line, e.Col, e.Err)
}

// Unwrap returns the error without the place.
func (e *PositionError) Unwrap() error { return e.Err }
