package prompt

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/value"
)

// Shapes returns the facts about the result that are certain before the expression is evaluated. These are JSON
// Schemas; the result fits them, or some items of a list do, or the results of some branches. For example a list
// plus anything has the shape of a list. The function of returns the schema of the value at a path. Shapes returns
// nil if nothing is certain.
func (e *Expr) Shapes(of func(path []string) value.Value) []value.Value {
	return shaper(of).shapesOf(e.code.Root)
}

// shaper finds the shapes of an expression from the shapes of paths.
type shaper func(path []string) value.Value

func (of shaper) shapesOf(n ast.Node) []value.Value {
	if path, ok := ast.ConstPath(n); ok {
		return []value.Value{of(path)}
	}
	switch n := n.(type) {
	case *ast.ListNode:
		all := []value.Value{}
		for _, item := range n.Items {
			for _, shape := range of.shapesOf(item) {
				all = append(all, listOf(shape))
			}
		}
		if len(all) == 0 && !n.Tuple {
			all = append(all, listOf(value.OfMap(nil)))
		}
		return all
	case *ast.SliceNode:
		return slices.DeleteFunc(of.shapesOf(n.Obj), func(shape value.Value) bool { return !isOfType(shape, "array") && !isOfType(shape, "string") })
	case *ast.BinaryNode:
		if n.Op == "+" { // a list plus anything is a list, too
			return append(of.listsOf(n.A), of.listsOf(n.B)...)
		}
	case *ast.LogicNode:
		if n.Or {
			return append(of.shapesOf(n.A), of.shapesOf(n.B)...)
		}
	case *ast.CondNode:
		if n.No != nil && asksPresence(n.Cond) {
			return append(of.shapesOf(n.Yes), of.shapesOf(n.No)...)
		}
	case *ast.FilterNode:
		return of.shapesOfFilter(n)
	}
	return nil
}

// shapesOfFilter returns the shapes of a filter's result.
func (of shaper) shapesOfFilter(n *ast.FilterNode) []value.Value {
	if n.In == nil {
		return nil
	}
	switch n.Name {
	case "list":
		lists := of.listsOf(n.In)
		if len(lists) == 0 {
			lists = append(lists, listOf(value.OfMap(nil)))
		}
		return lists
	case "select", "reject", "selectattr", "rejectattr", "unique", "sort", "reverse":
		return of.listsOf(n.In)
	case "default", "d":
		all := of.shapesOf(n.In)
		if len(n.Args) > 0 && n.Args[0].Name == "" {
			all = append(all, of.shapesOf(n.Args[0].X)...)
		}
		return all
	case "first", "last":
		var all []value.Value
		for _, list := range of.listsOf(n.In) {
			if items, ok := list.Get("items"); ok {
				all = append(all, items)
			}
		}
		return all
	}
	return nil
}

// listsOf returns the shapes of a node that are lists.
func (of shaper) listsOf(n ast.Node) []value.Value {
	return slices.DeleteFunc(of.shapesOf(n), func(shape value.Value) bool { return !isOfType(shape, "array") })
}

// asksPresence reports whether a condition is only about the presence of a value, not about its type.
func asksPresence(cond ast.Node) bool {
	switch n := cond.(type) {
	case *ast.TestNode:
		return strings.HasSuffix(n.Name, "defined")
	case *ast.UnaryNode:
		return n.Op == '!' && asksPresence(n.X)
	}
	_, isPath := ast.ConstPath(cond)
	return isPath
}

func isOfType(shape value.Value, name string) bool {
	typed, _ := shape.Get("type")
	text, _ := typed.Str()
	return text == name
}

// listOf returns the schema of a list of items.
func listOf(items value.Value) value.Value {
	return value.OfMap(value.Pairs("type", "array", "items", items))
}
