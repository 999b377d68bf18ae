package flow

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Approval is the rule by which a person approves a use of a call: approve of a step, or of a tool. A [Loader] makes it; it is immutable.
type Approval struct {
	Pos Position
	// When is the condition; nil: always. Message is the question to the person; nil leaves it to the program.
	When, Message *Param
	// Edit are the JSON pointers of the parameters that the person may change.
	Edit []string
	// ByUser is set where the user of the run may decide as well.
	ByUser bool
	// Timeout is how long the run waits for a decision; 0 is for ever.
	Timeout time.Duration
	// Continue lets a step that was denied finish with {error: ...}.
	Continue bool
}

// CallApproval is an approval that the settings ask for, whatever a flow says. The program makes it with [ParseCallApproval].
type CallApproval struct {
	// Call is a pattern of names of calls, for example mcp.files.*.
	Call string
	// When is the condition over params and the names of the flow itself; nil: always.
	When *Param
	// ByUser is set where the user of the run may decide as well.
	ByUser bool
}

// Matches reports whether the approval is for a call.
func (a CallApproval) Matches(call string) bool {
	before, after, hasStar := strings.Cut(a.Call, "*")
	if !hasStar {
		return a.Call == call
	}
	return len(call) >= len(before)+len(after) && strings.HasPrefix(call, before) && strings.HasSuffix(call, after)
}

// ParseCallApproval reads an approval of the settings. The error is of kind Invalid.
func ParseCallApproval(call, when, by string) (CallApproval, error) {
	made := CallApproval{Call: call, ByUser: by == byUser}
	switch {
	case call == "":
		return made, calls.Errorf(calls.Invalid, "an approval names no call").WithHint("write call: http, or a pattern such as mcp.files.*")
	case strings.Count(call, "*") > 1:
		return made, calls.Errorf(calls.Invalid, "the pattern %q has more than one *", call)
	case by != "" && by != byUser && by != byOperator:
		return made, calls.Errorf(calls.Invalid, "by is operator or user, not %q", by)
	case when == "":
		return made, nil
	}
	text, base, whole := prompt.SingleExpr(when)
	if !whole {
		return made, calls.Errorf(calls.Invalid, "when must be one {{ expression }}; any other text counts as true").WithHint("put the whole condition between one {{ and }}")
	}
	e, err := prompt.ParseExpr(prompt.Source{Text: text}, nil)
	if err != nil {
		return made, calls.Errorf(calls.Invalid, "when: %w", err)
	}
	made.When = &Param{Expr: e, TextOffset: base, source: strings.TrimSpace(text)}
	return made, nil
}

const (
	byOperator = "operator"
	byUser     = "user"
	// paramsName is what the templates of an approval know the parameters by.
	paramsName = "params"
)

// approveKey is true, false, or the map of a rule.
type approveKey struct {
	keyPlace
	isAsked bool
	keys    approveKeys
}

func (k *approveKey) decode(d *decoder, at keyPlace, tag reflect.StructTag) {
	n := yaml.Resolve(at.node)
	switch {
	case n.ShortTag() == "!!bool":
		v, _ := yaml.Value(at.node)
		k.keyPlace = at
		k.isAsked, _ = v.Bool()
	case n.Kind == yaml.Mapping:
		k.keyPlace, k.isAsked = at, true
		d.decodeObject(at, nameOf(tag, at), reflect.ValueOf(&k.keys).Elem())
	default:
		d.reportMismatch(at, nameOf(tag, at), say("true or a map of keys"))
	}
}

// JSONSchema describes both forms.
func (approveKey) JSONSchema() value.Value {
	return keySchema("anyOf", []value.Value{keySchema("type", "boolean"), schema.MustFor[approveKeys]().Annotated()})
}

// approvalUnit is an approval on its way.
type approvalUnit struct {
	*Approval
	node *yaml.Node
	// pointer is that of the rule of a tool; "" for the rule of the step.
	pointer string
	uses    []nameUse
	params  value.Value // the schema of params
}

// anyParams returns the schema of parameters of which nothing is known.
func anyParams() value.Value { return keySchema("type", "object") }

