package scheduler

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// The names of the calls that the flow format itself knows.
const (
	callFlow = "flow"
	callSlot = "slot"
)

// lookUpCall finds the definition of a step's call.
func (u *unit) lookUpCall(s *stepUnit) {
	if !s.keys.Call.set() {
		return
	}
	registry := u.loading.Registry
	if s.Def, s.known = registry.Call(s.Call); s.known {
		return
	}
	p := u.add(u.of(s.keys.Call.node), "there is no call %q", s.Call)
	plugin, _, dotted := strings.Cut(s.Call, ".")
	names := registry.CallNames()
	if near := value.Nearest(s.Call, names); near != "" {
		p.hint("did you mean %q?", near)
	} else if dotted && !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, plugin+".") }) {
		p.hint("the plugin %q is not installed, or has no calls", plugin)
	} else {
		p.hint("`scheduler calls` lists them")
	}
}

// lintCalls checks what steps say against their calls.
func (u *unit) lintCalls() {
	for _, s := range u.steps {
		u.lintKeys(s)
		if s.known {
			u.lintParams(s)
		}
		s.Output = u.outputOf(s)
	}
	for i, name := range u.keys.Plugins {
		u.lintListed(name, "plugin", u.loading.Plugins, "install it, or take it out")
		if slices.Contains(u.flow.Plugins[:min(i, len(u.flow.Plugins))], name.text) {
			u.add(u.of(name.node), "the plugin %q stands twice", name.text)
		}
	}
	u.lintListed(u.keys.LLM, "provider", u.loading.Providers, "name one that the configuration has under llm.providers")
}

// lintListed checks a name against a list of known ones; a nil list is not known.
func (u *unit) lintListed(k textKey, what string, known []string, otherwise string) {
	if !k.set() || known == nil || slices.Contains(known, k.text) {
		return
	}
	p := u.add(u.of(k.node), "there is no %s %q", what, k.text)
	if near := value.Nearest(k.text, known); near != "" {
		p.hint("did you mean %q?", near)
	} else {
		p.hint("%s", otherwise)
	}
}

// lintKeys finds keys of a step that do nothing without another.
func (u *unit) lintKeys(s *stepUnit) {
	k := s.keys
	if k.MaxParallel.set() && !k.ForEach.set() {
		u.add(u.of(k.MaxParallel.key), "max_parallel does nothing without for_each").hint("take it out")
	}
	if k.OverrideInput.set() && !s.EnableFilling {
		u.add(u.of(k.OverrideInput.key), "override_input does nothing without enable_filling").hint("add enable_filling: true")
	}
	if k.OnMissing.set() && !s.EnableFilling && s.Call != callSlot && s.known {
		u.warn(u.of(k.OnMissing.key), "on_missing does nothing here: %s does not ask for values", s.Call).
			hint("it belongs to slot, or to a step with enable_filling: true")
	}
	if s.EnableFilling {
		if _, ok := u.loading.Registry.Call(callSlot); !ok {
			u.add(u.of(k.EnableFilling.key), "enable_filling needs the call %s, which does not exist here", callSlot).hint("give all parameters under with")
		}
	}
	if v, static := s.ForEach.Static(); s.ForEach != nil && (s.ForEach.Text != nil || static && v.Kind() != value.List) {
		u.add(s.ForEach.Pos, "for_each wants a list, or one {{ expression }} that gives one")
	}
}

// hole is a place in parameters that is only known when the flow runs.
type hole struct {
	pointer string
	text    bool // whatever it is, it is a text
}

// sketch is the value of parameters with a text in each hole.
func sketch(p *Param, at string, holes *[]hole) value.Value {
	switch {
	case p.Expr != nil || p.Text != nil:
		*holes = append(*holes, hole{at, p.Text != nil})
		return value.OfString("")
	case p.Map != nil:
		m := value.NewMap(len(p.Map))
		for _, member := range p.Map {
			m.Set(member.Key, sketch(member.Param, at+"/"+value.Escape(member.Key), holes))
		}
		return value.OfMap(m)
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			items[i] = sketch(item, at+"/"+strconv.Itoa(i), holes)
		}
		return value.OfList(items...)
	}
	return p.Literal
}

// known is the parameters with null for what holds a template.
func known(p *Param) value.Value {
	switch {
	case p.Expr != nil || p.Text != nil:
		return value.Value{}
	case p.Map != nil:
		m := value.NewMap(len(p.Map))
		for _, member := range p.Map {
			m.Set(member.Key, known(member.Param))
		}
		return value.OfMap(m)
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			items[i] = known(item)
		}
		return value.OfList(items...)
	}
	return p.Literal
}

