package flow

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// usualRetry has the defaults for the members of retry that a step leaves out.
var usualRetry = Retry{MaxAttempts: 3, InitialInterval: 500 * time.Millisecond, Multiplier: 2, MaxInterval: 10 * time.Second}

// compileFlow makes the Flow and its Steps from the keys. Calls, order and names are checked later.
func (u *unit) compileFlow() {
	f, k := u.flow, &u.keys
	f.Name, f.Description, f.Language, f.LLM = k.Name.text, k.Description.text, k.Language.text, k.LLM.texts()
	f.Queue = k.Queue.text
	f.Zone, f.Timezone = u.compileTimezone(k.Timezone)
	if f.Name == "" {
		base := filepath.Base(f.File)
		f.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	f.Inputs = u.inputSchema()
	for _, name := range k.Plugins {
		f.Plugins = append(f.Plugins, name.text)
	}
	if k.Memory != nil {
		f.User = u.compileOptional(k.Memory.User, &u.memoryUses)
		f.Session = u.compileOptional(k.Memory.Session, &u.memoryUses)
		f.AllSessions = k.Memory.Sessions.text == "all"
	}
	if k.Budget != nil {
		f.MaxTokens = k.Budget.MaxTokens.n
	}
	f.Outputs = u.compileOptional(k.Outputs, &u.outputUses)
	u.setOrigin(f.Outputs, k.Outputs)
	u.checkNames(k.Outputs.node, "the output")
	if k.Inputs.isSet() {
		u.checkNames(nodeAt(k.Inputs.node, "/properties"), "the input")
	}
	f.OnError = u.compileOptional(k.OnError, &u.errorUses)
	u.compileTriggers()
	for s := range untilOver(u.loading, k.Steps) {
		if s.itself.isSet() {
			u.compileStep(s)
		}
	}
}

// checkNames refuses invisible characters in the keys of a map that name something.
func (u *unit) checkNames(n *yaml.Node, what string) {
	if n == nil || yaml.Resolve(n).Kind != yaml.Mapping {
		return
	}
	content := yaml.Resolve(n).Content
	for i := 0; i < len(content); i += 2 {
		if key := yaml.Resolve(content[i]); key.Kind == yaml.Scalar {
			u.checkName(content[i], what, key.Value)
		}
	}
}

// inputSchema returns the schema of the inputs; a flow that has none takes any.
func (u *unit) inputSchema() *schema.Schema {
	doc := keySchema("type", "object")
	k := u.keys.Inputs
	if k.isSet() {
		if given, ok := u.readWholeLiteral(k.node); ok {
			doc = given
		}
	}
	kind, typed := doc.Get("type")
	if name, _ := kind.Str(); typed && name != "object" {
		u.add(u.positionOf(nodeAt(k.node, "/type")), "inputs must be the schema of an object, not of %s", kind.JSON()).
			hint("write type: object, with the inputs under properties")
	}
	if _, ok := doc.Get("properties"); !typed && !ok && doc.Map().Len() > 0 {
		u.add(u.positionOf(k.node), "inputs is not a JSON Schema of an object").
			hint("write inputs: {type: object, properties: {%s: {type: string}}}", doc.Map().Keys()[0])
	}
	u.lintKeywords("inputs", k.node, schema.UnknownKeywords(doc))
	s, err := schema.Parse(doc)
	for err != nil {
		u.reportSchema("inputs", k.node, "", err)
		rest, ok := withoutInvalid(doc, err)
		if !ok {
			s, _ = schema.Parse(keySchema("type", "object"))
			break
		}
		doc = rest
		s, err = schema.Parse(doc)
	}
	u.lintDefaults("inputs", k.node, "", doc)
	return s
}

// withoutInvalid returns a schema with {} in place of the faulty properties and definitions, so that checks of the
// others still apply; ok is false if a fault is elsewhere.
func withoutInvalid(doc value.Value, err error) (rest value.Value, ok bool) {
	var wrong *schema.InvalidError
	if !errors.As(err, &wrong) || len(wrong.Problems) == 0 {
		return doc, false
	}
	root := doc.Map().Clone()
	for _, p := range wrong.Problems {
		tokens, _ := value.SplitPointer(p.Pointer)
		if len(tokens) < 2 || !slices.Contains([]string{"properties", "definitions", "$defs"}, tokens[0]) {
			return doc, false
		}
		group, _ := root.Get(tokens[0])
		if own, _ := group.Get(tokens[1]); own.Map().Len() == 0 {
			return doc, false
		}
		members := group.Map().Clone()
		members.Set(tokens[1], keySchema())
		root.Set(tokens[0], value.OfMap(members))
	}
	return value.OfMap(root), true
}

// reportSchema reports the faults of a schema of the flow, each at its own place. within is the pointer of the
// node in the schema.
func (u *unit) reportSchema(key string, n *yaml.Node, within string, err error) {
	var wrong *schema.InvalidError
	if !errors.As(err, &wrong) || len(wrong.Problems) == 0 {
		u.add(u.positionOf(n), "%s: %v", key, err)
		return
	}
	for _, p := range wrong.Problems {
		pointer := strings.TrimPrefix(p.Pointer, within)
		at := nodeAt(n, pointer)
		message, hint := p.Text()
		u.add(u.positionOf(at), "%s%s: not a JSON Schema: %s", key, pointer, message).setHint(hint)
	}
}

// lintDefaults reports defaults that do not fit the schema beside them. within is the pointer of the node in the schema.
func (u *unit) lintDefaults(key string, n *yaml.Node, within string, doc value.Value) {
	for _, p := range schema.MisfitDefaults(doc) {
		pointer := strings.TrimPrefix(p.Pointer, within)
		message, hint := p.Text()
		u.add(u.positionOf(nodeAt(n, pointer)), "%s%s: %s", key, pointer, message).setHint(hint)
	}
}

// lintKeywords warns of keywords that have no effect.
func (u *unit) lintKeywords(key string, n *yaml.Node, problems schema.Problems) {
	for _, p := range problems {
		message, hint := p.Text()
		u.warn(u.positionOf(keyAt(n, p.Pointer)), "%s: %s", key, message).setHint(hint)
	}
}

func (u *unit) compileStep(k *stepKeys) {
	s := &stepUnit{keys: k, Step: &Step{
		Index: len(u.steps), Pos: u.positionOf(k.itself.node), ID: k.ID.text, Call: k.Call.text,
		Name: k.Name.text, Description: k.Description.text, Queue: k.Queue.text, ToUser: k.ToUser.is,
		MaxParallel: k.MaxParallel.n, LLM: k.LLM.texts(), EnableFilling: k.EnableFilling.is,
		OnMissing: k.OnMissing.text, Continue: k.OnError.text == "continue",
		Retry: Retry{MaxAttempts: 1},
	}}
	if s.OnMissing == "" {
		s.OnMissing = missingAsk
	}
	u.steps = append(u.steps, s)
	u.flow.Steps = append(u.flow.Steps, s.Step)
	u.lookUpCall(s)
	s.When = u.compileOptional(k.When, &s.whenUses)
	s.ForEach = u.compileOptional(k.ForEach, &s.eachUses)
	u.setOrigin(s.ForEach, k.ForEach)
	if k.With.isSet() {
		s.with = yaml.Resolve(k.With.node)
		s.With = u.compileWith(s)
		u.setOrigin(s.With, k.With)
	}
	if k.OverrideInput.isSet() {
		given, ok := u.readWholeLiteral(k.OverrideInput.node)
		if !ok {
			given = value.OfMap(nil)
		}
		s.OverrideInput = given
		u.compileOverride(s)
	}
	u.compileStepApproval(s)
	u.compileTimes(s)
}

// compileOverride checks the schemas of override_input as overrides of the call's parameters: in its draft, if
// that is known, and with its definitions.
func (u *unit) compileOverride(s *stepUnit) {
	node := s.keys.OverrideInput.node
	params := u.paramsDoc(s)
	whole := keySchema("type", "object", "properties", s.OverrideInput)
	for _, shared := range []string{"$schema", "definitions", "$defs"} {
		if v, ok := params.Get(shared); ok {
			whole = withMembers(whole, shared, v)
		}
	}
	_, err := schema.Parse(whole)
	if params.IsNull() && err != nil {
		latest := withMembers(whole, "$schema", value.OfString(schema.LatestDraft))
		if _, errOfLatest := schema.Parse(latest); errOfLatest == nil {
			whole, err = latest, nil
		}
	}
	if err != nil {
		u.reportSchema("override_input", node, "/properties", err)
	}
	u.lintDefaults("override_input", node, "/properties", whole)
	for name, doc := range s.OverrideInput.Map().All() {
		at := "/" + value.Escape(name)
		u.lintKeywords("override_input"+at, nodeAt(node, at), schema.UnknownKeywordsOfPart(doc, params))
	}
}

// paramsDoc returns the schema of the parameters of the step's call; null if that is known only when the step
// runs.
func (u *unit) paramsDoc(s *stepUnit) (doc value.Value) {
	if !s.known {
		return doc
	}
	if s.Def.ParamsFor == nil {
		return s.Def.Info.Params.Doc()
	}
	if s.Call == CallFlow || s.With == nil || u.loading.ReadFile != nil {
		return doc
	}
	given := s.With.Written()
	for _, v := range given.Map().All() {
		if v.IsNull() {
			return doc
		}
	}
	defer func() {
		if recover() != nil { // calls are third parties
			doc = value.Value{}
		}
	}()
	env := calls.NewEnv()
	env.Dir = u.dir
	narrow, err := s.Def.ParamsFor(u.loading.ctx, env, given)
	if err != nil {
		return doc // its faults are reported with the parameters
	}
	return narrow.Doc()
}

// compileTimes sets timeout and retry, from the step or else from the defaults.
func (u *unit) compileTimes(s *stepUnit) {
	defaults := u.keys.Defaults
	if defaults == nil {
		defaults = &defaultKeys{}
	}
	s.Timeout = defaults.Timeout.d
	if s.keys.Timeout.isSet() {
		s.Timeout = s.keys.Timeout.d
	}
	for _, k := range []*retryKeys{defaults.Retry, s.keys.Retry} {
		if k == nil {
			continue
		}
		if s.Retry.InitialInterval == 0 {
			s.Retry = usualRetry
		}
		if k.MaxAttempts.isSet() {
			s.Retry.MaxAttempts = k.MaxAttempts.n
		}
		if k.InitialInterval.isSet() {
			s.Retry.InitialInterval = k.InitialInterval.d
		}
		if k.Multiplier.isSet() {
			s.Retry.Multiplier = k.Multiplier.x
		}
		if k.MaxInterval.isSet() {
			s.Retry.MaxInterval = k.MaxInterval.d
		} else {
			s.Retry.MaxInterval = max(s.Retry.MaxInterval, s.Retry.InitialInterval)
		}
		isShorter := k.MaxInterval.isSet() && s.Retry.MaxInterval < s.Retry.InitialInterval
		isFirst := k == s.keys.Retry || s.Index == 0 // the defaults of a flow are reported once
		if isShorter && isFirst {
			u.add(u.positionOf(k.MaxInterval.node), "max_interval %s is shorter than initial_interval %s", s.Retry.MaxInterval, s.Retry.InitialInterval)
		}
	}
}

// compileWith compiles with: parameters that the call takes literally are data, except the values that !expr
// computes in them.
func (u *unit) compileWith(s *stepUnit) *Param {
	var literal []string
	if s.known {
		literal = s.Def.Info.Literal
	}
	if s.with.Kind != yaml.Mapping || ownTag(s.with) != "" {
		return u.compileParam(s.with, &s.uses)
	}
	return u.compileMap(s.with, func(m member) *Param {
		if s.known && holdsApprovals(s.Def.Info, "/"+value.Escape(m.name)) {
			return u.compileGuarded(s, m.node, "/"+value.Escape(m.name))
		}
		if slices.Contains(literal, m.name) {
			return u.compileLiteral(m.node, &s.uses)
		}
		return u.compileParam(m.node, &s.uses)
	})
}

// lookUpCall finds the definition of a step's call.
func (u *unit) lookUpCall(s *stepUnit) {
	if !s.keys.Call.isSet() {
		return
	}
	registry := u.loading.Registry
	if err := registry.CheckCall(s.Call); err != nil { // nor can its parameters be checked
		u.add(u.positionOf(s.keys.Call.node), "%v", err).hintOf(err)
		return
	}
	s.Def, s.known = registry.Call(s.Call)
}