// compileStepApproval compiles approve of a step.
func (u *unit) compileStepApproval(s *stepUnit) {
	k := &s.keys.Approve
	if !k.isAsked {
		return
	}
	keys := &k.keys
	a := approvalUnit{node: k.node, params: anyParams(), Approval: &Approval{
		Pos: u.positionOf(k.node), ByUser: keys.By.text == byUser, Timeout: keys.Timeout.d, Continue: keys.OnDeny.text == "continue",
	}}
	a.When = u.compileOptional(keys.When, &a.uses)
	a.Message = u.compileOptional(keys.Message, &a.uses)
	for _, pointer := range keys.Edit {
		a.Edit = append(a.Edit, pointer.text)
	}
	s.Approve = a.Approval
	s.approved = append(s.approved, a)
}

// holdsApprovals reports whether a parameter of a call is the rule of an approval, or may have one below.
func holdsApprovals(info *calls.Info, pointer string) bool {
	return slices.ContainsFunc(info.Approvals, func(pattern string) bool { return matchesBeginning(pattern, pointer) })
}

// matchesBeginning reports whether a pointer is one of a pattern, or leads to one.
func matchesBeginning(pattern, pointer string) bool {
	wanted, tokens := PointerTokens(pattern), PointerTokens(pointer)
	if len(tokens) > len(wanted) {
		return false
	}
	for i, token := range tokens {
		if wanted[i] != "*" && wanted[i] != token {
			return false
		}
	}
	return true
}

// compileGuarded compiles a parameter that may hold rules of approvals: these stay as they are written, and are compiled beside it.
func (u *unit) compileGuarded(s *stepUnit, n *yaml.Node, pointer string) *Param {
	pos, node := u.positionOf(n), yaml.Resolve(n)
	isRule := slices.ContainsFunc(s.Def.Info.Approvals, func(pattern string) bool {
		return matchesBeginning(pattern, pointer) && strings.Count(pattern, "/") == strings.Count(pointer, "/")
	})
	switch {
	case isRule:
		u.compileToolApproval(s, n, pointer)
		return u.literalParam(node, pos, "")
	case ownTag(node) != "" || !holdsApprovals(s.Def.Info, pointer):
	case node.Kind == yaml.Sequence:
		i := -1
		return u.compileList(node, func(item *yaml.Node) *Param {
			i++
			return u.compileGuarded(s, item, pointer+"/"+value.OfInt(int64(i)).PlainText())
		})
	case node.Kind == yaml.Mapping && !u.reportUnquoted(node):
		return u.compileMap(node, func(m member) *Param { return u.compileGuarded(s, m.node, pointer+"/"+value.Escape(m.name)) })
	}
	return u.compileParam(n, &s.uses)
}

// compileToolApproval compiles the rule of a tool. The schema of the call tells all that is wrong with its form.
func (u *unit) compileToolApproval(s *stepUnit, n *yaml.Node, pointer string) {
	rule, ok := u.readWholeLiteral(n)
	if isAsked, isBool := rule.Bool(); !ok || isBool && !isAsked {
		return
	}
	a := approvalUnit{node: n, pointer: pointer, params: anyParams(), Approval: &Approval{Pos: u.positionOf(n)}}
	var read calls.ApprovalRule
	if value.Decode(rule, &read) != nil {
		return
	}
	a.Edit, a.ByUser = read.Edit, read.By == byUser
	a.Timeout, _ = time.ParseDuration(read.Timeout)
	for name, param := range map[string]**Param{"when": &a.When, "message": &a.Message} {
		if node, _, given := yaml.Walk(n, "/"+name); given {
			*param = u.compileParam(node, &a.uses)
		}
	}
	if s.ToolApprovals == nil {
		s.ToolApprovals = map[string]*Approval{}
	}
	s.ToolApprovals[pointer] = a.Approval
	s.approved = append(s.approved, a)
}

// approveUses returns the names that the approvals of a step mention.
func (s *stepUnit) approveUses() (uses []nameUse) {
	for _, a := range s.approved {
		uses = append(uses, a.uses...)
	}
	return uses
}

// approvalParams returns the conditions and messages of the approvals of a step.
func (s *Step) approvalParams() (params []*Param) {
	if s.Approve != nil {
		params = append(params, s.Approve.When, s.Approve.Message)
	}
	for _, pointer := range slices.Sorted(maps.Keys(s.ToolApprovals)) {
		a := s.ToolApprovals[pointer]
		params = append(params, a.When, a.Message)
	}
	return params
}