// lintParams checks parameters against the schema of the call, as far as they are
// known, and asks the call itself.
func (u *unit) lintParams(s *stepUnit) {
	with := s.With
	if with == nil {
		with = &Param{Pos: u.of(s.keys.Call.node), Literal: value.OfMap(nil)}
	}
	if with.Expr != nil {
		return
	}
	var holes []hole
	v := sketch(with, "", &holes)
	problems := u.checkSketch(s.Def.Info.Params, v, holes)
	if s.EnableFilling {
		problems = slices.DeleteFunc(problems, func(p schema.Problem) bool { return p.Keyword == "required" })
	}
	if s.Call == callFlow {
		problems = append(problems, u.lintSubFlow(s, v, holes)...)
	}
	if len(problems) == 0 && len(holes) == 0 && !s.EnableFilling {
		if err := construct(s.Def, v); err != nil {
			u.add(with.Pos, "%s: %v", s.Call, err).Hint = calls.HintOf(err)
			return
		}
	}
	if s.Def.Lint != nil && v.Kind() == value.Object {
		problems = append(problems, s.Def.Lint(known(with), u.loading.Registry)...)
	}
	for _, p := range problems {
		u.reportParam(s, p)
	}
}

// construct makes the call of parameters, to see whether it can be made.
func construct(def calls.Definition, params value.Value) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = calls.Errorf(calls.Internal, "the call panicked: %v", r)
		}
	}()
	_, err = def.New(params)
	return err
}

// checkSketch checks a value with holes: what depends on a hole is not known.
func (u *unit) checkSketch(s *schema.Schema, v value.Value, holes []hole) []schema.Problem {
	if len(holes) > 0 {
		s = u.loading.lenient(s)
	}
	problems := s.Check(v)
	if len(holes) == 0 {
		return problems
	}
	at, above := map[string]hole{}, map[string]bool{}
	for _, h := range holes {
		at[h.pointer] = h
		for p := h.pointer; p != ""; {
			p = p[:strings.LastIndexByte(p, '/')]
			above[p] = true
		}
	}
	return slices.DeleteFunc(problems, func(p schema.Problem) bool {
		h, isHole := at[p.Pointer]
		switch {
		case isHole:
			return p.Keyword != "additionalProperties" && (p.Keyword != "type" || !h.text)
		case above[p.Pointer]:
			return !slices.Contains([]string{"required", "additionalProperties", "type", "minItems", "maxItems", "minProperties", "maxProperties", "propertyNames"}, p.Keyword)
		}
		return false
	})
}

// lenient is a schema without the parts that depend on other parts of the value,
// which may be holes.
func (ld *loading) lenient(s *schema.Schema) *schema.Schema {
	if l, ok := ld.leniently[s]; ok {
		return l
	}
	l := s
	if doc := unconditional(s.Doc()); !value.Equal(doc, s.Doc()) {
		var err error
		if l, err = schema.Parse(doc); err != nil {
			l, _ = schema.Parse(keySchema())
		}
	}
	ld.leniently[s] = l
	return l
}

