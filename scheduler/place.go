package scheduler

import (
	"errors"
	"path/filepath"
	"strconv"
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
	node, _, found := walkTo(o.root, pointer)
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
	at  *calls.At
}

func (e *unplaced) Error() string {
	return strings.Replace(e.err.Error(), e.at.Error(), e.at.Err.Error(), 1)
}

func (e *unplaced) Unwrap() error { return e.err }

// placed finds the place of an error in a text that the parameters of a step
// gave; other errors stay as they are.
func placed(err error, with *Param) error {
	var at *calls.At
	if with == nil || !errors.As(err, &at) {
		return err
	}
	pos, exact := with.Place(at.Pointer, at.Offset)
	if exact {
		err = &unplaced{err, at}
	}
	return &placedError{pos, err}
}

// walkTo goes down from n to the node that a JSON pointer names, with its key
// where it is a member of a map; where there is no such node, to the nearest one
// around it.
func walkTo(n *yaml.Node, pointer string) (node, key *yaml.Node, found bool) {
	node = n
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = ""; more {
			pointer = "/" + rest
		}
		name := pointerToken.Replace(token)
		var next, nextKey *yaml.Node
		switch r := yaml.Resolve(node); r.Kind {
		case yaml.Mapping:
			for i := 0; i < len(r.Content) && next == nil; i += 2 {
				if k := yaml.Resolve(r.Content[i]); k.Kind == yaml.Scalar && k.Value == name {
					nextKey, next = r.Content[i], r.Content[i+1]
				}
			}
		case yaml.Sequence:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(r.Content) {
				next = r.Content[i]
			}
		}
		if next == nil {
			return node, key, false
		}
		node, key = next, nextKey
	}
	return node, key, true
}

// pointerToken undoes the escapes of a JSON pointer.
var pointerToken = strings.NewReplacer("~1", "/", "~0", "~")
