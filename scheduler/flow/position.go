package flow

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow/internal/yamltext"
)

// Position is a place in a flow file. Line and Col count from 1, Col in
// characters.
type Position struct {
	File      string
	Line, Col int
}

// String is file:line:col.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// flowText is the text of a file whose places have its name.
type flowText struct {
	*yamltext.Text
	file string
}

func newFlowText(file string, src []byte) *flowText { return &flowText{yamltext.New(src), file} }

// position returns the place of a byte as editors show it.
func (t *flowText) position(offset int) Position {
	line, col := t.Place(offset)
	return Position{File: t.file, Line: line, Col: col}
}

// positionOf returns the place of the beginning of a node, including its tag and anchor.
func (t *flowText) positionOf(n *yaml.Node) Position { return t.position(t.Offset(n.Line, n.Column)) }

// positionsWithin returns the place of each byte offset in the decoded text of a scalar: the character's place in
// the file, despite quotes, escapes, folded lines and indentation. The work is done on the first use.
func (t *flowText) positionsWithin(n *yaml.Node) func(offset int) Position {
	places := sync.OnceValue(func() []int { return t.Trace(n) })
	return func(offset int) Position {
		at := places()
		return t.position(at[max(0, min(offset, len(at)-1))])
	}
}

// Places finds places in a YAML file. It is safe for concurrent use.
type Places struct {
	text *flowText

	mu     sync.Mutex
	node   *yaml.Node                // the one that was asked for last; guarded by mu
	within func(offset int) Position // guarded by mu
}

// NewPlaces returns the places of a file with a text.
func NewPlaces(file string, src []byte) *Places { return &Places{text: newFlowText(file, src)} }

// Of returns the place of the beginning of a node, including its tag and anchor.
func (p *Places) Of(n *yaml.Node) Position { return p.text.positionOf(n) }

// Within returns the place of a byte of the decoded text of a scalar.
func (p *Places) Within(n *yaml.Node, offset int) Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.node != n {
		p.node, p.within = n, p.text.positionsWithin(n)
	}
	return p.within(offset)
}

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

// Locate finds the place of an error in a text that the parameters of a step gave; other errors stay unchanged.
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
