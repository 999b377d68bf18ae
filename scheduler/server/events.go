package server

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
)

type runEventsInput struct {
	RunID
	Accept      string `header:"Accept" doc:"text/event-stream follows the run."`
	LastEventID string `header:"Last-Event-ID" doc:"The number of the last event that is known: the stream goes on after it."`
	From        int64  `query:"from" minimum:"0" doc:"The number of the first event."`
	Types       string `query:"types" doc:"Types of events, with commas."`
	View        string `query:"view" enum:"brief" doc:"brief leaves out params, names, prompts, input and output."`
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
		return s.streamEvents(info, in, principalOf(ctx).Bound)
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
	items, next := []value.Value{}, ""
	for event, err := range s.options.Service.Events(ctx, principalOf(ctx), in.ID, from) {
		if err != nil {
			return nil, err
		}
		if !in.wantsType(event.Type) {
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
		doc, err := value.ParseJSON(in.bytesOf(frame, principalOf(ctx).Bound))
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

// bytesOf returns an event in the view that the client asked for; a bound one gets no names of machines.
func (in *runEventsInput) bytesOf(f *dispatch.Frame, isBound bool) []byte {
	if isBound {
		f = f.WithoutWorker()
	}
	if in.View == "brief" {
		return f.Brief()
	}
	return f.JSON
}

// streamEvents follows a run. A reconnect after the end gets 204, which tells a browser not
// to come again.
func (s *Server) streamEvents(info *journal.RunInfo, in *runEventsInput, isBound bool) (*stream, error) {
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
				if in.wantsType(f.Type) {
					e.addEvent(strconv.FormatInt(f.Seq, 10), string(f.Type), in.bytesOf(f, isBound))
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
