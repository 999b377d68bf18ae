package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// templateView has the names that the templates of one place may use.
type templateView struct {
	step *stepUnit // nil outside steps
	// item: item and index are there. failure: error is there.
	item, failure bool
	// steps: outputs of steps may be there.
	steps bool
	// params is the schema of the name params in approvals; null elsewhere.
	params value.Value
	// where is the name of the place in messages.
	where wording.Text
}

// stepUse is a step's use of another step's output.
type stepUse struct {
	nameUse
	from *stepUnit
	to   *stepUnit
	// asked: the template, or the condition of the step, tests whether the
	// other one has an output.
	asked bool
}

// definedTest is a template that asks whether a name is there.
type definedTest struct {
	template *yaml.Node
	name     string
}

// definedTests finds the steps that templates test, which makes all their uses of those steps safe. {{ a.text |
// default("") }} only makes itself safe, and only if a was skipped.
func definedTests(uses []nameUse) map[definedTest]bool {
	var asked map[definedTest]bool
	for _, u := range uses {
		if u.Guarded && len(u.Path) == 1 {
			if asked == nil {
				asked = map[definedTest]bool{}
			}
			asked[definedTest{u.template, u.Path[0]}] = true
		}
	}
	return asked
}

// lintNames checks every name that a template mentions.
func (u *unit) lintNames() {
	var uses []stepUse
	for s := range u.eachStep() {
		outer := templateView{step: s, steps: true, where: say("step %s", s.ID)}
		inner := outer
		inner.item = s.ForEach != nil
		first := len(uses)
		uses = append(uses, u.lintUses(outer, s.whenUses)...)
		guarded := map[int]bool{}
		for _, use := range uses[first:] {
			guarded[use.to.Index] = guarded[use.to.Index] || use.asked
		}
		uses = append(uses, u.lintUses(outer, s.eachUses)...)
		uses = append(uses, u.lintUses(inner, s.uses)...)
		for _, a := range s.approved {
			inner.params = a.params
			uses = append(uses, u.lintUses(inner, a.uses)...)
		}
		for i := range uses[first:] {
			uses[first+i].asked = uses[first+i].asked || guarded[uses[first+i].to.Index]
		}
	}
	u.lintStepUses(uses)
	for _, use := range u.lintUses(templateView{steps: true, where: wording.Same("outputs")}, u.outputUses) {
		u.lintPresence(use, nil)
	}
	for _, use := range u.lintUses(templateView{steps: true, failure: true, where: wording.Same("on_error")}, u.errorUses) {
		if !use.asked {
			u.warn(use.pos(), "the step %q may not have finished when the flow fails", use.to.ID).
				hint("write {{ %s if %s is defined else '...' }}", joinPath(use.Path), use.to.ID)
		}
	}
	u.lintUses(templateView{where: wording.Same("memory")}, u.memoryUses)
	u.lintUses(templateView{where: wording.Same("timezone")}, u.zoneUses)
	for s := range u.eachStep() {
		u.lintList(s)
		u.lintTypes(s)
	}
}

// lintUses checks names in one place, and returns the uses that are steps.
func (u *unit) lintUses(v templateView, uses []nameUse) (steps []stepUse) {
	asked := definedTests(uses)
	for use := range untilOver(u.loading, uses) {
		if len(use.Path) == 0 {
			continue
		}
		name := use.Path[0]
		if name == paramsName && !v.params.IsNull() {
			u.lintPath(use, v.params, wording.Same(name))
			continue
		}
		if i, isStep := u.byID[name]; isStep && !slices.Contains(reservedNames, name) {
			to := u.steps[i]
			switch {
			case !v.steps:
				u.add(use.pos(), "%s is decided before the first step: no step has an output yet", v.where)
			case v.step != nil && v.step.Index == i:
				u.add(use.pos(), "the step %q cannot see its own output", name)
			default:
				steps = append(steps, stepUse{nameUse: use, from: v.step, to: to, asked: asked[definedTest{use.template, name}]})
				u.lintPath(use, to.Output, say("the output of step %q", name))
			}
			continue
		}
		u.lintReserved(v, use, name)
	}
	return steps
}

// lintReserved checks a name that is not a step.
func (u *unit) lintReserved(v templateView, use nameUse, name string) {
	switch name {
	case "inputs":
		u.lintInput(use)
	case "question", "summary":
		u.lintPath(use, keySchema("type", "string"), wording.Same(name))
	case "facts":
		u.lintPath(use, keySchema("type", "array"), wording.Same(name))
	case conversationName:
		u.lintPath(use, conversationShape, wording.Same(name))
	case "history":
		u.lintPath(use, keySchema("type", "array", "items", recordShape), wording.Same(name))
	case "run":
		if v.step != nil {
			v.step.MentionsRun = true
		}
		u.lintPath(use, runShape, wording.Same(name))
	case "vars":
		u.lintVariable(v, use)
	case "secrets":
		u.lintSecret(use)
	case "item", "index":
		if !v.item {
			p := u.add(use.pos(), "%s is not known here", name)
			if v.step != nil && v.step.ForEach != nil {
				p.hint("when and for_each are decided once, before the first item")
			} else {
				p.hint("only with of a step with for_each sees it")
			}
			return
		}
		shape := keySchema("type", "integer")
		if name == "item" {
			shape = u.shapeOfItem(v.step)
		}
		u.lintPath(use, shape, wording.Same(name))
	case "error":
		if !v.failure {
			u.add(use.pos(), "error is not known here").hint("only on_error of the flow sees it; a step with on_error: continue leaves STEP.error")
			return
		}
		u.lintPath(use, errorShape, wording.Same(name))
	default:
		u.unknownName(use, name)
	}
}