// Params returns the condition and the message.
func (a *Approval) Params() []*Param { return []*Param{a.When, a.Message} }

func (a *Approval) canonical() value.Value {
	if a == nil {
		return value.Value{}
	}
	return value.OfMap(value.Pairs("when", a.When.Canonical(), "message", a.Message.Canonical(), "edit", a.Edit,
		"by_user", a.ByUser, "timeout", a.Timeout.String(), "continue", a.Continue))
}

func canonicalTools(approvals map[string]*Approval) value.Value {
	m := value.NewMap(len(approvals))
	for _, pointer := range slices.Sorted(maps.Keys(approvals)) {
		m.Set(pointer, approvals[pointer].canonical())
	}
	return value.OfMap(m)
}

// lintApprovals checks the approvals of a step against the calls that they are for.
func (u *unit) lintApprovals(s *stepUnit) {
	for i := range s.approved {
		a := &s.approved[i]
		call, def, params := s.Call, s.Def, s.Def.Info.Params.Doc()
		isKnown := true
		if s.Call == CallFlow && a.pointer == "" && s.Sub != nil {
			properties, _ := params.Get("properties")
			params = withMembers(params, "properties", withMembers(properties, "inputs", s.Sub.Inputs.Doc()))
		}
		if a.pointer != "" {
			call, def, params, isKnown = u.toolOfApproval(s, a.pointer)
		}
		a.params = params
		u.lintApproval(a)
		if isKnown {
			u.lintEdits(a, call)
		}
		if isKnown && def.Info != nil && call != CallFlow && !def.HasEffects() {
			u.warn(a.Pos, "approve: %s has no effects that a person could decide about", call).hint("put it on the step that acts")
		}
	}
}

// toolOfApproval returns the call that a tool runs, and the schema of its parameters, or of the inputs of its flow.
func (u *unit) toolOfApproval(s *stepUnit, pointer string) (call string, def calls.Definition, params value.Value, isKnown bool) {
	params = anyParams()
	tool := pointer[:strings.LastIndexByte(pointer, '/')]
	for _, in := range u.askInside(s) {
		if in.With != tool+"/with" {
			continue
		}
		if in.Flow != "" {
			if inner := u.loading.inner[u.pathBeside(in.Flow)]; inner != nil {
				return in.Flow, calls.Definition{}, inner.Inputs.Doc(), true
			}
			continue
		}
		if def, ok := u.loading.Registry.Call(in.Call); ok {
			return in.Call, def, def.Info.Params.Doc(), true
		}
	}
	return "", def, params, false
}

// lintApproval checks the shape of a condition: any text around an expression would make it true.
func (u *unit) lintApproval(a *approvalUnit) {
	if a.When == nil || a.When.Expr != nil {
		return
	}
	_, isBool := a.When.Literal.Bool()
	if isStatic := a.When.Text == nil; isStatic && isBool {
		return
	}
	u.add(a.When.Pos, "when must be one {{ expression }}; any other text counts as true").hint("put the whole condition between one {{ and }}")
}

// lintEdits checks the places that a person may change.
func (u *unit) lintEdits(a *approvalUnit, call string) {
	for i, pointer := range a.Edit {
		at := u.positionOf(nodeAt(a.node, "/edit/"+value.OfInt(int64(i)).PlainText()))
		if pointer == "" || pointer[0] != '/' {
			u.add(at, "edit: %q is not a JSON pointer", pointer).hint("write /%s", strings.TrimPrefix(pointer, "params."))
			continue
		}
		found := lookUpPath(a.params, PointerTokens(pointer))
		if found.unknown >= 0 {
			u.add(at, "edit: %s has no parameter %q", call, pointer).suggest(strings.TrimPrefix(pointer, "/"), found.names, "it has %s")
		}
	}
}

// AsksApproval reports whether a step of the flow, or of a flow inside it, waits for the approval of a person.
func (f *Flow) AsksApproval() bool {
	return slices.ContainsFunc(f.Steps, func(s *Step) bool {
		isInside := s.Sub != nil && s.Sub.AsksApproval() || slices.ContainsFunc(s.Inner, (*Flow).AsksApproval)
		return s.Approve != nil || len(s.ToolApprovals) > 0 || isInside
	})
}
