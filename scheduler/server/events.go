package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
)

type runEventsInput struct {
	RunID
	Accept      string `header:"Accept" doc:"text/event-stream follows the run."`
	LastEventID string `header:"Last-Event-ID" doc:"The number of the last event that is known: the stream goes on after it."`
	From        int64  `query:"from" minimum:"0" doc:"The number of the first event."`
	Types       string `query:"types" doc:"Types of events, with commas."`
	View        string `query:"view" enum:"brief,state" doc:"brief leaves out params, names, prompts, input and output. state is brief, and each event has in change the part of the run that it has changed: its steps as GET /runs/{id} shows them, an item as a step of its own."`
	Until       string `query:"until" enum:"waiting" doc:"waiting ends the stream where the run waits for values."`
	Limit       int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor      string `query:"cursor" doc:"next of the page before."`
}

// runEvents lists the events of a run, or follows them.
func (s *Server) runEvents(ctx context.Context, in *runEventsInput) (*stream, error) {
	info, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if wantsStream(in.Accept) {
		return s.streamEvents(ctx, info, in)
	}
	return s.pageOfEvents(ctx, in)
}

// pageOfEvents lists events.
func (s *Server) pageOfEvents(ctx context.Context, in *runEventsInput) (*stream, error) {
	from := max(in.From, 1)
	if in.Cursor != "" {
		n, err := strconv.ParseInt(in.Cursor, 10, 64)
		if err != nil || n < 1 {
			return nil, calls.Errorf(calls.Invalid, "the cursor %s is not one of this list", quoteText(in.Cursor)).WithHint("leave it out to list from the start")
		}
		from = n
	}
	view, err := s.newEventView(ctx, in, from)
	if err != nil {
		return nil, err
	}
	items, next := []value.Value{}, ""
	for event, err := range s.options.Service.Events(ctx, principalOf(ctx), in.ID, from) {
		if err != nil {
			return nil, err
		}
		if !in.wantsType(event.Type) {
			view.add(event)
			continue
		}
		if len(items) == in.Limit {
			next = strconv.FormatInt(event.Seq, 10)
			break
		}
		frame, err := dispatch.EncodeEvent(event)
		if err != nil {
			return nil, err
		}
		text, err := view.bytesOf(frame)
		if err != nil {
			return nil, err
		}
		doc, err := value.ParseJSON(text)
		if err != nil {
			return nil, err
		}
		items = append(items, doc)
	}
	return &stream{func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		writeJSON(w, http.StatusOK, "application/json", newPage(items, next).Body)
	}}, nil
}

// wantsType reports whether the client asked for events of a type.
func (in *runEventsInput) wantsType(t journal.EventType) bool {
	return in.Types == "" || slices.Contains(strings.Split(in.Types, ","), string(t))
}

// streamEvents follows a run. A reconnect after the end gets 204, which makes a browser stop reconnecting.
func (s *Server) streamEvents(ctx context.Context, info *journal.RunInfo, in *runEventsInput) (*stream, error) {
	after, err := lastEventID(in.LastEventID)
	if err != nil {
		return nil, err
	}
	if in.LastEventID == "" {
		after = max(in.From-1, 0)
	} else if after >= info.LastSeq && info.State.IsOver() && info.Holder == nil {
		return &stream{func(hctx huma.Context) { hctx.SetStatus(http.StatusNoContent) }}, nil
	}
	after = min(after, info.LastSeq)
	view, err := s.newEventView(ctx, in, after+1)
	if err != nil {
		return nil, err
	}
	return s.newStream(func(ctx context.Context, e *sseWriter) error {
		options := dispatch.FollowOptions{After: after, UntilWaiting: in.Until == "waiting", Idle: heartbeat}
		for batch, err := range s.dispatcher.Follow(ctx, info.ID, options) {
			if err != nil {
				isDeleted := isUnknownRun(err)
				if ctx.Err() == nil && !isDeleted {
					s.options.Log.Error("a stream ended", "run", info.ID, "error", err)
				}
				return err
			}
			for _, f := range batch {
				if err := view.addFrame(e, f); err != nil {
					return err
				}
			}
			if batch == nil {
				e.addComment("heartbeat")
			}
			if err := e.flush(); err != nil {
				return err
			}
		}
		return nil
	})
}

// eventView shows the events of a run to one client, in the view that it asked for. [Server.newEventView] makes it for a request; it is for one
// goroutine.
type eventView struct {
	in       *runEventsInput
	isBound  bool
	language string            // of the reader
	state    *journal.RunState // the run as far as the client knows it; nil in the other views
}

// newEventView returns the view of a request whose client knows the events before one.
func (s *Server) newEventView(ctx context.Context, in *runEventsInput, from int64) (*eventView, error) {
	v := &eventView{in: in, isBound: principalOf(ctx).Bound, language: s.languageOf(ctx)}
	if in.View != "state" {
		return v, nil
	}
	v.state = journal.NewRunState()
	if from <= 1 {
		return v, nil
	}
	for event, err := range s.options.Service.Events(ctx, principalOf(ctx), in.ID, 1) {
		if err != nil {
			return nil, err
		}
		if event.Seq >= from {
			break
		}
		v.state.Add(event)
	}
	v.state.TakeChange() // the client has it
	return v, nil
}

// add takes an event that the client does not get: the next one includes its change.
func (v *eventView) add(e *journal.Event) {
	if v.state != nil {
		v.state.Add(e)
	}
}

// addFrame writes an event to a stream, if its client wants it.
func (v *eventView) addFrame(to *sseWriter, f *dispatch.Frame) error {
	if !v.in.wantsType(f.Type) {
		if v.state == nil {
			return nil
		}
		e, err := f.Event()
		if err == nil {
			v.add(e)
		}
		return err
	}
	text, err := v.bytesOf(f)
	if err == nil {
		to.addEvent(strconv.FormatInt(f.Seq, 10), string(f.Type), text)
	}
	return err
}

// bytesOf returns an event; a bound client gets no names of machines. Streamed text changes no step.
func (v *eventView) bytesOf(f *dispatch.Frame) ([]byte, error) {
	shown := f.InLanguage(v.language)
	if v.isBound {
		shown = shown.WithoutWorker()
	}
	switch {
	case v.in.View == "":
		return shown.JSON, nil
	case v.state == nil || f.Type == journal.StepDelta:
		return shown.Brief(), nil
	}
	e, err := f.Event()
	if err != nil {
		return nil, err
	}
	v.state.Add(e)
	change, err := json.Marshal(v.takeChange())
	if err != nil {
		return nil, err
	}
	brief := shown.Brief()
	return slices.Concat(brief[:len(brief)-1], []byte(`,"change":`), change, []byte("}")), nil
}

// takeChange returns the changes of the run, in the language of the reader.
func (v *eventView) takeChange() *journal.Change {
	change := v.state.TakeChange()
	for i := range change.Steps {
		change.Steps[i].Reason = wording.Restate(change.Steps[i].Reason).In(v.language)
	}
	for i := range change.Warnings {
		change.Warnings[i].Text = wording.Restate(change.Warnings[i].Text).In(v.language)
	}
	return change
}