func (u *unit) unknownName(use nameUse, name string) {
	p := u.add(use.pos(), "unknown name %q", name)
	properties, _ := u.flow.Inputs.Doc().Get("properties")
	if _, isInput := properties.Get(name); isInput {
		p.hint("inputs are named by inputs.%s", name)
		return
	}
	near, remedy := u.nearStep(name, reservedNames), prompt.NameRemedy(name)
	_, isVariable := u.loading.Registry.Resolver(name)
	switch {
	case near != "":
		p.hint("did you mean %q?", near)
	case isVariable:
		p.hint("variables are named by vars.%s", name)
	case remedy.En != "":
		p.setHint(remedy)
	default:
		p.hint("names are the steps %s, and %s", value.ListNames(u.stepIDs()), strings.Join(reservedNames, ", "))
	}
}

// lintPath checks the members that a template takes of a value.
func (u *unit) lintPath(use nameUse, shape value.Value, what wording.Text) {
	found := lookUpPath(shape, use.Path[1:])
	if found.unknown < 0 {
		u.lintComparisons(use, found.schema)
		return
	}
	member := use.Path[1+found.unknown]
	if found.unknown > 0 {
		what = wording.Same(joinPath(use.Path[:1+found.unknown]))
	}
	if found.names == nil {
		p := u.add(use.pos(), "%s is %s and has no %q", what, withArticle(found.kind), member)
		if slices.Contains(methodsOf[found.kind], member) {
			p.hint("to call the method write %s()", joinPath(use.Path[:2+found.unknown]))
		} else if found.kind == "array" {
			p.hint("take an element with [0], or loop over them")
		}
		return
	}
	if param := u.neededParam(use, found.unknown); param != "" {
		if !use.Guarded {
			u.add(use.pos(), "%s has no %q without %s", what, member, param).
				hint("add %s to the step %s", param, use.Path[0])
		}
		return
	}
	p := u.add(use.pos(), "%s has no %q", what, member)
	p.suggest(member, found.names, "it has %s")
	if slices.Contains(methodsOf[found.kind], member) {
		p.hint("to call the method write %s()", joinPath(use.Path[:2+found.unknown]))
	}
}

// neededParam returns the parameter with which the output of a step would have the member at an
// index of the path; "" for none.
func (u *unit) neededParam(use nameUse, unknown int) string {
	i, isStep := u.byID[use.Path[0]]
	if !isStep || !u.steps[i].known {
		return ""
	}
	s := u.steps[i]
	at := 0
	if s.ForEach != nil {
		at = 1
	}
	if unknown != at {
		return ""
	}
	return s.Def.Info.OnlyWith[use.Path[1+unknown]]
}

// lintComparisons finds texts that a value which can only be some is compared with.
func (u *unit) lintComparisons(use nameUse, doc value.Value) {
	enum, has := doc.Get("enum")
	if !has {
		return
	}
	var texts []string
	for _, v := range enum.List() {
		text, _ := v.Str()
		texts = append(texts, text)
	}
	for _, c := range use.Compared {
		text, isText := c.Str()
		if !isText || slices.Contains(texts, text) {
			continue
		}
		u.add(use.pos(), "%s is never %q", joinPath(use.Path), text).suggest(text, texts, "it is one of %s")
	}
}

// joinPath returns a path as a template writes it.
func joinPath(path []string) string {
	var b strings.Builder
	for i, part := range path {
		switch _, err := strconv.Atoi(part); {
		case err == nil:
			b.WriteString("[" + part + "]")
		case i > 0:
			b.WriteString("." + part)
		default:
			b.WriteString(part)
		}
	}
	return b.String()
}

// lintInput checks a name against the properties of the input schema. A name that the schema does not have is
// treated as a mistake, unless it allows more.
func (u *unit) lintInput(use nameUse) {
	doc := u.flow.Inputs.Doc()
	properties, listed := doc.Get("properties")
	if listed && len(use.Path) > 1 && !hasAny(doc, "additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf") {
		if _, ok := properties.Get(use.Path[1]); !ok && !use.Guarded {
			p := u.add(use.pos(), "there is no input %q", use.Path[1])
			p.hint("declare it under properties of inputs")
			p.suggest(use.Path[1], properties.Map().Keys(), "there are %s; declare it under properties of inputs")
			if slices.Contains(methodsOf["object"], use.Path[1]) {
				p.hint("to call the method write %s()", joinPath(use.Path[:2]))
			}
			return
		}
	}
	u.lintPath(use, doc, wording.Same("inputs"))
}

