package prompt

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
	"github.com/callnode/scheduler/llm/value"
)

// node is a compiled expression: one of the types below. Nodes are immutable; everything that
// changes is in the machine.
type node interface {
	// pos returns the offset of the node in the source.
	pos() int
}

type position int

func (p position) pos() int { return int(p) }

type (
	constNode struct {
		position
		v    py.Val
		stop int // where a text ends in the source
	}
	nameNode struct {
		position
		name string
		slot int // where the machine remembers an outer name
	}
	attrNode struct {
		position
		obj    node
		name   string
		path   string // as written, for messages
		method bool   // a dict has a method of this name
	}
	itemNode struct {
		position
		obj, key node
	}
	sliceNode struct {
		position
		obj               node
		start, stop, step node // nil where left out
	}
	callNode struct {
		position
		fn   node
		args []argument
	}
	filterNode struct {
		position
		in   node
		name string
		def  *builtins.Def
		args []argument
	}
	testNode struct {
		position
		in   node
		name string
		def  *builtins.Def
		args []argument
		not  bool
	}
	unaryNode struct {
		position
		op byte
		x  node
	}
	binaryNode struct {
		position
		op   string
		a, b node
	}
	concatNode struct {
		position
		parts []node
	}
	compareNode struct {
		position
		first node
		ops   []string
		rest  []node
	}
	logicNode struct {
		position
		or   bool
		a, b node
	}
	condNode struct {
		position
		cond, yes, no node // no may be nil
	}
	listNode struct {
		position
		items []node
		tuple bool
	}
	dictNode struct {
		position
		keys, vals []node
	}
)

// argument is one argument of a call, by place or by name.
type argument struct {
	name string // "" by place
	x    node
}

// stmt is a compiled statement: one of the types below.
type stmt any

type (
	ifStmt struct {
		conds []node
		place value.ByteRange // of the statement in the source
	}
	setStmt struct {
		position
		target *assignTarget
		x      node
	}
	setBlockStmt struct {
		position
		target *assignTarget
		filter node
	}
	filterStmt struct {
		position
		chain node
		stop  int // where the chain ends in the source
	}
	withStmt struct {
		targets []*assignTarget
		values  []node
	}
	// bodyNode is what the body of a filter block wrote.
	bodyNode struct{ position }
)

type forStmt struct {
	target     *assignTarget
	iter, cond node // cond may be nil
	recursive  bool
	place      value.ByteRange // of the statement in the source
}

// macroStmt defines a macro; with call, it is the body of a call block.
type macroStmt struct {
	position
	name   string
	params []param
	caller bool // the body mentions caller
	call   *callNode
	stop   int // where the call ends in the source
}

type param struct {
	name     string
	fallback node
}

type callStmt struct{ *macroStmt }

func (s *macroStmt) hasParam(name string) bool {
	for _, p := range s.params {
		if p.name == name {
			return true
		}
	}
	return false
}

// program holds what the numbers in the tree for pongo2 refer to.
type program struct {
	runs  []outputRun
	stmts []stmt
	// lenient tells that what is undefined is empty: see [Options].
	lenient bool
	slots   *nameTable
}

func (p *program) slotOf(name string) int { return p.slots.names[name] }

// outputRun is a piece of a template without statements: text and expressions.
type outputRun []segment

type segment struct {
	text string // where x is nil
	x    node
	// The bytes of the text or the expression in the source.
	off, stop int
}

// jumpStmt is break or continue.
type jumpStmt struct{ isBreak bool }

// constPath returns the name and constant members that a reference consists of.
func constPath(n node) ([]string, bool) {
	switch n := n.(type) {
	case *nameNode:
		return []string{n.name}, true
	case *attrNode:
		if p, ok := constPath(n.obj); ok {
			return append(p, n.name), true
		}
	case *itemNode:
		c, isConst := n.key.(*constNode)
		if !isConst {
			return nil, false
		}
		if p, ok := constPath(n.obj); ok {
			key := py.Text(c.v.V)
			_, isStr := c.v.V.Str()
			_, isInt := c.v.V.Int()
			isKey := isStr || isInt
			return append(p, key), isKey && c.v.Py() == nil
		}
	}
	return nil, false
}

// childNodes returns the expressions right below a node, in the order of the source.
func childNodes(n node) []node {
	var out []node
	add := func(nodes ...node) {
		for _, c := range nodes {
			if c != nil {
				out = append(out, c)
			}
		}
	}
	arguments := func(args []argument) {
		for _, a := range args {
			add(a.x)
		}
	}
	switch n := n.(type) {
	case *attrNode:
		add(n.obj)
	case *itemNode:
		add(n.obj, n.key)
	case *sliceNode:
		add(n.obj, n.start, n.stop, n.step)
	case *callNode:
		add(n.fn)
		arguments(n.args)
	case *filterNode:
		add(n.in)
		arguments(n.args)
	case *testNode:
		add(n.in)
		arguments(n.args)
	case *unaryNode:
		add(n.x)
	case *binaryNode:
		add(n.a, n.b)
	case *concatNode:
		add(n.parts...)
	case *compareNode:
		add(n.first)
		add(n.rest...)
	case *logicNode:
		add(n.a, n.b)
	case *condNode:
		add(n.yes, n.cond, n.no)
	case *listNode:
		add(n.items...)
	case *dictNode:
		for i := range n.keys {
			add(n.keys[i], n.vals[i])
		}
	}
	return out
}

// pathText returns the dotted form of a reference; "" for any other node.
func pathText(n node) string {
	switch n := n.(type) {
	case *nameNode:
		return n.name
	case *attrNode:
		return n.path
	case *itemNode:
		if c, ok := n.key.(*constNode); ok {
			return py.ItemPath(pathText(n.obj), c.v)
		}
		if p := pathText(n.key); p != "" {
			return pathText(n.obj) + "[" + p + "]"
		}
		return pathText(n.obj) + "[...]"
	}
	return ""
}

// assignTarget is what a value is assigned to: a name, a member of a namespace, or
// several targets.
type assignTarget struct {
	name  string
	attr  string
	parts []*assignTarget
	off   int
}

func (t *assignTarget) assignedNames() []string {
	var names []string
	if t.attr == "" && t.name != "" {
		names = append(names, t.name)
	}
	for _, part := range t.parts {
		names = append(names, part.assignedNames()...)
	}
	return names
}

func (t *assignTarget) assignsTo(name string) bool { return slices.Contains(t.assignedNames(), name) }

// allNames lists the names that a target assigns to, or to a member of.
func (t *assignTarget) allNames() []string {
	names := []string{}
	if t.name != "" {
		names = append(names, t.name)
	}
	for _, part := range t.parts {
		names = append(names, part.allNames()...)
	}
	return names
}

// nameTable numbers the outer names of a template, so that each is looked up once in
// a rendering.
type nameTable struct {
	names    map[string]int
	mentions []string // every mention, in order
}

func newSlots() *nameTable { return &nameTable{names: map[string]int{}} }

func (s *nameTable) slotOf(name string) int {
	s.mentions = append(s.mentions, name)
	i, ok := s.names[name]
	if !ok {
		i = len(s.names)
		s.names[name] = i
	}
	return i
}
