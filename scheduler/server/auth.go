package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// principalOf returns whom a handler works for.
func principalOf(ctx context.Context) service.Principal {
	return requestOf(ctx).caller.principal
}

// authenticate identifies the caller of a request, and refuses requests that no handler should see.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) *Problem {
	if !s.hosts.allows(r.Host) {
		return newProblem(http.StatusForbidden, "forbidden", wording.Say("the host %q is not one of this server", value.Truncate(r.Host, 80)), wording.Say("add it to serve.hosts"))
	}
	if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(s.options.Origins, origin) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "ETag, Location, Retry-After, X-Request-Id, Idempotency-Replayed, Mcp-Session-Id")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
			// All that are asked for: the SDKs of OpenAI and MCP have many of their own.
			h.Set("Access-Control-Allow-Headers", cmp.Or(r.Header.Get("Access-Control-Request-Headers"), "Authorization, Content-Type"))
			h.Add("Vary", "Access-Control-Request-Headers")
			h.Set("Access-Control-Max-Age", "600")
		}
	}
	if err := s.csrf.Check(r); err != nil {
		return newProblem(http.StatusForbidden, "forbidden", wording.Say("the request comes from a page of another origin"), wording.Say("list the origin in serve.cors_origins"))
	}
	if isHealthCheck(r.URL.Path) || isWebhook(r.URL.Path) {
		return nil // health checks work without the store; webhooks have their own Authorization, if any
	}
	c, err := s.findCaller(r)
	if err != nil {
		return problemOf(err)
	}
	requestOf(r.Context()).caller = c
	if c != nil && !s.limits.allowRequest(c.token.ID) {
		return newProblem(http.StatusTooManyRequests, "busy", wording.Say("the token makes too many requests"), wording.Say("at most 50 a second")).retryAfter(1)
	}
	return nil
}

// isHealthCheck reports whether a path is a health check's.
func isHealthCheck(path string) bool { return strings.HasPrefix(path, "/health/") }

// isWebhook reports whether a path is a webhook's.
func isWebhook(path string) bool { return strings.HasPrefix(path, hooksPath) }

// findCaller returns the caller of a request; nil if the request does not identify one.
func (s *Server) findCaller(r *http.Request) (c *caller, err error) {
	err = withStoreTimeout(r.Context(), func(ctx context.Context) error {
		c, err = s.lookUpCaller(ctx, r)
		return err
	})
	return c, err
}

func (s *Server) lookUpCaller(ctx context.Context, r *http.Request) (*caller, error) {
	c, isWrong, err := s.lookUpLogin(ctx, r)
	if isWrong {
		return nil, s.refuseLogin(r, wording.Say("the token is unknown, revoked or expired"))
	}
	return c, err
}

// isLoggedIn reports whether the caller of a request, who was logged in at its beginning, still is, as far as the store
// can tell.
func (s *Server) isLoggedIn(ctx context.Context, r *http.Request) bool {
	var c *caller
	err := withStoreTimeout(ctx, func(ctx context.Context) (err error) {
		c, _, err = s.lookUpLogin(ctx, r)
		return err
	})
	return c != nil || err != nil
}

// lookUpLogin returns the caller of a request; nil if the request does not identify one. isWrong is true for an
// invalid token.
func (s *Server) lookUpLogin(ctx context.Context, r *http.Request) (c *caller, isWrong bool, err error) {
	scheme, text, isBearer := strings.Cut(r.Header.Get("Authorization"), " ")
	if isBearer && strings.EqualFold(scheme, "Bearer") {
		t, err := s.logins.findToken(ctx, strings.TrimSpace(text))
		if err != nil {
			return nil, false, err
		}
		if t != nil {
			return newCaller(t), false, nil
		}
		if !s.options.NoAuth {
			return nil, true, nil
		}
	}
	if cookie, err := r.Cookie(cookieNameAt(r)); err == nil {
		t, err := s.options.Store.FindSession(ctx, cookie.Value)
		if err != nil {
			return nil, false, err
		}
		if t != nil {
			c := newCaller(t)
			c.session = cookie.Value
			return c, false, nil
		}
	}
	if s.options.NoAuth {
		return newCaller(store.Operator()), false, nil
	}
	return nil, false, nil
}

// refuseLogin is the answer to a wrong token or code.
func (s *Server) refuseLogin(r *http.Request, why wording.Text) *Problem {
	if !s.limits.allowsFailure(addressOf(r)) {
		return newProblem(http.StatusTooManyRequests, "busy", wording.Say("too many failed logins from this address"), wording.Say("wait a minute")).retryAfter(60)
	}
	return newUnauthorized(why)
}

func newUnauthorized(why wording.Text) *Problem {
	p := newProblem(http.StatusUnauthorized, "unauthorized", why, wording.Say("send Authorization: Bearer TOKEN; scheduler token create makes one"))
	p.header.Set("WWW-Authenticate", `Bearer realm="scheduler"`)
	return p
}

// checkScope returns why the caller may not use an endpoint; nil if it may. Every caller who is logged in has the
// scope "". For example, a token with only runs:read may not start a run.
func checkScope(c *caller, scope store.Scope) *Problem {
	if c == nil {
		return newUnauthorized(wording.Say("a token is needed"))
	}
	if scope != "" && !c.token.Allows(scope) {
		return newProblem(http.StatusForbidden, "forbidden", wording.Say("the token lacks the scope %s", scope), wording.Say("create one with --scopes %s", scope))
	}
	return nil
}

// foreignUser is the answer if the caller may not access the memory of a user.
func foreignUser(user, pointer string) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, string(calls.Invalid), wording.Say("the token is bound to another user than %q", value.Truncate(user, 80)), wording.Say("leave the user out"))
	p.Errors = []Fault{{Pointer: pointer, Message: p.Detail, chineseMessage: p.chineseDetail}}
	return p
}

// actAs returns the principal of a run that the caller begins for a user, and notes the user for the audit. The run is
// bound to the user: it has the same access as a run by the user's own token. "" is the caller itself. For
// example, a shop's token with the scope runs:as begins a run for each customer.
func actAs(ctx context.Context, user string) (service.Principal, error) {
	p, req := principalOf(ctx), requestOf(ctx)
	isSelf := user == "" || p.Bound && user == p.User
	if isSelf {
		return p, nil
	}
	if p.Bound {
		return p, foreignUser(user, "/user")
	}
	if problem := checkScope(req.caller, store.RunsAs); problem != nil {
		return p, problem
	}
	req.user = user
	return service.Principal{User: user, Bound: true}, nil
}

// refuseBound refuses callers that are bound to a user: they would see other users.
func refuseBound(ctx context.Context) *Problem {
	if principalOf(ctx).Bound {
		return newProblem(http.StatusForbidden, "forbidden", wording.Say("the token is bound to a user"), wording.Say("use one that is not"))
	}
	return nil
}
