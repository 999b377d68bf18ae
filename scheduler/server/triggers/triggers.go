// Package triggers starts runs by the triggers of flows: one run for each fire of a schedule (even if several
// servers share a store, or one of them dies), for example every day at 9:00, and a run for each request of a
// webhook. Package trigger has the meaning of triggers.
package triggers

import (
	"context"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// Options are the dependencies and settings for [New].
type Options struct {
	Service    *service.Service
	Dispatcher *dispatch.Dispatcher
	Library    *service.Library
	Store      *store.Store
	Log        *slog.Logger
	// Clock is the present; nil is the clock of the machine.
	Clock func() time.Time
	// Secret returns the value of a secret; ok is false if the settings do not allow it.
	Secret func(name string) (text string, ok bool)
	// Announce tells the operators of the server that a trigger does not begin its runs; may be nil.
	Announce func(context.Context, Failure)
	// Language is the language of the reasons in the store.
	Language string
}

// Failure is a trigger that could not begin a run, or all triggers of a flow that has errors.
type Failure struct {
	// Trigger is FLOW:ID; of all triggers of a flow it is FLOW.
	Trigger, Flow, User, Reason string
	// Key distinguishes the failures of a trigger.
	Key string
}

// Triggers starts runs by the triggers of flows. A server makes one with [New]; it is safe
// for concurrent use.
type Triggers struct {
	Options

	ticking sync.Mutex // held by Tick, guards the fields below
	known   []*Schedule
	readAt  time.Time
	seen    map[string]time.Time // the store's last known time of each schedule
	warned  map[string]string    // by the id of a flow, the hash of the text whose errors the log has
}

// New returns triggers that do nothing before [Triggers.Run].
func New(o Options) *Triggers {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Announce == nil {
		o.Announce = func(context.Context, Failure) {}
	}
	return &Triggers{Options: o, seen: map[string]time.Time{}, warned: map[string]string{}}
}

// Schedule is a schedule of a flow that is served.
type Schedule struct {
	// ID is FLOW:ID of the schedule in the flow.
	ID string
	*flow.Schedule
	Flow *service.LibraryFlow
}

// Principal returns the owner of the schedule's runs.
func (s *Schedule) Principal() service.Principal { return principalOf(s.User) }

// IsSeenBy reports whether a schedule exists for a principal: another user's does not exist for bound ones.
func (s *Schedule) IsSeenBy(p service.Principal) bool {
	return !p.Bound || s.User == "" || s.User == p.User
}

// principalOf returns the owner of a trigger's runs: with a user, bound to it.
func principalOf(user string) service.Principal {
	return service.Principal{User: user, Bound: user != ""}
}

// Schedules returns the schedules of all flows that have no errors, sorted by their ids.
func (t *Triggers) Schedules() ([]*Schedule, error) {
	flows, err := t.Library.Flows()
	if err != nil {
		return nil, err
	}
	return schedulesOf(flows), nil
}

func schedulesOf(flows []*service.LibraryFlow) []*Schedule {
	all := []*Schedule{}
	for _, f := range flows {
		if f.Flow == nil {
			continue
		}
		for _, s := range f.Flow.Triggers.Schedules {
			all = append(all, &Schedule{ID: f.ID + ":" + s.ID, Schedule: s, Flow: f})
		}
	}
	return all
}

// triggersKey is in the text of a flow that has triggers, even if it has errors.
var triggersKey = regexp.MustCompile(`(?m)^["']?triggers["']?\s*:`)

// warnOfErrorsLocked warns of flows whose triggers do nothing because the flow has errors: once for each text of
// such a flow.
func (t *Triggers) warnOfErrorsLocked(ctx context.Context, flows []*service.LibraryFlow) {
	for _, f := range flows {
		if f.Flow != nil || !triggersKey.Match(f.Source) {
			delete(t.warned, f.ID)
			continue
		}
		if t.warned[f.ID] == f.Hash {
			continue
		}
		t.warned[f.ID] = f.Hash
		if problems := f.Problems.Errors(); len(problems) > 0 {
			t.Log.Error("the triggers of a flow do nothing until its errors are mended", "flow", f.ID, "errors", len(problems), "first", problems[0].String())
			t.Announce(ctx, Failure{Trigger: f.ID, Flow: f.ID, Reason: problems[0].Message, Key: f.Hash})
		}
	}
}

// Schedule returns a schedule of a principal by its id. The error for one that is unknown, or
// is another user's, is of kind NotFound.
func (t *Triggers) Schedule(p service.Principal, id string) (*Schedule, error) {
	all, err := t.Schedules()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range all {
		if !s.IsSeenBy(p) {
			continue
		}
		if s.ID == id {
			return s, nil
		}
		ids = append(ids, s.ID)
	}
	unknown := calls.Errorf(calls.NotFound, "there is no schedule %q", value.Truncate(id, 80))
	if hint := value.DidYouMean(id, ids); hint != "" {
		return nil, unknown.WithHint("%s", hint)
	}
	return nil, unknown
}

// renderInputs returns the inputs that a trigger sets, checked against the flow's inputs. known is the one value
// that its templates can use, by its name. For example, the templates of a schedule can use schedule.time.
func renderInputs(ctx context.Context, f *flow.Flow, inputs *flow.Param, name string, known value.Value) (value.Value, error) {
	rendered, err := inputs.Render(ctx, prompt.Values{Map: value.Pairs(name, known)})
	if err != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "the inputs of the trigger: %w", err)
	}
	if !rendered.IsNull() && rendered.Kind() != value.Object {
		return value.Value{}, calls.Errorf(calls.Invalid, "the inputs of the trigger are not a map")
	}
	checked, _, err := service.CheckInputs(f, rendered.Map().Clone())
	return checked, err
}
