package flow

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// origin is what the places in the parameters of a step are found by.
type origin struct {
	text  *flowText
	root  *yaml.Node
	files map[string][]byte // what !file reads
}

// Place is where a byte of the text at a JSON pointer into the value stands: in
// the flow file, or in the file that !file names. Where the text is made when the
// flow runs it is where the flow makes it, and not exact. p has the parameters of
// a step.
func (p *Param) Place(pointer string, offset int) (pos Position, exact bool) {
	if p == nil {
		return Position{}, false
	}
	at, _ := Descend(p, pointer)
	if at.Expr == nil && at.Text == nil && p.origin != nil {
		if pos, exact := p.origin.place(pointer, offset); exact {
			return pos, true
		}
	}
	return at.Pos, false
}

func (o *origin) place(pointer string, offset int) (pos Position, exact bool) {
	node, _, found := yaml.Walk(o.root, pointer)
	node = yaml.Resolve(node)
	if !found || node.Kind != yaml.Scalar {
		return Position{}, false
	}
	if ownTag(node) != "!file" {
		return o.text.within(node)(offset), true
	}
	path := filepath.Join(filepath.Dir(o.text.file), filepath.FromSlash(node.Value))
	content, known := o.files[path]
	if !known || dataType(path) != "" {
		return Position{}, false
	}
	return newFlowText(path, content).position(offset), true
}

// unplaced is an error without the place in it, for which there is a better one.
type unplaced struct {
	err error
	at  *calls.PositionError
}

func (e *unplaced) Error() string {
	return strings.Replace(e.err.Error(), e.at.Error(), e.at.Err.Error(), 1)
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

// LocatedError is an error with its place in the flow file.
type LocatedError struct {
	Pos Position
	Err error
}

func (e *LocatedError) Error() string { return e.Err.Error() }
func (e *LocatedError) Unwrap() error { return e.Err }

// Descend follows pointer into the flow's tree of parameters as far as it is
// written out there; rest is the pointer inside the value of what it came to.
func Descend(p *Param, pointer string) (at *Param, rest string) {
	for pointer != "" {
		token, tail, _ := strings.Cut(pointer[1:], "/")
		if tail != "" {
			tail = "/" + tail
		}
		var next *Param
		for _, m := range p.Map {
			if value.Escape(m.Key) == token {
				next = m.Param
			}
		}
		if i, err := strconv.Atoi(token); err == nil && i < len(p.List) {
			next = p.List[i]
		}
		if next == nil {
			return p, pointer
		}
		p, pointer = next, tail
	}
	return p, ""
}

// PosAt is where the param gives the value at a JSON pointer, or the nearest around
// it.
func (p *Param) PosAt(pointer string) Position {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		next := (*Param)(nil)
		for i := range p.Map {
			if value.Escape(p.Map[i].Key) == token {
				next = p.Map[i].Param
			}
		}
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(p.List) {
			next = p.List[i]
		}
		if next == nil {
			break
		}
		p = next
	}
	return p.Pos
}

// pointerToken undoes the escapes of a JSON pointer.
var pointerToken = strings.NewReplacer("~1", "/", "~0", "~")

func PointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i := range list {
		list[i] = pointerToken.Replace(list[i])
	}
	return list
}
