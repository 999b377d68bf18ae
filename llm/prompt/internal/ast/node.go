// Package ast has the syntax tree of a template: expressions, statements and the program that they form. Package
// syntax makes it, package refs reads it, and package eval runs it. It is only data. For example, {{ a | upper }}
// becomes a FilterNode applied to a name.
package ast

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// Node is a compiled expression: one of the types below. Nodes are immutable; everything that
// changes is in the evaluator.
type Node interface {
	// Pos returns the offset of the node in the source.
	Pos() int
}

// Position is an offset in the source. Nodes and statements embed it.
type Position int

// Pos returns the offset.
func (p Position) Pos() int { return int(p) }

type (
	// ConstNode is a constant, or a function of the program.
	ConstNode struct {
		Position
		V    pyvalue.Val
		Stop int // the end of a text in the source
	}
	// NameNode is a name.
	NameNode struct {
		Position
		Name string
		Slot int // the evaluator's slot for an outer name
	}
	// AttrNode is a member after a dot.
	AttrNode struct {
		Position
		Obj  Node
		Name string
		Path string // as written, for messages
	}
	// ItemNode is a member in brackets.
	ItemNode struct {
		Position
		Obj, Key Node
	}
	// SliceNode is a part of a list or a text, as in x[1:3].
	SliceNode struct {
		Position
		Obj               Node
		Start, Stop, Step Node // nil if left out
	}
	// CallNode is the call of a function, a method or a macro.
	CallNode struct {
		Position
		Fn   Node
		Args []Argument
	}
	// FilterNode is a filter with its operand, which is nil in a filter block.
	FilterNode struct {
		Position
		In   Node
		Name string
		Def  *builtins.Def
		Args []Argument
	}
	// TestNode is a test, as in x is defined.
	TestNode struct {
		Position
		In   Node
		Name string
		Def  *builtins.Def
		Args []Argument
		Not  bool
	}
	// UnaryNode is a sign or not.
	UnaryNode struct {
		Position
		Op byte
		X  Node
	}
	// BinaryNode is an arithmetic operation.
	BinaryNode struct {
		Position
		Op   string
		A, B Node
	}
	// ConcatNode joins texts with ~.
	ConcatNode struct {
		Position
		Parts []Node
	}
	// CompareNode is a chain of comparisons.
	CompareNode struct {
		Position
		First Node
		Ops   []string
		Rest  []Node
	}
	// LogicNode is and, or or.
	LogicNode struct {
		Position
		Or   bool
		A, B Node
	}
	// CondNode is an inline if.
	CondNode struct {
		Position
		Cond, Yes, No Node // no may be nil
	}
	// ListNode is a list or a tuple.
	ListNode struct {
		Position
		Items []Node
		Tuple bool
	}
	// DictNode is a dict.
	DictNode struct {
		Position
		Keys, Vals []Node
	}
)

// Argument is one argument of a call, by place or by name.
type Argument struct {
	Name string // "" by place
	X    Node
}

// Stmt is a compiled statement: one of the types below.
type Stmt any

type (
	// IfStmt is {% if %} with its branches.
	IfStmt struct {
		Conds []Node
		Place value.ByteRange // of the statement in the source
	}
	// SetStmt is {% set x = ... %}.
	SetStmt struct {
		Position
		Target *AssignTarget
		X      Node
	}
	// SetBlockStmt is {% set x %} with a body.
	SetBlockStmt struct {
		Position
		Target *AssignTarget
		Filter Node
	}
	// FilterStmt is {% filter %}.
	FilterStmt struct {
		Position
		Chain Node
		Stop  int // the end of the chain in the source
	}
	// WithStmt is {% with %}.
	WithStmt struct {
		Targets []*AssignTarget
		Values  []Node
	}
	// BodyNode is the text that the body of a filter block wrote.
	BodyNode struct{ Position }
)

// ForStmt is {% for %}.
type ForStmt struct {
	Target     *AssignTarget
	Iter, Cond Node // cond may be nil
	Recursive  bool
	ForLoop    bool            // the body mentions forloop
	Place      value.ByteRange // of the statement in the source
}

// MacroStmt defines a macro; with call, it is the body of a call block.
type MacroStmt struct {
	Position
	Name   string
	Params []Param
	Caller bool // the body mentions caller
	Call   *CallNode
	Stop   int // the end of the call in the source
}

// Param is a parameter of a macro.
type Param struct {
	Name     string
	Fallback Node
}

// CallStmt is {% call %}.
type CallStmt struct{ *MacroStmt }

