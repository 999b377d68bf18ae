// Package constancy finds expressions that have the same result for all values of their names, for example value
// == value, value | length >= 0 and "" in value.
//
// [IsAlways] takes an expression apart into its logic, which it evaluates, and into unknowns: names, and everything else that it
// does not look into, for example the result of a filter. The same text is the same unknown. Each unknown is tried with values of all kinds
// and with the constants of the expression and their neighbours. So an answer of true is certain, and one of false may be wrong: for
// example value | trim | length >= 0 is found, and value | upper == value | upper | upper is not.
package constancy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/eval"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// Known is a reference as the caller knows it. It is not kept.
type Known struct {
	// Name is the same for references to one thing. "" is the path as written.
	Name string
	// Values are all that it can be; nil: anything. With IsCount it is a number of at least 0.
	Values  []value.Value
	IsCount bool
	// IsDefined: it always has a value.
	IsDefined bool
}

// maxTrials limits the combinations of values to try: with more the answer is false.
const maxTrials = 50_000

// IsAlways reports whether an expression is a boolean for some values of its unknowns, and the wanted one for each
// of these. With given, which may be nil, only values count for which given is true. describe returns the known
// facts about a reference.
func IsAlways(root, given ast.Node, want bool, describe func(path []string) Known) bool {
	a := &abstraction{describe: describe}
	formula, condition := a.abstract(root), a.abstract(given)
	a.addProbes()
	trials := 1
	for _, u := range a.unknowns {
		trials *= len(u.probes)
		if trials > maxTrials {
			return false
		}
	}
	isFound := false
	for i := range trials {
		scope := a.scopeOf(i)
		if isGiven, ok := a.evalBool(condition, scope); condition != nil && !(ok && isGiven) {
			continue
		}
		got, ok := a.evalBool(formula, scope)
		if ok && got != want {
			return false
		}
		isFound = isFound || ok
	}
	return isFound
}

// evalBool evaluates a formula; ok is false if it is not a boolean, or cannot be evaluated.
func (a *abstraction) evalBool(formula ast.Node, scope eval.Scope) (is, ok bool) {
	if formula == nil {
		return false, false
	}
	code := eval.ExprCode{Root: formula, Slots: len(a.unknowns)}
	v, err := code.Eval(context.Background(), scope)
	is, isBool := v.Bool()
	return is, err == nil && isBool
}

// unknown is a part of an expression that is not looked into.
type unknown struct {
	key     string
	isCount bool
	// probes are the values to try; one that is undefined is not set.
	values []value.Value // nil: anything
	probes []probe
	// mayMiss: it may be undefined.
	mayMiss bool
}

// probe is a value to try, or none.
type probe struct {
	value     value.Value
	isMissing bool
}

// abstraction collects the unknowns and constants of one expression.
type abstraction struct {
	describe  func(path []string) Known
	unknowns  []*unknown
	constants []value.Value
}

// scopeOf returns the scope with the i-th combination of values.
func (a *abstraction) scopeOf(i int) eval.Scope {
	m := value.NewMap(len(a.unknowns))
	for n, u := range a.unknowns {
		p := u.probes[i%len(u.probes)]
		i /= len(u.probes)
		if !p.isMissing {
			m.Set(nameOf(n), p.value)
		}
	}
	return eval.Values{Map: m}
}

// nameOf returns the name of an unknown.
func nameOf(n int) string { return fmt.Sprintf("unknown%d", n) }

// abstract returns the expression with names in place of its unknowns.
func (a *abstraction) abstract(n ast.Node) ast.Node {
	if n == nil {
		return nil
	}
	if a.isGranted(n) {
		return &ast.ConstNode{Position: ast.Position(n.Pos()), V: pyvalue.OfBool(true)}
	}
	switch n := n.(type) {
	case *ast.ConstNode:
		a.addConstant(n.V.V)
		return n
	case *ast.LogicNode:
		return &ast.LogicNode{Position: n.Position, Or: n.Or, A: a.abstract(n.A), B: a.abstract(n.B)}
	case *ast.CompareNode:
		if len(n.Ops) == 1 && n.Ops[0] == "not in" {
			in := &ast.CompareNode{Position: n.Position, First: n.First, Ops: []string{"in"}, Rest: n.Rest}
			return a.abstract(&ast.UnaryNode{Position: n.Position, Op: '!', X: in})
		}
		return &ast.CompareNode{Position: n.Position, First: a.abstract(n.First), Ops: n.Ops, Rest: a.abstractAll(n.Rest)}
	case *ast.CondNode:
		return &ast.CondNode{Position: n.Position, Cond: a.abstract(n.Cond), Yes: a.abstract(n.Yes), No: a.abstract(n.No)}
	case *ast.ListNode:
		return &ast.ListNode{Position: n.Position, Items: a.abstractAll(n.Items), Tuple: n.Tuple}
	case *ast.UnaryNode:
		return a.abstractUnary(n)
	case *ast.TestNode:
		args := slices.Clone(n.Args)
		for i := range args {
			args[i].X = a.abstract(args[i].X)
		}
		return &ast.TestNode{Position: n.Position, In: a.abstract(n.In), Name: n.Name, Def: n.Def, Args: args, Not: n.Not}
	}
	return a.nameUnknown(n)
}

