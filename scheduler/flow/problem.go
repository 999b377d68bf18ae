package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Problems are what is wrong in a flow and its sub-flows: those of a file in the
// order of the file, those of a sub-flow after the flow's. As an error it is one
// line per problem.
type Problems []Problem

// Error returns all of them, a line each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// HasErrors reports whether one is more than a warning.
func (p Problems) HasErrors() bool {
	for i := range p {
		if !p[i].Warning {
			return true
		}
	}
	return false
}

// Errors returns those that are no warnings.
func (p Problems) Errors() Problems { return p.filter(false) }

// Warnings returns those that do not keep a flow from running.
func (p Problems) Warnings() Problems { return p.filter(true) }

// Err returns the errors as an error, or nil without any.
func (p Problems) Err() error {
	if errs := p.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

func (p Problems) filter(warning bool) (some Problems) {
	for i := range p {
		if p[i].Warning == warning {
			some = append(some, p[i])
		}
	}
	return some
}

// MarshalJSON writes {file, line, col, severity, message, hint}.
func (p Problem) MarshalJSON() ([]byte, error) {
	severity := "error"
	if p.Warning {
		severity = "warning"
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		File     string `json:"file"`
		Line     int    `json:"line"`
		Col      int    `json:"col"`
		Severity string `json:"severity"`
		Message  string `json:"message"`
		Hint     string `json:"hint,omitempty"`
	}{p.Pos.File, p.Pos.Line, p.Pos.Col, severity, p.Message, p.Hint})
	return text.Bytes(), err
}

// report collects the problems of one file.
type report struct{ problems Problems }

// add reports an error; the pointer, good until the next add, is there to give it
// a hint.
func (r *report) add(pos Position, format string, args ...any) *Problem {
	r.problems = append(r.problems, Problem{Pos: pos, Message: fmt.Sprintf(format, args...)})
	return &r.problems[len(r.problems)-1]
}

// warn reports a warning.
func (r *report) warn(pos Position, format string, args ...any) *Problem {
	p := r.add(pos, format, args...)
	p.Warning = true
	return p
}

// hint sets the remedy of a problem.
func (p *Problem) hint(format string, args ...any) {
	p.Hint = fmt.Sprintf(format, args...)
}

// Problem is something wrong in a flow, found before anything runs.
type Problem struct {
	Pos     Position
	Warning bool
	Message string
	// Hint is the remedy; "" where the message suffices.
	Hint string
}

// String is file:line:col: message (hint), the form that editors jump by.
func (p Problem) String() string {
	s := p.Pos.String() + ": "
	if p.Warning {
		s += "warning: "
	}
	s += p.Message
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}