// lintVariable checks vars.NAME, and notes that the step wants it.
func (u *unit) lintVariable(v templateView, use nameUse) {
	if len(use.Path) < 2 {
		u.add(use.pos(), "vars needs the name of a variable").hint("write vars.NAME")
		return
	}
	name := use.Path[1]
	if v.step != nil && !slices.Contains(v.step.Resolve, name) {
		v.step.Resolve = append(v.step.Resolve, name)
	}
	if err := u.loading.Registry.CheckPlugin("vars." + name); err != nil {
		u.add(use.pos(), "the variable %q cannot be used: %v", name, err).hintOf(err)
		return
	}
	r, ok := u.loading.Registry.Resolver(name)
	if !ok {
		u.reportUnknownVariable(use, name)
		return
	}
	if described, ok := r.(interface{ Schema(name string) value.Value }); ok {
		inner := use
		inner.Path = use.Path[1:]
		u.lintPath(inner, described.Schema(name), wording.Same("vars."+name))
	}
}

func (u *unit) reportUnknownVariable(use nameUse, name string) {
	p := u.add(use.pos(), "no resolver gives the variable %q", name)
	p.hint("resolvers come with plugins")
	p.suggest(name, u.loading.Registry.VariableNames(), "there are %s")
}

func (u *unit) lintSecret(use nameUse) {
	if len(use.Path) < 2 {
		u.add(use.pos(), "secrets needs the name of a secret").hint("write secrets.NAME")
		return
	}
	u.lintSecretName(use.pos(), use.Path[1])
	if len(use.Path) == 2 || use.Compared != nil {
		return
	}
	if _, err := strconv.Atoi(use.Path[2]); err == nil {
		u.warn(use.pos(), "%s is one character of a secret: a step that is given it fails, for it could not be masked", joinPath(use.Path)).
			hint("give the whole secret, or four characters of it or more; to decide by a secret, compare it in a condition")
	}
}

// lintSecretName checks that the settings allow a secret.
func (u *unit) lintSecretName(pos Position, name string) {
	allowed := u.loading.Secrets
	if allowed == nil || slices.Contains(allowed, name) {
		return
	}
	p := u.add(pos, "the secret %q is not allowed", name)
	p.hint("list it under secrets in the configuration")
	p.suggest(name, allowed, "there are %s; list it under secrets in the configuration")
}

// lintStepUses checks that steps only use upstream steps.
func (u *unit) lintStepUses(uses []stepUse) {
	pairs := make([][2]int, len(uses))
	for i, use := range uses {
		pairs[i] = [2]int{use.to.Index, use.from.Index}
	}
	var apart []stepUse
	for i, is := range u.order.areUpstream(pairs) {
		if is {
			u.lintPresence(uses[i], uses[i].from)
		} else {
			apart = append(apart, uses[i])
		}
	}
	turned := make([][2]int, len(apart))
	for i, use := range apart {
		turned[i] = [2]int{use.from.Index, use.to.Index}
	}
	for i, after := range u.order.areUpstream(turned) {
		use := apart[i]
		p := u.add(use.pos(), "the step %q is not upstream of %q: its output may not be there yet", use.to.ID, use.from.ID)
		if after {
			p.hint("%q comes after %q; it cannot be used before", use.to.ID, use.from.ID)
		} else {
			p.setHint(u.needsWith(use.from, use.to.ID))
		}
	}
}

// needsWith returns the line that makes a step come after another one too.
func (u *unit) needsWith(s *stepUnit, id string) wording.Text {
	if len(s.Needs) > 8 {
		return say("add %s to its needs", id)
	}
	var ids []string
	for _, n := range s.Needs {
		ids = append(ids, u.steps[n].ID)
	}
	return say("write needs: [%s]", strings.Join(append(ids, id), ", "))
}

// lintPresence warns of an output that is not there when its step was skipped.
// from is nil for outputs, which see all steps.
func (u *unit) lintPresence(use stepUse, from *stepUnit) {
	to := use.to.Index
	maySkip := u.order.rank[to] >= 0 && u.order.skippable[to]
	if !maySkip || use.asked || use.Guarded {
		return
	}
	if from != nil && (u.order.rank[from.Index] < 0 || u.order.surelyRan(to, from.Index)) {
		return
	}
	u.warn(use.pos(), "the step %q may be skipped, and has no output then", use.to.ID).
		hint("write {{ %s if %s is defined else '...' }}", joinPath(use.Path), use.to.ID)
}

// completeFlow sets the data of a correct flow that other code uses.
func (u *unit) completeFlow() {
	u.flow.byID = u.byID
	u.flow.ReadsConversation = u.readsConversation()
	u.flow.CanWait = slices.ContainsFunc(u.steps, u.stepCanWait)
	tools := newPromptTools(u.steps)
	for s := range u.eachStep() {
		s.Tools = tools.toolsAfter(s.ID)
	}
	if u.flow.Outputs != nil {
		u.flow.outputs = u.shapeOfParam(u.flow.Outputs)
	}
}
