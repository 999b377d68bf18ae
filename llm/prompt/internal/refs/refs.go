// Package refs has the static analysis of templates: which outer names a template reads, where, and how it uses
// them. For example, {% if a %}{{ b }}{% endif %} prints b and only decides by a. Package syntax collects with it
// while it compiles.
package refs

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/value"
)

// RefCollector collects the outer names of expressions in the order of the source.
type RefCollector struct {
	List   []Ref
	scopes []map[string]bool // names that the template defines itself, innermost last
	Guards []string          // paths that were asked about, as keys
	asked  map[string]int
	// deciding and counting are more than 0 inside an expression that only decides, and inside one that is only
	// counted.
	deciding, counting int
	Assigned           assignedRefs
}

// PushScope opens a scope with names that the template defines.
func (r *RefCollector) PushScope(names ...string) {
	r.scopes = append(r.scopes, map[string]bool{})
	r.DeclareNames(names...)
}

// PopScope closes the innermost scope.
func (r *RefCollector) PopScope() { r.scopes = r.scopes[:len(r.scopes)-1] }

// DeclareNames adds names that the template defines to the innermost scope.
func (r *RefCollector) DeclareNames(names ...string) {
	for _, name := range names {
		r.scopes[len(r.scopes)-1][name] = true
	}
}

func (r *RefCollector) isDeclared(name string) bool {
	for _, s := range r.scopes {
		if s[name] {
			return true
		}
	}
	_, builtin := builtins.FindGlobal(name)
	return builtin
}

// AddExpr collects from one expression; names that it tests are guarded in it.
func (r *RefCollector) AddExpr(n ast.Node) {
	if n == nil {
		return
	}
	before := len(r.Guards)
	r.AddGuards(n)
	r.walkNode(n, false)
	r.DropGuards(before)
}

// AddCondition is AddExpr for an expression that only decides.
func (r *RefCollector) AddCondition(n ast.Node) {
	r.deciding++
	r.AddExpr(n)
	r.deciding--
}

// AddGuards makes the names that a condition tests guarded from here on, until [RefCollector.DropGuards].
func (r *RefCollector) AddGuards(cond ast.Node) {
	for _, path := range pathsTested(cond, nil) {
		if r.asked == nil {
			r.asked = map[string]int{}
		}
		key := pathKey(path)
		r.Guards = append(r.Guards, key)
		r.asked[key]++
	}
}

