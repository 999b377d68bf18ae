package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// registerAdmin adds the server's own endpoints.
func (s *Server) registerAdmin() {
	stopping := []int{http.StatusServiceUnavailable}
	register(s, endpoint{method: http.MethodGet, path: "/health/live", id: "get-live", summary: "Tell whether the server answers", open: true}, s.live)
	register(s, endpoint{method: http.MethodGet, path: "/health/ready", id: "get-ready", summary: "Tell whether the server takes runs", open: true, errors: stopping}, s.ready)
	register(s, endpoint{method: http.MethodGet, path: base + "/openapi.json", id: "get-openapi", summary: "Get this document", json: anyType}, s.openAPI)
	register(s, endpoint{
		method: http.MethodPost, path: base + "/session", id: "log-in", summary: "Exchange a token for a cookie", open: true, status: http.StatusNoContent,
		errors: []int{http.StatusUnauthorized, http.StatusTooManyRequests},
	}, s.logIn)
	register(s, endpoint{method: http.MethodDelete, path: base + "/session", id: "log-out", summary: "End the session", open: true, status: http.StatusNoContent}, s.logOut)
	register(s, endpoint{method: http.MethodGet, path: base + "/me", id: "get-me", summary: "Tell who I am"}, s.me)
	register(s, endpoint{method: http.MethodGet, path: base + "/tokens", id: "list-tokens", summary: "List the tokens", scope: store.Admin}, s.listTokens)
	register(s, endpoint{method: http.MethodPost, path: base + "/tokens", id: "create-token", summary: "Create a token; its text is shown once", scope: store.Admin, status: http.StatusCreated}, s.createToken)
	register(s, endpoint{
		method: http.MethodDelete, path: base + "/tokens/{id}", id: "revoke-token", summary: "Revoke a token", scope: store.Admin, status: http.StatusNoContent, errors: []int{http.StatusNotFound},
	}, s.revokeToken)
	register(s, endpoint{method: http.MethodGet, path: base + "/audit", id: "list-audit", summary: "List who did what, the newest first", scope: store.Admin}, s.listAudit)
}

// healthBody is the answer of health checks.
type healthBody struct {
	Status string `json:"status" enum:"ok"`
}

func (s *Server) live(context.Context, *none) (*body[healthBody], error) {
	return &body[healthBody]{healthBody{"ok"}}, nil
}

// ready tells whether the server takes runs: the stores work, and it is not stopping.
func (s *Server) ready(ctx context.Context, _ *none) (*body[healthBody], error) {
	if s.dispatcher.IsStopping() {
		return nil, newProblem(http.StatusServiceUnavailable, "stopping", "the server is stopping", "")
	}
	err := errors.Join(s.options.Service.Ready(ctx), s.options.Store.Ping(ctx))
	if err != nil {
		p := newProblem(http.StatusServiceUnavailable, "internal", "runs cannot be recorded", "the log of the server tells more")
		s.options.Log.Error("not ready", "error", err)
		return nil, p
	}
	return &body[healthBody]{healthBody{"ok"}}, nil
}

type openAPIInput struct {
	Flows bool `query:"flows" doc:"Add an operation for each flow that starts it, with its inputs."`
}

// openAPI returns the document.
func (s *Server) openAPI(_ context.Context, in *openAPIInput) (*stream, error) {
	doc := s.api.OpenAPI()
	if in.Flows {
		var err error
		if doc, err = s.withFlows(doc); err != nil {
			return nil, err
		}
	}
	return &stream{func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		writeJSON(w, http.StatusOK, "application/json", doc)
	}}, nil
}

type logInInput struct {
	Body struct {
		Token string `json:"token" minLength:"1"`
	}
}

// cookieOutput sets or deletes the cookie of a session.
type cookieOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
}

// logIn exchanges a token for a cookie.
func (s *Server) logIn(ctx context.Context, in *logInInput) (*cookieOutput, error) {
	r := requestOf(ctx).http
	t, err := s.logins.findToken(ctx, in.Body.Token)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, s.refuseLogin(r, "the token is unknown, revoked or expired")
	}
	requestOf(ctx).caller = newCaller(t)
	text, err := s.options.Store.CreateSession(ctx, t.ID, sessionLife)
	return &cookieOutput{*sessionCookie(r, text, sessionLife)}, err
}

