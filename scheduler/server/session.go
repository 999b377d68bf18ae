package server

import (
	"context"
	"net/http"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/store"
)

const sessionLife = 12 * time.Hour

// registerSessions adds the endpoints that log people in and out.
func (s *Server) registerSessions() {
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: base + "/session", id: "log-in", summary: "Exchange a token for a cookie", open: true, noStore: true, status: http.StatusNoContent,
	}, s.logIn)
	addEndpoint(s, endpoint{method: http.MethodDelete, path: base + "/session", id: "log-out", summary: "End the session", open: true, noStore: true, status: http.StatusNoContent}, s.logOut)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/me", id: "get-me", summary: "Tell who I am", noStore: true}, s.describeCaller)
	s.mux.HandleFunc("GET /login", s.handleLogin)
}

// usesTLS reports whether the client of a request speaks TLS: with the server, or with the proxy in front of it.
func (s *Server) usesTLS(r *http.Request) bool { return r.TLS != nil || s.options.BehindTLS }

// sessionCookie returns the cookie of a session; life below 0 deletes it.
func (s *Server) sessionCookie(r *http.Request, text string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: cookieNameAt(r), Value: text, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true, Secure: s.usesTLS(r), SameSite: http.SameSiteStrictMode,
	}
}

// createSession makes a session of a token and returns the text of its cookie.
func (s *Server) createSession(ctx context.Context, token string) (text string, err error) {
	err = withStoreTimeout(ctx, func(ctx context.Context) error {
		text, err = s.options.Store.CreateSession(ctx, token, sessionLife)
		return err
	})
	return text, err
}

// handleLogin is the page behind the login link: it logs in the person who opens it.
func (s *Server) handleLogin(w http.ResponseWriter, r *http.Request) {
	if s.page != nil && !r.URL.Query().Has("code") && s.page.serve(w, r) {
		return // the page asks for a token
	}
	if r.Method == http.MethodHead { // programs fetch links before a person opens them: that must not use up the link
		return
	}
	putBack, ok := s.logins.takeCode(r.URL.Query().Get("code"))
	if !ok {
		s.writeProblem(w, r, s.refuseLogin(r, wording.Say("the link was used or is too old: restart the server for a new one, or log in with a token")))
		return
	}
	text, err := s.createSession(r.Context(), "")
	if err != nil {
		putBack()
		s.writeProblem(w, r, problemOf(err))
		return
	}
	http.SetCookie(w, s.sessionCookie(r, text, sessionLife))
	http.Redirect(w, r, "/", http.StatusSeeOther)
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
	var t *store.Token
	err := withStoreTimeout(ctx, func(ctx context.Context) (err error) {
		t, err = s.logins.findToken(ctx, in.Body.Token)
		return err
	})
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, s.refuseLogin(r, wording.Say("the token is unknown, revoked or expired"))
	}
	requestOf(ctx).caller = newCaller(t)
	text, err := s.createSession(ctx, t.ID)
	return &cookieOutput{*s.sessionCookie(r, text, sessionLife)}, err
}

// logOut ends the session of the cookie, if there is one.
func (s *Server) logOut(ctx context.Context, _ *none) (*cookieOutput, error) {
	req := requestOf(ctx)
	out := &cookieOutput{*s.sessionCookie(req.http, "", -time.Second)}
	if req.caller == nil || req.caller.session == "" {
		return out, nil
	}
	defer s.logins.endLogin()
	return out, withStoreTimeout(ctx, func(ctx context.Context) error { return s.options.Store.EndSession(ctx, req.caller.session) })
}

// meBody is the caller of the request, and the caller's rights.
type meBody struct {
	User    string        `json:"user,omitempty" doc:"The user whose runs and memories the token reaches; empty for all."`
	Bound   bool          `json:"bound"`
	Token   string        `json:"token,omitempty" doc:"The id of the token."`
	Name    string        `json:"name"`
	Scopes  []store.Scope `json:"scopes"`
	Expires time.Time     `json:"expires_at,omitzero"`
	Session bool          `json:"session" doc:"Whether a session's cookie logs in, which can be ended."`
	Edit    bool          `json:"edit" doc:"Whether flow files can be changed."`
	Version string        `json:"version"`

	Currency string `json:"currency" doc:"The currency of every cost that the server tells, as three letters of ISO 4217: the setting llm.currency."`
}

// describeCaller describes the caller of the request.
func (s *Server) describeCaller(ctx context.Context, _ *none) (*body[meBody], error) {
	c := requestOf(ctx).caller
	return &body[meBody]{meBody{
		User: c.principal.User, Bound: c.principal.Bound, Token: c.token.ID, Name: c.token.Name, Scopes: c.token.Scopes, Expires: c.token.Expires,
		Session: c.session != "", Edit: s.options.Edit, Version: s.options.Version, Currency: s.options.Currency.Code(),
	}}, nil
}