// isGranted reports whether a part is true of every text: "" in x, x[:3] in x, x.startswith(""). A list may lack these, which is left aside: a
// test asks texts for them.
func (a *abstraction) isGranted(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompareNode:
		part, isPart := n.First.(*ast.SliceNode)
		return len(n.Ops) == 1 && n.Ops[0] == "in" && (isEmptyText(n.First) || isPart && a.keyOf(part.Obj) == a.keyOf(n.Rest[0]))
	case *ast.CallNode:
		return slices.Contains([]string{"startswith", "endswith"}, methodOf(n)) && len(n.Args) == 1 && isEmptyText(n.Args[0].X)
	}
	return false
}

func isEmptyText(n ast.Node) bool {
	c, isConstant := n.(*ast.ConstNode)
	if !isConstant {
		return false
	}
	text, isText := c.V.V.Str()
	return isText && text == ""
}

// methodOf returns the name of the method that is called; "" if it is none.
func methodOf(n ast.Node) string {
	call, isCall := n.(*ast.CallNode)
	if !isCall {
		return ""
	}
	method, isMethod := call.Fn.(*ast.AttrNode)
	if !isMethod {
		return ""
	}
	return method.Name
}

func (a *abstraction) abstractAll(nodes []ast.Node) []ast.Node {
	all := make([]ast.Node, len(nodes))
	for i, n := range nodes {
		all[i] = a.abstract(n)
	}
	return all
}

// abstractUnary looks into not and into the sign of a constant: the sign of anything else is arithmetic.
func (a *abstraction) abstractUnary(n *ast.UnaryNode) ast.Node {
	c, isConstant := n.X.(*ast.ConstNode)
	if n.Op == '!' || isConstant && n.Op == '+' {
		return &ast.UnaryNode{Position: n.Position, Op: n.Op, X: a.abstract(n.X)}
	}
	if !isConstant {
		return a.nameUnknown(n)
	}
	if number, ok := c.V.V.Float(); ok {
		a.addConstant(value.OfFloat(-number))
	}
	return n
}

// nameUnknown returns the name that replaces a part of the expression.
func (a *abstraction) nameUnknown(n ast.Node) ast.Node {
	u := &unknown{key: a.keyOf(n), mayMiss: true}
	switch f, isFilter := n.(*ast.FilterNode); {
	case methodOf(n) == "count":
		u.isCount = true
	case isFilter:
		u.mayMiss = false
		u.isCount = len(f.Args) == 0 && slices.Contains([]string{"length", "count", "wordcount"}, f.Name)
	default:
		if path, ok := ast.ConstPath(n); ok {
			known := a.describe(path)
			u.isCount, u.values, u.mayMiss = known.IsCount, known.Values, !known.IsDefined
		}
	}
	at := slices.IndexFunc(a.unknowns, func(other *unknown) bool { return other.key == u.key })
	if at < 0 {
		at = len(a.unknowns)
		a.unknowns = append(a.unknowns, u)
	}
	return &ast.NameNode{Position: ast.Position(n.Pos()), Name: nameOf(at), Slot: at}
}

// keyOf returns a text that is the same for parts that have the same value.
func (a *abstraction) keyOf(n ast.Node) string {
	if path, ok := ast.ConstPath(n); ok {
		if known := a.describe(path); known.Name != "" {
			return "ref " + known.Name
		}
		return "ref " + strings.Join(path, "\x00")
	}
	own := fmt.Sprintf("%T", n)
	switch n := n.(type) {
	case *ast.ConstNode:
		return own + n.V.V.Kind().String() + n.V.V.JSON()
	case *ast.AttrNode:
		own += n.Name
	case *ast.UnaryNode:
		own += string(n.Op)
	case *ast.BinaryNode:
		own += n.Op
	case *ast.CompareNode:
		own += strings.Join(n.Ops, " ")
	case *ast.LogicNode:
		own += fmt.Sprint(n.Or)
	case *ast.ListNode:
		own += fmt.Sprint(n.Tuple)
	case *ast.CondNode:
		own += fmt.Sprint(n.No == nil)
	case *ast.SliceNode:
		own += fmt.Sprint(n.Start == nil, n.Stop == nil, n.Step == nil)
	case *ast.CallNode:
		own += namesOf(n.Args)
	case *ast.TestNode:
		own += n.Name + fmt.Sprint(n.Not) + namesOf(n.Args)
	case *ast.FilterNode:
		own += n.Name + namesOf(n.Args)
		if n.Name == "random" { // two uses differ
			own += fmt.Sprint(n.Pos())
		}
	}
	keys := []string{own}
	for _, child := range ast.ChildNodes(n) {
		keys = append(keys, a.keyOf(child))
	}
	return "(" + strings.Join(keys, "\x00") + ")"
}

func namesOf(args []ast.Argument) string {
	names := make([]string, len(args))
	for i, arg := range args {
		names[i] = arg.Name
	}
	return strings.Join(names, ",")
}