// logOut ends the session of the cookie, if there is one.
func (s *Server) logOut(ctx context.Context, _ *none) (*cookieOutput, error) {
	req := requestOf(ctx)
	out := &cookieOutput{*sessionCookie(req.http, "", -time.Second)}
	if req.caller == nil || req.caller.session == "" {
		return out, nil
	}
	return out, s.options.Store.EndSession(ctx, req.caller.session)
}

// meBody is who makes the request, and what the server lets do.
type meBody struct {
	User    string        `json:"user,omitempty" doc:"The user whose runs and memories the token reaches; empty for all."`
	Bound   bool          `json:"bound"`
	Token   string        `json:"token,omitempty" doc:"The id of the token."`
	Name    string        `json:"name"`
	Scopes  []store.Scope `json:"scopes"`
	Expires time.Time     `json:"expires_at,omitzero"`
	Edit    bool          `json:"edit" doc:"Whether flow files can be changed."`
	Version string        `json:"version"`
}

// me tells who makes the request.
func (s *Server) me(ctx context.Context, _ *none) (*body[meBody], error) {
	c := requestOf(ctx).caller
	return &body[meBody]{meBody{
		User: c.principal.User, Bound: c.principal.Bound, Token: c.token.ID, Name: c.token.Name, Scopes: c.token.Scopes, Expires: c.token.Expires,
		Edit: s.options.Edit, Version: s.options.Version,
	}}, nil
}

// unbound refuses callers that are bound to a user: they would see other users.
func unbound(ctx context.Context) *Problem {
	if principalOf(ctx).Bound {
		return newProblem(http.StatusForbidden, "forbidden", "the token is bound to a user", "use one that is not")
	}
	return nil
}

// listTokens lists the tokens.
func (s *Server) listTokens(ctx context.Context, in *Listing) (*body[page[*store.Token]], error) {
	if p := unbound(ctx); p != nil {
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
		Scopes  []string `json:"scopes" minItems:"1" doc:"runs:read, runs:write, flows:read, flows:write, memory:read, memory:write, calls:run, metrics, admin."`
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
	if p := unbound(ctx); p != nil {
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
	if p := unbound(ctx); p != nil {
		return nil, p
	}
	defer s.logins.forget()
	return &none{}, s.options.Store.RevokeToken(ctx, in.ID)
}

// listAudit lists who did what.
func (s *Server) listAudit(ctx context.Context, in *Listing) (*body[page[store.Audit]], error) {
	if p := unbound(ctx); p != nil {
		return nil, p
	}
	before, err := strconv.ParseInt("0"+in.Cursor, 10, 64)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the cursor %s is not one of this list", quoted(in.Cursor)).WithHint("leave it out to list from the newest")
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

// auditor stores who did what: requests that change something, and those that were refused.
// The server makes one; it is safe for concurrent use.
type auditor struct {
	store *store.Store
	log   *slog.Logger

	mu      sync.Mutex // guards what follows
	entries []store.Audit
}

const (
	auditInterval = time.Second
	maxEntries    = 10000
)

// add takes a request that was answered.
func (a *auditor) add(req *request) {
	refused := req.status == http.StatusUnauthorized || req.status == http.StatusForbidden
	isRead := req.http.Method == http.MethodGet || req.http.Method == http.MethodHead || req.http.Method == http.MethodOptions
	if isRead && !refused {
		return
	}
	e := store.Audit{
		At: time.Now(), Address: addressOf(req.http), Method: req.http.Method, Route: req.route, Run: req.run, Status: req.status,
	}
	if e.Route == "" {
		e.Route = value.Truncate(req.http.URL.Path, 200)
	}
	if req.caller != nil {
		e.Token, e.User = req.caller.token.ID, req.caller.principal.User
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.entries) < maxEntries {
		a.entries = append(a.entries, e)
	}
}

// run stores the entries now and then, until ctx ends.
func (a *auditor) run(ctx context.Context) {
	ticker := time.NewTicker(auditInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			a.flush(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
			a.flush(ctx)
		}
	}
}

// flush stores the entries.
func (a *auditor) flush(ctx context.Context) {
	a.mu.Lock()
	entries := a.entries
	a.entries = nil
	a.mu.Unlock()
	if len(entries) == 0 {
		return
	}
	if err := a.store.AddAudit(ctx, entries); err != nil && ctx.Err() == nil {
		a.log.Error("the audit cannot be written", "entries", len(entries), "error", err)
	}
}
