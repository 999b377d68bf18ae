package flow

import (
	"slices"
	"time"

	"github.com/callnode/scheduler/scheduler/trigger"
)

// Triggers start runs of a flow automatically, in a server: for example a schedule.
type Triggers struct {
	Schedules []*Schedule
	Webhooks  []*Webhook
}

// AreOf reports whether all triggers begin runs of that user.
func (t *Triggers) AreOf(user string) bool {
	isOther := func(of string) bool { return of != user }
	return !slices.ContainsFunc(t.Schedules, func(s *Schedule) bool { return isOther(s.User) }) &&
		!slices.ContainsFunc(t.Webhooks, func(w *Webhook) bool { return isOther(w.User) })
}

// Schedule starts a run at times. It is part of a [Flow].
type Schedule struct {
	Pos Position
	ID  string
	// Cron and Timezone are as the flow writes them, Plan is their meaning.
	Cron, Timezone string
	Plan           *trigger.Schedule
	// Inputs are templates over schedule; nil for none.
	Inputs *Param
	// User owns the runs; "" is no particular user.
	User string
	// Overlap and CatchUp are constants of package trigger.
	Overlap, CatchUp string
	Jitter           time.Duration
}

// Webhook starts a run for each request. It is part of a [Flow].
type Webhook struct {
	Pos Position
	ID  string
	// Verify is a constant of package trigger; Header is the header for [trigger.VerifyHeader].
	Verify, Header string
	// Secret is the name of the secret; "" with [trigger.VerifyNone].
	Secret string
	// Inputs are templates over webhook; nil for none.
	Inputs *Param
	// Conversation is a template over webhook of the messages before the question; nil for none.
	Conversation *Param
	// User owns the runs; "" is no particular user.
	User string
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
