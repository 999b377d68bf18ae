package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// registerAdmin adds the server's own endpoints.
func (s *Server) registerAdmin() {
	stopping := []int{http.StatusServiceUnavailable}
	addEndpoint(s, endpoint{method: http.MethodGet, path: "/health/live", id: "get-live", summary: "Tell whether the server answers", open: true, noStore: true}, s.checkLive)
	addEndpoint(s, endpoint{method: http.MethodGet, path: "/health/ready", id: "get-ready", summary: "Tell whether the server takes runs", open: true, noStore: true, errors: stopping}, s.checkReady)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/openapi.json", id: "get-openapi", summary: "Get this document", noStore: true, json: anyType}, s.openAPI)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/tokens", id: "list-tokens", summary: "List the tokens", scope: store.Admin}, s.listTokens)
	addEndpoint(s, endpoint{method: http.MethodPost, path: base + "/tokens", id: "create-token", summary: "Create a token; its text is shown once", scope: store.Admin, status: http.StatusCreated}, s.createToken)
	addEndpoint(s, endpoint{
		method: http.MethodDelete, path: base + "/tokens/{id}", id: "revoke-token", summary: "Revoke a token", scope: store.Admin, status: http.StatusNoContent, errors: []int{http.StatusNotFound},
	}, s.revokeToken)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/audit", id: "list-audit", summary: "List who did what, the newest first", scope: store.Admin}, s.listAudit)
}

// healthBody is the answer of health checks.
type healthBody struct {
	Status string `json:"status" enum:"ok"`
}

func (s *Server) checkLive(context.Context, *none) (*body[healthBody], error) {
	return &body[healthBody]{healthBody{"ok"}}, nil
}

// readyTimeout limits the wait for the stores, below the time that clients wait for an answer.
const readyTimeout = 2 * time.Second

// checkReady reports whether the server takes runs: the stores work, other machines that carry them out can be reached, and it is not stopping.
func (s *Server) checkReady(ctx context.Context, _ *none) (*body[healthBody], error) {
	if s.dispatcher.IsStopping() {
		return nil, newProblem(http.StatusServiceUnavailable, "stopping", wording.Say("the server is stopping"), wording.Text{})
	}
	if err := s.readiness.check(ctx); err != nil {
		p := newProblem(http.StatusServiceUnavailable, "internal", wording.Say("runs cannot be recorded"), wording.Say("the log of the server tells more"))
		s.options.Log.Error("not ready", "error", err)
		return nil, p
	}
	asked, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.dispatcher.RemoteError(asked); err != nil { // the log has each change
		return nil, newProblem(http.StatusServiceUnavailable, "internal", wording.Say("runs cannot be given to the machines that carry them out"), wording.Say("the log of the server tells more"))
	}
	return &body[healthBody]{healthBody{"ok"}}, nil
}

// readyMemory is how long the answer of a readiness check counts: everyone may ask, and to answer, the disk is written to.
const readyMemory = time.Second

// readiness asks the stores whether they take runs. Its zero value with do is ready; it is safe for concurrent use.
type readiness struct {
	do func(context.Context) error

	asking sync.Mutex // held while the stores are asked; guards the fields below
	asked  time.Time
	err    error
}

// check returns an error if no run could be recorded.
func (r *readiness) check(ctx context.Context) error {
	r.asking.Lock()
	defer r.asking.Unlock()
	if !r.asked.IsZero() && time.Since(r.asked) < readyMemory {
		return r.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout) // others get the answer too
	defer cancel()
	r.err = r.do(ctx)
	r.asked = time.Now()
	return r.err
}

// checkStores returns an error if a store accepts no changes.
func (s *Server) checkStores(ctx context.Context) error {
	return errors.Join(s.options.Service.CheckWritable(ctx), s.options.Store.CheckWritable(ctx))
}

// listTokens lists the tokens.
func (s *Server) listTokens(ctx context.Context, in *Listing) (*body[page[*store.Token]], error) {
	if p := refuseBound(ctx); p != nil {
		return nil, p
	}
	all, err := s.options.Store.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	return pageOf(all, in, func(t *store.Token) string { return t.ID }), nil
}

type createTokenInput struct {
	Body struct {
		Name    string   `json:"name" minLength:"1" maxLength:"200"`
		User    string   `json:"user,omitempty" doc:"Binds the token: it reaches only this user's runs and memories."`
		Scopes  []string `json:"scopes" minItems:"1" doc:"runs:read, runs:write, runs:as, flows:read, flows:write, memory:read, memory:write, calls:run, metrics, admin."`
		Expires string   `json:"expires,omitempty" doc:"How long it lasts: 90d, 12h; for good by default."`
	}
}

// newTokenBody is a token with its text.
type newTokenBody struct {
	store.Token
	Text string `json:"text" doc:"What to send as Bearer; it is not shown again."`
}

// createToken creates a token.
func (s *Server) createToken(ctx context.Context, in *createTokenInput) (*body[newTokenBody], error) {
	if p := refuseBound(ctx); p != nil {
		return nil, p
	}
	scopes, err := store.ParseScopes(in.Body.Scopes)
	if err != nil {
		return nil, err
	}
	life, err := store.ParseLife(in.Body.Expires)
	if err != nil {
		return nil, err
	}
	t, text, err := s.options.Store.CreateToken(ctx, in.Body.Name, in.Body.User, scopes, life)
	if err != nil {
		return nil, err
	}
	return &body[newTokenBody]{newTokenBody{*t, text}}, nil
}

type tokenID struct {
	ID string `path:"id"`
}

// revokeToken revokes a token.
func (s *Server) revokeToken(ctx context.Context, in *tokenID) (*none, error) {
	if p := refuseBound(ctx); p != nil {
		return nil, p
	}
	defer s.logins.endLogin()
	return &none{}, s.options.Store.RevokeToken(ctx, in.ID)
}

// listAudit lists the changes by users.
func (s *Server) listAudit(ctx context.Context, in *Listing) (*body[page[store.Audit]], error) {
	if p := refuseBound(ctx); p != nil {
		return nil, p
	}
	before, err := strconv.ParseInt("0"+in.Cursor, 10, 64)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the cursor %s is not one of this list", quoteText(in.Cursor)).WithHint("leave it out to list from the newest")
	}
	s.audit.flush(ctx)
	list, err := s.options.Store.AuditBefore(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	if len(list) > in.Limit {
		return newPage(list[:in.Limit], strconv.FormatInt(list[in.Limit-1].ID, 10)), nil
	}
	return newPage(list, ""), nil
}
