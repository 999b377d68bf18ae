package flow

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// compileTriggers makes the triggers of the keys.
func (u *unit) compileTriggers() {
	keys := u.keys.Triggers
	if keys == nil {
		return
	}
	t := &u.flow.Triggers
	seen := map[string]Position{}
	for k := range untilOver(u.loading, keys.Schedules) {
		if !k.itself.isSet() {
			continue
		}
		s := &Schedule{
			Pos: u.positionOf(k.itself.node), ID: k.ID.text, Cron: k.Cron.text, Timezone: k.Timezone.text, User: k.User.text,
			Overlap: cmp.Or(k.Overlap.text, trigger.OverlapSkip), CatchUp: cmp.Or(k.CatchUp.text, trigger.CatchUpLast), Jitter: k.Jitter.d,
		}
		s.Plan = u.compileCron(k)
		s.Inputs = u.compileTriggerInputs(k.itself, k.Inputs, "schedule")
		u.checkTriggerID(k.ID, seen)
		if s.CatchUp == trigger.CatchUpAll && s.Overlap == trigger.OverlapSkip {
			u.warn(u.positionOf(k.CatchUp.key), "of the fires that are made up for only the first has a run: the others overlap it").hint("write overlap: queue")
		}
		t.Schedules = append(t.Schedules, s)
	}
	clear(seen)
	for k := range untilOver(u.loading, keys.Webhooks) {
		if !k.itself.isSet() {
			continue
		}
		w := &Webhook{
			Pos: u.positionOf(k.itself.node), ID: k.ID.text, Verify: k.Verify.text, Header: k.Header.text, Secret: k.Secret.text, User: k.User.text,
		}
		if w.Verify == trigger.VerifyHeader {
			w.Header = cmp.Or(w.Header, trigger.DefaultHeader)
		}
		w.Inputs = u.compileTriggerInputs(k.itself, k.Inputs, "webhook")
		w.Conversation = u.compileConversation(k)
		u.checkTriggerID(k.ID, seen)
		t.Webhooks = append(t.Webhooks, w)
	}
}

// compileTriggerInputs compiles the inputs of a trigger, whose names are checked later.
func (u *unit) compileTriggerInputs(of keyPlace, k anyKey, scope string) *Param {
	in := &triggerInputs{of: of, inputs: k, scope: scope}
	in.param = u.compileOptional(k, &in.uses)
	u.triggers = append(u.triggers, in)
	return in.param
}

// compileConversation compiles the conversation of a webhook, whose names are checked later.
func (u *unit) compileConversation(k *webhookKeys) *Param {
	in := &triggerInputs{of: k.itself, scope: "webhook", isConversation: true}
	in.param = u.compileOptional(k.Conversation, &in.uses)
	u.triggers = append(u.triggers, in)
	return in.param
}

// checkTriggerID refuses an id that another trigger of the flow has.
func (u *unit) checkTriggerID(id textKey, seen map[string]Position) {
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

// compileZone returns the time zone that a key names, UTC for "".
func (u *unit) compileZone(k *textKey) *time.Location {
	zone, err := trigger.LoadZone(k.text)
	if err != nil {
		u.add(u.positionOf(k.node), "unknown time zone %q", k.text).hint(zoneHint)
	}
	return zone
}

// zoneHint is the remedy for a time zone that has no such name.
const zoneHint = "write a name of the IANA database, such as Asia/Shanghai, Europe/Berlin or UTC"

// FindZone returns the time zone of a name that a run computed, for example Asia/Shanghai.
func FindZone(name string) (*time.Location, error) {
	zone, err := trigger.LoadZone(name)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "unknown time zone %q", value.Truncate(name, 80)).WithHint(zoneHint)
	}
	return zone, nil
}

// compileTimezone returns the time zone of a flow, or the template of its name.
func (u *unit) compileTimezone(k anyKey) (*time.Location, *Param) {
	name := u.compileOptional(k, &u.zoneUses)
	if name == nil {
		return nil, nil
	}
	v, isLiteral := name.Static()
	if !isLiteral {
		return nil, name
	}
	return u.compileZone(&textKey{keyPlace: k.keyPlace, text: prompt.Text(v)}), nil
}

// compileCron returns the schedule for an expression and a zone; nil if one is wrong.
func (u *unit) compileCron(k *scheduleKeys) *trigger.Schedule {
	zone := u.compileZone(&k.Timezone)
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
