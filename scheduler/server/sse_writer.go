package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
)

// heartbeat is how often a silent stream gets a comment: proxies cut silent ones off.
const heartbeat = 15 * time.Second

// errLoggedOut ends streams whose caller is not logged in any more.
var errLoggedOut = calls.Errorf(calls.Canceled, "the token is unknown, revoked or expired")

// sseWriter writes server-sent events. A handler makes one for its stream, on its goroutine.
type sseWriter struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

// wantsStream reports whether a client asks for server-sent events.
func wantsStream(accept string) bool { return strings.Contains(accept, "text/event-stream") }

// stream is the output of an endpoint that answers by itself.
type stream struct{ Body func(huma.Context) }

// openStream returns an output that serve writes; it counts towards the limit of open streams. The context of its
// request ends when the client goes, with [dispatch.ErrStopping] when the server stops, and with errLoggedOut when
// the token or the session of the client ends.
func (s *Server) openStream(serve func(http.ResponseWriter, *http.Request)) (*stream, error) {
	done, err := s.limits.openStream()
	if err != nil {
		return nil, err
	}
	return &stream{func(hctx huma.Context) {
		defer done()
		r, w := humago.Unwrap(hctx)
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		go s.watchCaller(ctx, r, cancel)
		serve(w, r.WithContext(ctx))
	}}, nil
}

// watchCaller cancels the context of a request when the server stops, or its caller is not logged in any more.
func (s *Server) watchCaller(ctx context.Context, r *http.Request, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		ended := s.logins.loginEnded()
		select {
		case <-s.bye:
			cancel(dispatch.ErrStopping)
			return
		case <-ctx.Done():
			return
		case <-ended:
		case <-ticker.C: // the token may have expired, or another process has revoked it
		}
		if !s.isLoggedIn(ctx, r) {
			cancel(errLoggedOut)
			return
		}
	}
}

// newStream returns the output that runs write as a stream of events, with the context of
// [Server.openStream].
func (s *Server) newStream(write func(context.Context, *sseWriter) error) (*stream, error) {
	return s.openStream(func(w http.ResponseWriter, r *http.Request) {
		e := &sseWriter{w: w, rc: http.NewResponseController(w)}
		_ = e.rc.SetReadDeadline(time.Time{}) // the request was read
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store, no-transform")
		h.Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		e.buf.WriteString("retry: 2000\n")
		if e.flush() != nil {
			return
		}
		// Work that is cut short by the end of ctx returns errors of its own.
		if err := write(r.Context(), e); err != nil && errors.Is(context.Cause(r.Context()), dispatch.ErrStopping) {
			e.addEvent("", "bye", []byte("{}"))
			_ = e.flush() // the client may have gone
		}
	})
}

// addEvent adds an event; flush sends it.
func (e *sseWriter) addEvent(id, name string, data []byte) {
	if id != "" {
		e.buf.WriteString("id: " + id + "\n")
	}
	e.buf.WriteString("event: " + name + "\ndata: ")
	e.buf.Write(data) // JSON of one line
	e.buf.WriteString("\n\n")
}

// addID sends the client an id to reconnect with, without an event.
func (e *sseWriter) addID(id string) { e.buf.WriteString("id: " + id + "\n\n") }

// addComment adds a comment, which clients ignore.
func (e *sseWriter) addComment(text string) { e.buf.WriteString(": " + text + "\n\n") }

// flush sends the added bytes.
func (e *sseWriter) flush() error {
	if e.buf.Len() == 0 {
		return nil
	}
	_, err := e.w.Write(e.buf.Bytes())
	e.buf.Reset()
	if e.buf.Cap() > 64<<10 {
		e.buf = bytes.Buffer{}
	}
	if err != nil {
		return err
	}
	return e.rc.Flush()
}

// lastEventID reads the id that a client has seen last; 0 for none.
func lastEventID(header string) (int64, error) {
	if header == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(header, 10, 64)
	if err != nil || n < 0 {
		return 0, newProblem(http.StatusUnprocessableEntity, "invalid", wording.Say("Last-Event-ID %q is not the number of an event", value.Truncate(header, 80)), wording.Say("leave it out to read from the start"))
	}
	return n, nil
}