// unconditional takes if, then, else and dependencies out of a schema, and with
// them properties that happen to have such a name.
func unconditional(doc value.Value) value.Value {
	switch doc.Kind() {
	case value.List:
		items := make([]value.Value, len(doc.List()))
		for i, item := range doc.List() {
			items[i] = unconditional(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(doc.Map().Len())
		for k, v := range doc.Map().All() {
			switch k {
			case "if", "then", "else", "dependencies":
				continue
			}
			m.Set(k, unconditional(v))
		}
		return value.OfMap(m)
	}
	return doc
}

// reportParam puts a problem of a parameter where the parameter stands.
func (u *unit) reportParam(s *stepUnit, p schema.Problem) {
	name := strings.TrimPrefix(p.Pointer, "/")
	at := s.keys.Call.node
	if s.with != nil {
		at = s.keys.With.key
		if p.Keyword != "required" || strings.Count(p.Pointer, "/") > 1 {
			at = u.nodeAt(s.with, p.Pointer)
		}
		if p.Keyword == "additionalProperties" {
			at = u.keyAt(s.with, p.Pointer)
		}
	}
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch p.Keyword {
	case "required":
		u.add(u.of(at), "%s needs the parameter %q", s.Call, name).hint("`scheduler calls %s` shows its parameters", s.Call)
		return
	case "additionalProperties":
		p.Message = fmt.Sprintf("%s has no parameter %q", s.Call, name)
		if strings.Contains(name, "/") {
			p.Message = fmt.Sprintf("%s of %s has no %q", name[:strings.LastIndexByte(name, '/')], s.Call, last)
		}
	default:
		if name != "" {
			p.Message = name + ": " + p.Message
		}
	}
	found := u.add(u.of(at), "%s", p.Message)
	found.Hint, found.Warning = p.Hint, p.Warning
}

// nodeAt is the node that a JSON pointer names, or the nearest one around it.
func (u *unit) nodeAt(n *yaml.Node, pointer string) *yaml.Node {
	node, _ := u.walkTo(n, pointer)
	return node
}

// keyAt is the key of the member that a JSON pointer names.
func (u *unit) keyAt(n *yaml.Node, pointer string) *yaml.Node {
	node, key := u.walkTo(n, pointer)
	if key != nil {
		return key
	}
	return node
}

func (u *unit) walkTo(n *yaml.Node, pointer string) (node, key *yaml.Node) {
	node = n
	if pointer == "" {
		return node, nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var next *yaml.Node
		switch r := yaml.Resolve(node); r.Kind {
		case yaml.Mapping:
			for i := 0; i < len(r.Content) && next == nil; i += 2 {
				if k := yaml.Resolve(r.Content[i]); k.Kind == yaml.Scalar && k.Value == name {
					key, next = r.Content[i], r.Content[i+1]
				}
			}
		case yaml.Sequence:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(r.Content) {
				key, next = nil, r.Content[i]
			}
		}
		if next == nil {
			return node, nil
		}
		node = next
	}
	return node, key
}

// lintSubFlow loads the flow that a step runs, when its path is known, and checks
// the inputs that it gets. The problems of the sub-flow are its own.
func (u *unit) lintSubFlow(s *stepUnit, with value.Value, holes []hole) []schema.Problem {
	path, _ := with.Get("path")
	text, ok := path.Str()
	isHole := func(pointer string) bool {
		return slices.ContainsFunc(holes, func(h hole) bool { return h.pointer == pointer })
	}
	if !ok || text == "" || isHole("/path") {
		return nil
	}
	if s.Sub = u.loading.subFlow(u, u.of(u.nodeAt(s.with, "/path")), text); s.Sub == nil || isHole("/inputs") {
		return nil
	}
	inputs, given := with.Get("inputs")
	if !given {
		inputs = value.OfMap(nil)
	}
	var inner []hole
	for _, h := range holes {
		if rest, below := strings.CutPrefix(h.pointer, "/inputs/"); below {
			inner = append(inner, hole{"/" + rest, h.text})
		}
	}
	doc := s.Sub.Inputs.Doc()
	problems := u.checkSketch(s.Sub.Inputs, s.Sub.Inputs.ApplyDefaults(inputs), inner)
	for i := range problems {
		name := strings.TrimPrefix(problems[i].Pointer, "/")
		problems[i].Pointer = "/inputs" + problems[i].Pointer
		if problems[i].Keyword == "required" {
			problems[i].Keyword = "" // not a parameter of the call
			problems[i].Message = fmt.Sprintf("the flow %s needs the input %q", text, name)
		}
	}
	if declared, ok := doc.Get("properties"); ok && !says(doc, "additionalProperties", "patternProperties") {
		for name := range inputs.Map().All() {
			if _, has := declared.Get(name); has {
				continue
			}
			p := schema.Problem{Pointer: "/inputs/" + value.Escape(name), Message: fmt.Sprintf("the flow %s has no such input", text)}
			if near := value.Nearest(name, declared.Map().Keys()); near != "" {
				p.Hint = fmt.Sprintf("did you mean %q?", near)
			}
			problems = append(problems, p)
		}
	}
	return problems
}

func says(doc value.Value, keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { _, ok := doc.Get(k); return ok })
}

// subFlow gives the flow at path, relative to the flow that names it, nil where it
// has errors. Each file is read once.
func (ld *loading) subFlow(u *unit, at Position, path string) *Flow {
	full := filepath.Clean(filepath.FromSlash(path))
	if !filepath.IsAbs(full) {
		full = filepath.Join(u.dir, full)
	}
	if i := slices.Index(ld.stack, full); i >= 0 {
		u.add(at, "flows run each other in a circle: %s", strings.Join(append(slices.Clone(ld.stack[i:]), full), " -> ")).
			hint("a flow cannot run itself; use for_each, or the call agent, to repeat work")
		return nil
	}
	if flow, seen := ld.flows[full]; seen {
		return flow
	}
	if len(ld.stack) >= maxFlowDepth {
		u.add(at, "flows stand in flows more than %d deep", maxFlowDepth)
		return nil
	}
	src, err := ld.also("", full)
	if err != nil {
		u.problems = append(u.problems, unreadable(at, path, err))
		return nil
	}
	flow := ld.flow(full, src)
	ld.flows[full] = flow
	return flow
}

// outputOf is the schema of what other steps see of a step: the call's output, or
// that of the flow that it runs, with what for_each and on_error make of it.
func (u *unit) outputOf(s *stepUnit) value.Value {
	if !s.known || s.Def.Info.Output == nil {
		return keySchema()
	}
	doc := s.Def.Info.Output.Doc()
	if s.Sub != nil && s.Sub.Outputs != nil {
		doc = s.Sub.outputs
	}
	if s.Continue {
		doc = withError(doc)
	}
	if s.ForEach != nil {
		doc = keySchema("type", "array", "items", doc)
	}
	return doc
}

// withError is an output schema with the error that a failed step leaves instead.
func withError(doc value.Value) value.Value {
	properties, ok := doc.Get("properties")
	if !ok {
		return doc
	}
	p := properties.Map().Clone()
	p.Set("error", closedObject("kind", "message", "hint"))
	m := doc.Map().Clone()
	m.Set("properties", value.OfMap(p))
	m.Delete("required")
	return value.OfMap(m)
}

// closedObject is the schema of an object of texts.
func closedObject(names ...string) value.Value {
	properties := value.NewMap(len(names))
	for _, name := range names {
		properties.Set(name, keySchema("type", "string"))
	}
	return keySchema("type", "object", "properties", properties, "additionalProperties", false)
}

// shape is the schema of what a param will give, as far as it is known.
func (u *unit) shape(p *Param) value.Value {
	switch {
	case p.Expr != nil:
		return u.shapeOf(p)
	case p.Text != nil:
		return keySchema("type", "string")
	case p.Map != nil:
		properties := value.NewMap(len(p.Map))
		for _, m := range p.Map {
			properties.Set(m.Key, u.shape(m.Param))
		}
		return keySchema("type", "object", "properties", properties, "additionalProperties", false)
	case p.List != nil:
		return keySchema("type", "array")
	case p.Literal.Kind() == value.Object:
		properties := value.NewMap(p.Literal.Map().Len())
		for k, v := range p.Literal.Map().All() {
			properties.Set(k, u.shape(&Param{Literal: v}))
		}
		return keySchema("type", "object", "properties", properties, "additionalProperties", false)
	}
	return keySchema("type", p.Literal.Kind().String())
}

// lintTypes compares what expressions will give with what the parameters want,
// where both are known.
func (u *unit) lintTypes(s *stepUnit) {
	if !s.known || s.With == nil {
		return
	}
	params := s.Def.Info.Params.Doc()
	if s.Call == callFlow && s.Sub != nil {
		properties, _ := params.Get("properties")
		params = with(params, "properties", with(properties, "inputs", s.Sub.Inputs.Doc()))
	}
	u.lintType(s.With, params, "with")
}

func (u *unit) lintType(p *Param, want value.Value, name string) {
	switch {
	case p.Expr != nil:
		shape := u.shapeOf(p)
		have, wants := typesOf(shape), typesOf(want)
		if len(have) == 0 || len(wants) == 0 || slices.ContainsFunc(have, func(t string) bool { return slices.Contains(wants, t) }) {
			return
		}
		u.add(p.Pos, "%s: want %s, but %s is %s", name, strings.Join(wants, " or "), p.source, article(have[0]))
	case p.Map != nil:
		for _, m := range p.Map {
			u.lintType(m.Param, lookUpPath(want, []string{m.Key}).schema, m.Key)
		}
	case p.List != nil:
		for _, item := range p.List {
			u.lintType(item, lookUpPath(want, []string{"0"}).schema, name)
		}
	}
}

// typesOf are the JSON types that a schema allows, nil where it does not say. An
// integer and another number are told apart only when there is a value.
func typesOf(schema value.Value) []string {
	if says(schema, "$ref", "anyOf", "oneOf", "allOf", "if") {
		return nil
	}
	typed, _ := schema.Get("type")
	var types []string
	for _, t := range append(slices.Clone(typed.List()), typed) {
		if name, ok := t.Str(); ok {
			types = append(types, strings.Replace(name, "integer", "number", 1))
		}
	}
	return types
}
