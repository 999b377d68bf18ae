package flow

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// lintTriggerID refuses an id that another trigger of the flow has.
func (u *unit) lintTriggerID(id textKey, seen map[string]Position) {
	if !id.isSet() {
		return
	}
	pos := u.positionOf(id.node)
	first, taken := seen[id.text]
	if !taken {
		seen[id.text] = pos
		return
	}
	u.add(pos, "the id %q is used twice", id.text).hint("it is at line %d too", first.Line)
}

// lintCron returns what the expression and the zone of a schedule mean; nil where one is wrong.
func (u *unit) lintCron(k *scheduleKeys) *trigger.Schedule {
	zone, err := trigger.LoadZone(k.Timezone.text)
	if err != nil {
		u.add(u.positionOf(k.Timezone.node), "unknown time zone %q", k.Timezone.text).
			hint("write a name of the IANA database, such as Asia/Shanghai, Europe/Berlin or UTC")
	}
	if !k.Cron.isSet() {
		return nil
	}
	plan, err := trigger.ParseSchedule(k.Cron.text, zone)
	if err == nil {
		return plan
	}
	pos := u.positionOf(k.Cron.node)
	var wrong *trigger.CronError
	switch {
	case !errors.As(err, &wrong):
		p := u.add(pos, "unknown name %q", k.Cron.text)
		p.suggest(k.Cron.text, trigger.Descriptors(), "there are %s")
		if strings.HasPrefix(k.Cron.text, "@every") {
			p.hint("write */5 * * * * for every five minutes")
		}
	case wrong.Never:
		u.add(pos, "the cron expression %q never fires", k.Cron.text).hint("no month has that day")
	case wrong.Field != "":
		p := u.add(pos, "the cron expression %q: the %s cannot be %q", k.Cron.text, cronFieldName(wrong.Field), wrong.Text)
		p.hint("it is %s, a range 1-5, a list 1,3 or a step */2", wrong.Want)
	default:
		u.add(pos, "a cron expression has 5 fields, not %d", wrong.Fields).hint("write minute hour day month weekday, such as 0 7 * * 1-5")
	}
	return nil
}

// cronFieldName returns the name of a field of a cron expression.
func cronFieldName(name string) wording.Text {
	return map[string]wording.Text{
		"minute": say("minute"), "hour": say("hour"), "day": say("day"), "month": say("month"), "weekday": say("weekday"),
	}[name]
}

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

// webhookShape and scheduleShape are what the templates of triggers know.
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

// lintTriggers checks the inputs that triggers give.
func (u *unit) lintTriggers() {
	for _, in := range u.triggers {
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
		u.lintTriggerInputs(in)
	}
}

// lintTriggerInputs checks the inputs of a trigger against those of the flow, as far as they
// are known.
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
