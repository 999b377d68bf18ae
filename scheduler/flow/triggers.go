package flow

import (
	"cmp"
	"time"

	"github.com/callnode/scheduler/scheduler/trigger"
)

// Triggers are what starts runs of a flow by itself, in a server.
type Triggers struct {
	Schedules []*Schedule
	Webhooks  []*Webhook
}

// Schedule starts a run at times. It is part of a [Flow].
type Schedule struct {
	Pos Position
	ID  string
	// Cron and Timezone are as the flow writes them, Plan what they mean.
	Cron, Timezone string
	Plan           *trigger.Schedule
	// Inputs are templates over schedule; nil for none.
	Inputs *Param
	// User is whose runs those are; "" is no particular user.
	User string
	// Overlap and CatchUp are constants of package trigger.
	Overlap, CatchUp string
	Jitter           time.Duration
}

// Webhook starts a run for each request. It is part of a [Flow].
type Webhook struct {
	Pos Position
	ID  string
	// Verify is a constant of package trigger; Header is that of [trigger.VerifyHeader].
	Verify, Header string
	// Secret is the name of the secret; "" with [trigger.VerifyNone].
	Secret string
	// Inputs are templates over webhook; nil for none.
	Inputs *Param
	// User is whose runs those are; "" is no particular user.
	User string
}

// Schedule finds a schedule by its id; nil for none.
func (t *Triggers) Schedule(id string) *Schedule {
	for _, s := range t.Schedules {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Webhook finds a webhook by its id; nil for none.
func (t *Triggers) Webhook(id string) *Webhook {
	for _, w := range t.Webhooks {
		if w.ID == id {
			return w
		}
	}
	return nil
}

// triggerInputs are the inputs that a trigger gives, on their way.
type triggerInputs struct {
	of     keyPlace // the trigger
	inputs anyKey
	param  *Param
	// scope is the one name that its templates know: schedule or webhook.
	scope string
	uses  []nameUse
}

// compileTriggers makes the triggers of the keys.
func (u *unit) compileTriggers() {
	keys := u.keys.Triggers
	if keys == nil {
		return
	}
	t := &u.flow.Triggers
	seen := map[string]Position{}
	for _, k := range keys.Schedules {
		if !k.itself.isSet() {
			continue
		}
		s := &Schedule{
			Pos: u.positionOf(k.itself.node), ID: k.ID.text, Cron: k.Cron.text, Timezone: k.Timezone.text, User: k.User.text,
			Overlap: cmp.Or(k.Overlap.text, trigger.OverlapSkip), CatchUp: cmp.Or(k.CatchUp.text, trigger.CatchUpLast), Jitter: k.Jitter.d,
		}
		s.Plan = u.lintCron(k)
		s.Inputs = u.compileTriggerInputs(k.itself, k.Inputs, "schedule")
		u.lintTriggerID(k.ID, seen)
		if s.CatchUp == trigger.CatchUpAll && s.Overlap == trigger.OverlapSkip {
			u.warn(u.positionOf(k.CatchUp.key), "of the fires that are made up for only the first has a run: the others overlap it").hint("write overlap: queue")
		}
		t.Schedules = append(t.Schedules, s)
	}
	clear(seen)
	for _, k := range keys.Webhooks {
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
		u.lintTriggerID(k.ID, seen)
		u.lintVerify(k)
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
