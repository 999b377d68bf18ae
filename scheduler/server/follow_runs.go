package server

import (
	"context"
	"time"
)

type feedInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last change that is known."`
}

// followRuns streams the changes of the states of visible runs.
func (s *Server) followRuns(ctx context.Context, in *feedInput) (*stream, error) {
	p := principalOf(ctx)
	return s.newStream(func(ctx context.Context, e *sseWriter) error {
		if err := s.feed.addReader(ctx); err != nil {
			return err
		}
		defer s.feed.removeReader()
		at := s.feed.newestNumber()
		if in.LastEventID != "" {
			n, ok := s.feed.changeNumber(in.LastEventID)
			if _, known, _ := s.feed.changesAfter(n); !ok || !known {
				e.addEvent(s.feed.changeID(at), "reset", []byte("{}"))
			} else {
				at = n
			}
		}
		idle := time.NewTicker(heartbeat)
		defer idle.Stop()
		for {
			changes, known, arrived := s.feed.changesAfter(at)
			if !known {
				at = s.feed.newestNumber()
				e.addEvent(s.feed.changeID(at), "reset", []byte("{}"))
			}
			for _, c := range changes {
				at++
				if p.CanSee(c.info) {
					e.addEvent(s.feed.changeID(at), "run", itemOf(c.info).encodeLine())
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
}
