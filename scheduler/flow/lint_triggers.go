package flow

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// lintVerify checks that a webhook has the secret that it is verified with.
func (u *unit) lintVerify(k *webhookKeys) {
	isNone := k.Verify.text == trigger.VerifyNone
	switch {
	case !k.Verify.isSet():
	case isNone && k.Secret.isSet():
		u.add(u.positionOf(k.Secret.node), "with verify: none the secret is not looked at").hint("write verify: standard, github or header, or leave the secret out")
	case !isNone && !k.Secret.isSet():
		u.add(u.positionOf(k.itself.node), "the webhook has no secret").hint("name one of the setting secrets: secret: HOOK_KEY")
	case !isNone:
		u.lintSecretName(u.positionOf(k.Secret.node), k.Secret.text)
	}
	if k.Header.isSet() && k.Verify.text != trigger.VerifyHeader {
		u.add(u.positionOf(k.Header.key), "the header is not looked at").hint("write verify: header")
	}
}

// webhookShape and scheduleShape are the schemas of the names in the templates of triggers.
var (
	webhookShape = keySchema(
		"type", "object", "additionalProperties", false, "properties", keySchema(
			"body", keySchema("type", "object", "additionalProperties", false, "properties", keySchema("text", keySchema("type", "string"), "json", keySchema())),
			"headers", keySchema("type", "object", "additionalProperties", keySchema("type", "string")),
			"query", keySchema("type", "object", "additionalProperties", keySchema("type", "string"))))
	scheduleShape = keySchema(
		"type", "object", "additionalProperties", false, "properties", keySchema(
			"id", keySchema("type", "string"), "time", keySchema("type", "string")))
)

// lintTriggers checks the secrets of webhooks and the inputs that triggers give.
func (u *unit) lintTriggers() {
	if keys := u.keys.Triggers; keys != nil {
		for _, k := range keys.Webhooks {
			if k.itself.isSet() {
				u.lintVerify(k)
			}
		}
	}
	for _, s := range u.flow.Triggers.Schedules {
		u.lintTriggerUser(s.Pos, s.User, s.Inputs)
	}
	for _, w := range u.flow.Triggers.Webhooks {
		u.lintTriggerUser(w.Pos, w.User, w.Inputs)
	}
	for in := range untilOver(u.loading, u.triggers) {
		shape := scheduleShape
		if in.scope == "webhook" {
			shape = webhookShape
		}
		for _, use := range in.uses {
			if len(use.Path) == 0 {
				continue
			}
			if use.Path[0] == in.scope {
				u.lintPath(use, shape, wording.Same(in.scope))
				continue
			}
			u.add(use.pos(), "%s is not known here", use.Path[0]).hint("the inputs of a %s know %s alone", in.scope, in.scope)
		}
		if !in.isConversation {
			u.lintTriggerInputs(in)
		}
	}
}

// lintTriggerUser refuses a trigger whose runs are bound to a user, in a flow that works in the memory of another one, as far as
// that is known now: no run would begin. For example, memory: {user: ann} with a schedule of the user lin.
func (u *unit) lintTriggerUser(pos Position, user string, inputs *Param) {
	if user == "" || u.flow.User == nil {
		return
	}
	given := value.OfMap(nil)
	if inputs != nil {
		given = inputs.Written() // null for computed values
	}
	given = u.flow.Inputs.ApplyDefaults(given)
	isKnown := true
	u.flow.User.EachRef(func(ref prompt.Ref) {
		isMember := len(ref.Path) > 1
		switch {
		case isMember && ref.Path[0] == "run":
			isKnown = isKnown && ref.Path[1] == "user"
		case isMember && ref.Path[0] == "inputs":
			v, _ := given.Get(ref.Path[1])
			isKnown = isKnown && !v.IsNull()
		default:
			isKnown = false
		}
	})
	if !isKnown {
		return
	}
	names := prompt.Values{Map: value.Pairs("inputs", given, "run", value.Pairs("user", user))}
	v, err := u.flow.User.Render(u.loading.ctx, names)
	if text := prompt.Text(v); err == nil && text != user {
		u.add(pos, "the runs are bound to the user %q, and the memory of the flow is that of %q", user, text).hint(memoryHint)
	}
}

// lintTriggerInputs checks the inputs of a trigger against the flow's inputs, as far as they are known.
func (u *unit) lintTriggerInputs(in *triggerInputs) {
	param, node := in.param, in.inputs.node
	if param == nil {
		param, node = &Param{Literal: value.OfMap(nil)}, in.of.node
	}
	if param.Expr != nil {
		return
	}
	var holes []hole
	given := sketchParam(param, "", &holes)
	doc := u.flow.Inputs.Doc()
	for _, p := range u.checkSketch(u.flow.Inputs, u.flow.Inputs.ApplyDefaults(given), holes) {
		name := strings.TrimPrefix(p.Pointer, "/")
		if p.Keyword == "required" && !strings.Contains(name, "/") {
			u.add(u.positionOf(node), "the flow needs the input %q", name).hint("give it under inputs of the trigger")
			continue
		}
		message, hint := p.Text()
		u.add(u.positionOf(nodeAt(node, p.Pointer)), "inputs.%s: %s", strings.ReplaceAll(name, "/", "."), message).setHint(hint)
	}
	properties, listed := doc.Get("properties")
	if !listed || hasAny(doc, "additionalProperties", "patternProperties") {
		return
	}
	known := properties.Map().Keys()
	for name := range given.Map().All() {
		if !slices.Contains(known, name) {
			u.add(u.positionOf(keyAt(node, "/"+value.Escape(name))), "there is no input %q", name).
				suggest(name, known, "there are %s; declare it under properties of inputs")
		}
	}
}
