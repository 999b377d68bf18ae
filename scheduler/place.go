package scheduler

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
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
	at, _ := descend(p, pointer)
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

// placed finds the place of an error in a text that the parameters of a step
// gave; other errors stay as they are.
func placed(err error, with *Param) error {
	var at *calls.PositionError
	if with == nil || !errors.As(err, &at) {
		return err
	}
	pos, exact := with.Place(at.Pointer, at.Offset)
	if exact {
		err = &unplaced{err, at}
	}
	return &placedError{pos, err}
}

// pointerToken undoes the escapes of a JSON pointer.
var pointerToken = strings.NewReplacer("~1", "/", "~0", "~")
