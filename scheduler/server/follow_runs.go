package server

import (
	"context"
	"time"
)

type feedInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last change that is known."`
}

// followRuns streams the changes of the states of visible runs. Its place among the changes is found before its
// first byte: so a client that fetches the runs once the stream is open gets all later changes.
func (s *Server) followRuns(ctx context.Context, in *feedInput) (*stream, error) {
	p := principalOf(ctx)
	if err := s.feed.addReader(ctx); err != nil {
		return nil, err
	}
	at, isReset := s.feed.findPlace(in.LastEventID)
	out, err := s.newStream(func(ctx context.Context, e *sseWriter) error {
		defer s.feed.removeReader()
		if isReset {
			e.addEvent(s.feed.changeID(at), "reset", []byte("{}"))
		} else {
			e.addID(s.feed.changeID(at))
		}
		idle := time.NewTicker(heartbeat)
		defer idle.Stop()
		for {
			changes, known, arrived := s.feed.changesAfter(at)
			if !known {
				at = s.feed.newestNumber()
				e.addEvent(s.feed.changeID(at), "reset", []byte("{}"))
			}
			for _, info := range changes {
				at++
				if p.CanSee(info) {
					e.addEvent(s.feed.changeID(at), "run", itemOf(info).encodeLine())
				}
			}
			if err := e.flush(); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-arrived:
			case <-idle.C:
				e.addComment("heartbeat")
			}
		}
	})
	if err != nil {
		s.feed.removeReader()
	}
	return out, err
}