// HasParam reports whether the macro has a parameter of that name.
func (s *MacroStmt) HasParam(name string) bool {
	for _, p := range s.Params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// Program holds the statements to which the numbers in the tree for pongo2 refer.
type Program struct {
	Runs  []OutputRun
	Stmts []Stmt
	// Lenient makes undefined names empty: see Options of package syntax.
	Lenient bool
	Slots   *NameTable
}

// SlotOf returns the number of an outer name.
func (p *Program) SlotOf(name string) int { return p.Slots.Names[name] }

// OutputRun is a piece of a template without statements: text and expressions.
type OutputRun []Segment

// Segment is a text or an expression of a run.
type Segment struct {
	Text string // if x is nil
	X    Node
	// The bytes of the text or the expression in the source.
	Off, Stop int
	// Origin is that of the text, made once: a traced rendering writes it many times.
	Origin *trace.Origin
}

// TextSegment returns the segment of a text that begins at a byte of the source.
func TextSegment(text string, off int) Segment {
	stop := off + len(text)
	return Segment{Text: text, Off: off, Stop: stop, Origin: trace.LiteralOrigin(off, stop, true)}
}

// JumpStmt is break or continue.
type JumpStmt struct{ IsBreak bool }

// ConstPath returns the name and constant members that a reference consists of.
func ConstPath(n Node) ([]string, bool) {
	switch n := n.(type) {
	case *NameNode:
		return []string{n.Name}, true
	case *AttrNode:
		if p, ok := ConstPath(n.Obj); ok {
			return append(p, n.Name), true
		}
	case *ItemNode:
		c, isConst := n.Key.(*ConstNode)
		if !isConst {
			return nil, false
		}
		if p, ok := ConstPath(n.Obj); ok {
			key := pyvalue.Text(c.V.V)
			_, isStr := c.V.V.Str()
			_, isInt := c.V.V.Int()
			isKey := isStr || isInt
			return append(p, key), isKey && c.V.Py() == nil
		}
	}
	return nil, false
}

// ChildNodes returns the expressions right below a node, in the order of the source.
func ChildNodes(n Node) []Node {
	var out []Node
	add := func(nodes ...Node) {
		for _, c := range nodes {
			if c != nil {
				out = append(out, c)
			}
		}
	}
	arguments := func(args []Argument) {
		for _, a := range args {
			add(a.X)
		}
	}
	switch n := n.(type) {
	case *AttrNode:
		add(n.Obj)
	case *ItemNode:
		add(n.Obj, n.Key)
	case *SliceNode:
		add(n.Obj, n.Start, n.Stop, n.Step)
	case *CallNode:
		add(n.Fn)
		arguments(n.Args)
	case *FilterNode:
		add(n.In)
		arguments(n.Args)
	case *TestNode:
		add(n.In)
		arguments(n.Args)
	case *UnaryNode:
		add(n.X)
	case *BinaryNode:
		add(n.A, n.B)
	case *ConcatNode:
		add(n.Parts...)
	case *CompareNode:
		add(n.First)
		add(n.Rest...)
	case *LogicNode:
		add(n.A, n.B)
	case *CondNode:
		add(n.Yes, n.Cond, n.No)
	case *ListNode:
		add(n.Items...)
	case *DictNode:
		for i := range n.Keys {
			add(n.Keys[i], n.Vals[i])
		}
	}
	return out
}

// PathText returns the dotted form of a reference; "" for any other node.
func PathText(n Node) string {
	switch n := n.(type) {
	case *NameNode:
		return n.Name
	case *AttrNode:
		return n.Path
	case *ItemNode:
		if c, ok := n.Key.(*ConstNode); ok {
			return pyvalue.ItemPath(PathText(n.Obj), c.V)
		}
		if p := PathText(n.Key); p != "" {
			return PathText(n.Obj) + "[" + p + "]"
		}
		return PathText(n.Obj) + "[...]"
	}
	return ""
}

// AssignTarget is the target of an assignment: a name, a member of a namespace, or several targets.
type AssignTarget struct {
	Name  string
	Attr  string
	Parts []*AssignTarget
	Off   int
}

// AssignedNames lists the names that become variables.
func (t *AssignTarget) AssignedNames() []string {
	var names []string
	if t.Attr == "" && t.Name != "" {
		names = append(names, t.Name)
	}
	for _, part := range t.Parts {
		names = append(names, part.AssignedNames()...)
	}
	return names
}

// AssignsTo reports whether a name becomes a variable.
func (t *AssignTarget) AssignsTo(name string) bool { return slices.Contains(t.AssignedNames(), name) }

// AllNames lists the names that a target assigns to, or to a member of.
func (t *AssignTarget) AllNames() []string {
	names := []string{}
	if t.Name != "" {
		names = append(names, t.Name)
	}
	for _, part := range t.Parts {
		names = append(names, part.AllNames()...)
	}
	return names
}

// NameTable numbers the outer names of a template, so that each is looked up once in
// a rendering.
type NameTable struct {
	Names    map[string]int
	Mentions []string // every mention, in order
}

// NewSlots returns an empty table.
func NewSlots() *NameTable { return &NameTable{Names: map[string]int{}} }

// SlotOf returns the number of a name that is mentioned; a new one gets the next.
func (s *NameTable) SlotOf(name string) int {
	s.Mentions = append(s.Mentions, name)
	i, ok := s.Names[name]
	if !ok {
		i = len(s.Names)
		s.Names[name] = i
	}
	return i
}
