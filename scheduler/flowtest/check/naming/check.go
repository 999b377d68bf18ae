package naming

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Problem describes an error in a name, and its fix.
type Problem struct{ Message, Hint wording.Text }

// unknown returns the problem of a name that is not among those known.
func unknown(message wording.Text, name string, known []string) *Problem {
	return &Problem{message, wording.Of(value.DidYouMeanOrList(name, known))}
}

// CheckRole reports a role that no message has.
func (n *Names) CheckRole(role string) *Problem {
	known := slices.Concat(messageRoles(), n.roles)
	if role == "" || slices.Contains(known, role) {
		return nil
	}
	return unknown(wording.Say("there is no role %q", role), role, known)
}

// CheckKind reports a kind that no piece has. Plugins may have kinds of their own: then only one that is nearly another is
// reported.
func (n *Names) CheckKind(kind string) *Problem {
	known := pieceKinds()
	isKnown := kind == "" || slices.Contains(known, kind)
	if isKnown || n.hasOtherCalls && value.Nearest(kind, known) == "" {
		return nil
	}
	return unknown(wording.Say("there is no kind %q of pieces", kind), kind, known)
}

// CheckSource reports a source that no text in the prompt of a step can come from: an input that the flow does not
// declare, or a name that is neither a word for sources, nor a step, a tool, a call or a file.
func (n *Names) CheckSource(step, source string) *Problem {
	if source == "" {
		return nil
	}
	if wrong := cmp.Or(n.CheckInput(source), n.checkVariable(source)); wrong != nil {
		return wrong
	}
	if n.has(source) || n.hasPart(step, source) {
		return nil
	}
	near := n.nearest(source)
	isInput := func(name string) bool { return Matches(firstName(source), name) }
	if isInput(wordQuestion) || slices.ContainsFunc(Inputs(n.flows), isInput) {
		near = "inputs." + source
	}
	if isOpen := n.isOpen || n.files.isCut; isOpen && near == "" {
		return nil
	}
	wrong := unknown(wording.Say("no text comes from %q: no step, tool or file has that name", source), source, n.listed)
	if near != "" {
		wrong.Hint = wording.Say("did you mean %q?", near)
	}
	return wrong
}

// CheckInput reports an input that the flow does not declare: nothing would ever come from it.
func (n *Names) CheckInput(source string) *Problem {
	if strings.HasPrefix(source, "inputs/") {
		return &Problem{wording.Say("%q is not a source", source), wording.Say("write %s", strings.ReplaceAll(source, "/", "."))}
	}
	input, ok := strings.CutPrefix(source, "inputs.")
	known := Inputs(n.flows)
	if !ok || known == nil {
		return nil
	}
	name := firstName(input)
	isPattern := strings.Contains(name, "*")
	switch {
	case slices.Contains(known, name), isPattern && n.hasInputLike(input):
		return nil
	case isPattern:
		return unknown(wording.Say("no input of the flow fits %q", name), strings.ReplaceAll(name, "*", ""), known)
	}
	return unknown(wording.Say("the flow has no input %q", name), name, known)
}

// hasInputLike reports whether a pattern can be an input that a flow declares, or something in an input that may
// hold more: there, a star also matches the path to it.
func (n *Names) hasInputLike(pattern string) bool {
	name := firstName(pattern)
	start, _, _ := strings.Cut(name, "*")
	for _, f := range n.flows {
		properties, _ := f.Inputs.Doc().Get("properties")
		for input, declared := range properties.Map().All() {
			if Matches(name, input) || strings.HasPrefix(input, start) && !isScalar(declared) {
				return true
			}
		}
	}
	return false
}

// isScalar reports whether a schema only lets values through that have no members and no items.
func isScalar(declared value.Value) bool {
	kind, _ := declared.Get("type")
	name, isOne := kind.Str()
	return isOne && name != "object" && name != "array"
}

// checkVariable reports a variable that no plugin declares, or a member that its schema lacks. If plugins are not
// known, it only reports a variable that is nearly one that the flows mention: modules of prompts may have others.
func (n *Names) checkVariable(source string) *Problem {
	variable, ok := strings.CutPrefix(source, "vars.")
	if !ok {
		return nil
	}
	name := firstName(variable)
	if slices.ContainsFunc(n.variables, func(variable string) bool { return Matches(name, variable) }) {
		return checkMember(source, n.variableSchema(name), variable[len(name):])
	}
	near := value.DidYouMean(strings.ReplaceAll(name, "*", ""), n.variables)
	if near == "" && n.registry == nil {
		return nil
	}
	wrong := unknown(wording.Say("the flow has no variable %q", name), name, n.variables)
	if near != "" {
		wrong.Hint = wording.Of(near)
	}
	return wrong
}

// variableSchema returns the schema that a plugin declares for a variable; null if it declares none.
func (n *Names) variableSchema(name string) value.Value {
	resolver, _ := n.registry.Resolver(name)
	described, ok := resolver.(interface{ Schema(name string) value.Value })
	if !ok {
		return value.Value{}
	}
	return described.Schema(name)
}

// checkMember reports a member below a name that the schema lacks: .city.nmae. Members that a schema leaves open
// are not reported.
func checkMember(source string, declared value.Value, path string) *Problem {
	for path != "" {
		name, isMember := strings.CutPrefix(path, ".")
		name = firstName(name)
		properties, hasProperties := declared.Get("properties")
		if !isMember || !hasProperties || strings.Contains(name, "*") {
			return nil
		}
		member, ok := properties.Get(name)
		if !ok && isOpenSchema(declared) {
			return nil
		}
		if !ok {
			return unknown(wording.Say("no text comes from %q: the variable has no %q", source, name), name, properties.Map().Keys())
		}
		declared, path = member, path[1+len(name):]
	}
	return nil
}

// isOpenSchema reports whether a schema lets an object have members that it does not name.
func isOpenSchema(declared value.Value) bool {
	more, _ := declared.Get("additionalProperties")
	isAllowed, isBool := more.Bool()
	return !isBool || isAllowed
}

// openKinds are the kinds of pieces whose names calls invent, or take from outside the flow.
var openKinds = []string{"heading", "separator", "history", "memory", "recalled", "session", "tool", "model", "user"}

// CheckPiece reports the name of a piece of a kind that is nearly a known one, and does not occur in the flow and
// its files.
func (n *Names) CheckPiece(kind, name string) *Problem {
	isAny := name == "" || strings.Contains(name, "*") || slices.Contains(openKinds, kind)
	if isAny || n.isOpen || n.has(name) {
		return nil
	}
	n.piecesOnce.Do(func() { n.pieces.collect(n.written, n.files) })
	stands := func(text string) bool { return strings.Contains(text, name) }
	if n.pieces.isOpen || slices.ContainsFunc(n.pieces.texts, stands) {
		return nil
	}
	near := value.Nearest(name, slices.Concat(n.pieces.listed, n.files.all()))
	if near == "" {
		return nil
	}
	return &Problem{wording.Say("no piece of the prompt can have the name %q", name), wording.Say("did you mean %q?", near)}
}
