package server

import (
	"context"
	"net/http"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/notify"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/server/triggers"
)

// registerSchedules adds the endpoints for the schedules of flows.
func (s *Server) registerSchedules() {
	const one = base + "/schedules/{id}"
	gone := []int{http.StatusNotFound}
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/schedules", id: "list-schedules", summary: "List the schedules with their next and last fires", scope: store.FlowsRead}, s.listSchedules)
	addEndpoint(s, endpoint{method: http.MethodPost, path: one + "/pause", id: "pause-schedule", summary: "Stop a schedule until it is resumed", scope: store.Admin, errors: gone}, s.pauseSchedule)
	addEndpoint(s, endpoint{method: http.MethodPost, path: one + "/resume", id: "resume-schedule", summary: "Let a schedule go on; the fires in between are not made up for", scope: store.Admin, errors: gone}, s.resumeSchedule)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: one + "/fire", id: "fire-schedule", summary: "Start a run of a schedule now", scope: store.Admin, status: http.StatusAccepted, errors: gone,
	}, s.fireSchedule)
}

// The fires that lists show.
const (
	nextFires = 3
	lastFires = 10
)

// scheduleBody is a schedule of a flow.
type scheduleBody struct {
	ID       string `json:"id" doc:"FLOW:ID of the schedule in the flow."`
	Flow     string `json:"flow"`
	Name     string `json:"name" doc:"The id of the schedule in the flow."`
	Cron     string `json:"cron"`
	Timezone string `json:"timezone" doc:"The time zone of the fields and of the times in next."`
	User     string `json:"user,omitempty" doc:"The user whose runs those are."`
	Overlap  string `json:"overlap" enum:"skip,queue,parallel,cancel"`
	CatchUp  string `json:"catch_up" enum:"skip,last,all"`
	Jitter   string `json:"jitter,omitempty"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Paused   bool   `json:"paused"`
	Active   bool   `json:"active" doc:"Whether this server carries schedules out: false with --no-triggers."`
	// Next are the next times, none while it is paused.
	Next []time.Time   `json:"next" nullable:"false" doc:"The next times; none while it is paused."`
	Last []*store.Fire `json:"last" nullable:"false" doc:"The last fires with what became of them, the newest first."`
}

// listSchedules lists the schedules.
func (s *Server) listSchedules(ctx context.Context, in *Listing) (*body[page[*scheduleBody]], error) {
	all, err := s.triggers.Schedules()
	if err != nil {
		return nil, err
	}
	var items []*scheduleBody
	for _, one := range all {
		if !one.IsSeenBy(principalOf(ctx)) || one.ID <= in.Cursor {
			continue
		}
		if len(items) == in.Limit {
			return newPage(items, items[len(items)-1].ID), nil
		}
		item, err := s.describeSchedule(ctx, one)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return newPage(items, ""), nil
}

// describeSchedule returns a schedule as the caller sees it.
func (s *Server) describeSchedule(ctx context.Context, one *triggers.Schedule) (*scheduleBody, error) {
	kept, err := s.options.Store.FindSchedule(ctx, one.ID)
	if err != nil {
		return nil, err
	}
	out := &scheduleBody{
		ID: one.ID, Flow: one.Flow.ID, Name: one.Schedule.ID, Cron: one.Cron, Timezone: one.Plan.Zone().String(), User: one.User, Overlap: one.Overlap,
		CatchUp: one.CatchUp, File: s.folders.Hide(one.Pos.File), Line: one.Pos.Line, Paused: kept.Paused, Active: !s.options.NoTriggers, Next: []time.Time{}, Last: []*store.Fire{},
	}
	if one.Jitter > 0 {
		out.Jitter = one.Jitter.String()
	}
	if p := principalOf(ctx); !p.Bound || one.User == p.User { // runs of no user are not a bound one's
		out.Last, err = s.options.Store.LastFires(ctx, one.ID, lastFires)
		if err != nil {
			return nil, err
		}
		for _, fire := range out.Last {
			fire.Reason = wording.Restate(fire.Reason).In(s.languageOf(ctx))
		}
	}
	if kept.Paused {
		return out, nil
	}
	for at := one.Plan.Next(s.triggers.Clock()); !at.IsZero() && len(out.Next) < nextFires; at = one.Plan.Next(at) {
		out.Next = append(out.Next, at)
	}
	return out, nil
}

type scheduleID struct {
	ID string `path:"id" doc:"FLOW:ID of the schedule in the flow."`
}

// scheduleOf returns a schedule that the caller may change.
func (s *Server) scheduleOf(ctx context.Context, id string) (*triggers.Schedule, error) {
	p := principalOf(ctx)
	one, err := s.triggers.Schedule(p, id)
	if err != nil {
		return nil, err
	}
	if p.Bound && one.User != p.User {
		return nil, refuseBound(ctx)
	}
	return one, nil
}

// pauseSchedule stops a schedule.
func (s *Server) pauseSchedule(ctx context.Context, in *scheduleID) (*body[*scheduleBody], error) {
	return s.setPaused(ctx, in.ID, true)
}

// resumeSchedule ends the pause of a schedule.
func (s *Server) resumeSchedule(ctx context.Context, in *scheduleID) (*body[*scheduleBody], error) {
	return s.setPaused(ctx, in.ID, false)
}

func (s *Server) setPaused(ctx context.Context, id string, paused bool) (*body[*scheduleBody], error) {
	one, err := s.scheduleOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.options.Store.PauseSchedule(ctx, one.ID, paused); err != nil {
		return nil, err
	}
	if paused {
		s.options.Log.Warn("a schedule is paused: it begins no runs until it is resumed", "schedule", one.ID, "by", requestOf(ctx).caller.token.Name)
		s.announceTrigger(ctx, notify.TriggerChange{Trigger: one.ID, Flow: one.Flow.ID, User: one.User, State: "paused", Key: requestOf(ctx).id})
	} else {
		s.options.Log.Info("a schedule goes on", "schedule", one.ID)
	}
	item, err := s.describeSchedule(ctx, one)
	return &body[*scheduleBody]{item}, err
}

// announceTrigger sends a message about a trigger to the URLs of the settings.
func (s *Server) announceTrigger(ctx context.Context, c notify.TriggerChange) {
	if err := s.notifier.AnnounceTrigger(ctx, c); err != nil {
		s.options.Log.Error("notifying of a trigger", "trigger", c.Trigger, "error", err)
	}
}

// firedBody is the run that a trigger has started.
type firedBody struct {
	Run string `json:"run"`
}

// fireSchedule starts a run of a schedule.
func (s *Server) fireSchedule(ctx context.Context, in *scheduleID) (*body[firedBody], error) {
	one, err := s.scheduleOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	run, err := s.triggers.FireNow(ctx, one)
	if err != nil {
		return nil, err
	}
	requestOf(ctx).run = run
	return &body[firedBody]{firedBody{run}}, nil
}