// DropGuards forgets all guards but the first n.
func (r *RefCollector) DropGuards(n int) {
	for _, key := range r.Guards[n:] {
		r.asked[key]--
	}
	r.Guards = r.Guards[:n]
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

// pathsTested lists the paths that an expression tests for being defined.
func pathsTested(n ast.Node, paths [][]string) [][]string {
	if t, ok := n.(*ast.TestNode); ok && strings.HasSuffix(t.Name, "defined") { // defined and undefined
		if p, ok := ast.ConstPath(t.In); ok {
			paths = append(paths, p)
		}
	}
	for _, c := range ast.ChildNodes(n) {
		paths = pathsTested(c, paths)
	}
	return paths
}

func (r *RefCollector) walkNode(n ast.Node, guarded bool) {
	if path, rest, ok := longestPath(n); ok {
		if !r.isDeclared(path[0]) {
			r.List = append(r.List, Ref{Path: path, Offset: n.Pos(), Guarded: guarded || r.isGuarded(path),
				Decides: r.deciding > 0, Counted: r.counting > 0})
			r.Assigned.addRef(len(r.List) - 1)
		} else if r.deciding == 0 {
			r.Assigned.addUse(r.Assigned.Target(), path[0], n.Pos())
		}
		for _, c := range rest {
			r.walkNode(c, false)
		}
		return
	}
	if operands, ops := comparisonOf(n); operands != nil {
		r.deciding++
		r.walkComparison(operands, ops)
		r.deciding--
		return
	}
	f, isFilter := n.(*ast.FilterNode)
	hasDefault := isFilter && f.In != nil && (f.Name == "default" || f.Name == "d")
	for i, c := range ast.ChildNodes(n) {
		deciding, counting := r.deciding, r.counting
		if onlyDecides(n, c) {
			r.deciding++
		}
		if isFilter && c == f.In && (f.Name == "length" || f.Name == "count") {
			r.counting++
		}
		r.walkNode(c, hasDefault && i == 0)
		r.deciding, r.counting = deciding, counting
	}
}

// onlyDecides reports whether the value of n does not contain its child's, but is decided by it.
func onlyDecides(n, child ast.Node) bool {
	switch n := n.(type) {
	case *ast.CondNode:
		return child == n.Cond
	case *ast.TestNode:
		return true
	case *ast.UnaryNode:
		return n.Op == '!'
	}
	return false
}

// comparisonOf returns the operands of a comparison with the operators between them, written with an operator or
// as a test; none for other nodes.
func comparisonOf(n ast.Node) (operands []ast.Node, ops []string) {
	switch n := n.(type) {
	case *ast.CompareNode:
		return ast.ChildNodes(n), n.Ops
	case *ast.TestNode:
		op, isComparison := map[string]string{"eq": "==", "equalto": "==", "ne": "!=", "in": "in"}[n.Name]
		if isComparison && len(n.Args) == 1 {
			return []ast.Node{n.In, n.Args[0].X}, []string{op}
		}
	}
	return nil, nil
}

// walkComparison collects the operands, and the values with which references among them are compared.
func (r *RefCollector) walkComparison(operands []ast.Node, ops []string) {
	for i, operand := range operands {
		before := len(r.List)
		r.walkNode(operand, false)
		if _, isPath := ast.ConstPath(operand); !isPath || len(r.List) == before {
			continue
		}
		ref := &r.List[before]
		if i > 0 && isEquality(ops[i-1]) {
			ref.Compared = append(ref.Compared, constantsOf(operands[i-1])...)
		}
		if i < len(ops) && isEqualityOrIn(ops[i]) {
			ref.Compared = append(ref.Compared, constantsOf(operands[i+1])...)
		}
	}
}

func isEquality(op string) bool { return op == "==" || op == "!=" }

func isEqualityOrIn(op string) bool { return isEquality(op) || strings.HasSuffix(op, "in") }

// constantsOf returns the constant of a constant node, or the constants of a list.
func constantsOf(n ast.Node) (all []value.Value) {
	switch n := n.(type) {
	case *ast.ConstNode:
		if n.V.Py() == nil {
			all = append(all, n.V.V)
		}
	case *ast.ListNode:
		for _, item := range n.Items {
			all = append(all, constantsOf(item)...)
		}
	}
	return all
}

func (r *RefCollector) isGuarded(path []string) bool {
	if len(r.Guards) == 0 {
		return false
	}
	for n := range path {
		if r.asked[pathKey(path[:n+1])] > 0 {
			return true
		}
	}
	return false
}

// longestPath returns the constant path at the bottom of a chain of members, and the
// expressions of the subscripts after it. Methods that are called are not members.
func longestPath(n ast.Node) (path []string, rest []ast.Node, ok bool) {
	for {
		if p, ok := ast.ConstPath(n); ok {
			return p, rest, true
		}
		switch x := n.(type) {
		case *ast.AttrNode:
			n = x.Obj
		case *ast.ItemNode:
			rest = append([]ast.Node{x.Key}, rest...)
			n = x.Obj
		case *ast.CallNode:
			attr, ok := x.Fn.(*ast.AttrNode)
			if !ok {
				return nil, nil, false
			}
			args := make([]ast.Node, 0, len(x.Args)+len(rest))
			for _, a := range x.Args {
				args = append(args, a.X)
			}
			rest = append(args, rest...)
			n = attr.Obj
		default:
			return nil, nil, false
		}
	}
}

// Ref is a place at which a template mentions a name that it does not define itself. Parsing makes them; they do
// not change.
type Ref struct {
	// Path is the name and the constant members after it: recall.memories[0].id is
	// [recall memories 0 id].
	Path []string
	// Offset is its first byte in the source.
	Offset int
	// Guarded is true if the expression has a default for it, or asks whether it is defined.
	Guarded bool
	// Decides is true if its value is not part of any result: only a condition, a comparison or a test uses it.
	// Counted is true if only its length is used so.
	Decides, Counted bool
	// Printed has the places at which its value enters the text through names that the template sets itself; none if
	// it does so at Offset.
	Printed []int
	// Compared are the constants that the whole of it is compared with by ==, != or in.
	Compared []value.Value
}
