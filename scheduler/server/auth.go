package server

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// caller is who makes a request: the owner of a token, or of a session of one.
type caller struct {
	token     *store.Token
	principal service.Principal
	session   string // the text of the cookie; "" for a bearer token
}

// newCaller returns the caller of a token. A token with a user is bound to it.
func newCaller(t *store.Token) *caller {
	return &caller{token: t, principal: service.Principal{User: t.User, Bound: t.User != ""}}
}

// key names the caller in stores.
func (c *caller) key() string { return c.token.ID + "/" + c.token.User }

// principalOf returns whom a handler works for.
func principalOf(ctx context.Context) service.Principal {
	return requestOf(ctx).caller.principal
}

const (
	cookieName  = "scheduler_session"
	sessionLife = 12 * time.Hour
)

// admit finds out who makes a request, and refuses those that no handler should see.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) *Problem {
	if !s.hosts.allows(r.Host) {
		return newProblem(http.StatusForbidden, "forbidden", "the host "+quoted(r.Host)+" is not one of this server", "add it to serve.hosts")
	}
	if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(s.options.Origins, origin) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "ETag, Location, Retry-After, X-Request-Id, Idempotency-Replayed")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Session-Id")
			h.Set("Access-Control-Max-Age", "600")
		}
	}
	if err := s.csrf.Check(r); err != nil {
		return newProblem(http.StatusForbidden, "forbidden", "the request comes from a page of another origin", "list the origin in serve.cors_origins")
	}
	c, err := s.findCaller(r)
	if err != nil {
		return problemOf(err)
	}
	requestOf(r.Context()).caller = c
	if c != nil && !s.limits.allows(c.token.ID) {
		return newProblem(http.StatusTooManyRequests, "busy", "the token makes too many requests", "at most 50 a second").retryAfter(1)
	}
	return nil
}

// findCaller returns who makes a request; nil where it does not tell.
func (s *Server) findCaller(r *http.Request) (*caller, error) {
	scheme, text, isBearer := strings.Cut(r.Header.Get("Authorization"), " ")
	if isBearer && strings.EqualFold(scheme, "Bearer") {
		t, err := s.logins.findToken(r.Context(), strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if t != nil {
			return newCaller(t), nil
		}
		if !s.options.NoAuth {
			return nil, s.refuseLogin(r, "the token is unknown, revoked or expired")
		}
	}
	if cookie, err := r.Cookie(cookieName); err == nil {
		t, err := s.options.Store.FindSession(r.Context(), cookie.Value)
		if err != nil {
			return nil, err
		}
		if t != nil {
			c := newCaller(t)
			c.session = cookie.Value
			return c, nil
		}
	}
	if s.options.NoAuth {
		return newCaller(store.Operator()), nil
	}
	return nil, nil
}

// refuseLogin is the answer to a wrong token or code.
func (s *Server) refuseLogin(r *http.Request, why string) *Problem {
	if !s.limits.allowsFailure(addressOf(r)) {
		return newProblem(http.StatusTooManyRequests, "busy", "too many failed logins from this address", "wait a minute").retryAfter(60)
	}
	return unauthorized(why)
}

func unauthorized(why string) *Problem {
	p := newProblem(http.StatusUnauthorized, "unauthorized", why, "send Authorization: Bearer TOKEN; scheduler token create makes one")
	p.header.Set("WWW-Authenticate", `Bearer realm="scheduler"`)
	return p
}

// checkScope returns why the caller may not use an endpoint; nil where it may. The scope ""
// is everybody's who is logged in.
func checkScope(c *caller, scope store.Scope) *Problem {
	if c == nil {
		return unauthorized("a token is needed")
	}
	if scope != "" && !c.token.Allows(scope) {
		return newProblem(http.StatusForbidden, "forbidden", "the token lacks the scope "+string(scope), "create one with --scopes "+string(scope))
	}
	return nil
}

// addressOf returns the address of the client.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// hostCheck knows which names a server has: a page of another name whose address was
// changed to that of the server must not reach it. It does not change.
type hostCheck struct {
	addr  netip.Addr // of the listener; invalid for a socket
	name  string
	names []string
}

func newHostCheck(listen string, names []string) *hostCheck {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = listen
	}
	addr, _ := netip.ParseAddr(host)
	return &hostCheck{addr: addr, name: host, names: names}
}

// allows reports whether a Host header names the server.
func (h *hostCheck) allows(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = header
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if slices.Contains(h.names, header) || slices.Contains(h.names, host) || (host != "" && host == h.name) {
		return true
	}
	isLocal := !h.addr.IsValid() || h.addr.IsUnspecified() || h.addr.IsLoopback()
	if host == "localhost" {
		return isLocal
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if h.addr.IsValid() && !h.addr.IsUnspecified() && !(h.addr.IsLoopback() && addr.IsLoopback()) {
		return addr.Unmap() == h.addr.Unmap()
	}
	return true // names can be made to point here, addresses cannot
}

// logins finds tokens and hands out one-time codes. It is safe for concurrent use.
type logins struct {
	store *store.Store

	mu    sync.Mutex // guards what follows
	codes map[string]time.Time
	known map[string]knownToken // by the text of the token
}

type knownToken struct {
	token *store.Token
	until time.Time
}

const (
	codeLife = 15 * time.Minute
	// tokenMemory is how long a token is not looked up again: as long a token that another
	// process has revoked still works.
	tokenMemory = 2 * time.Second
	maxKnown    = 1000
)

func newLogins(s *store.Store) *logins {
	return &logins{store: s, codes: map[string]time.Time{}, known: map[string]knownToken{}}
}

// findToken returns the token of a text; nil for none.
func (l *logins) findToken(ctx context.Context, text string) (*store.Token, error) {
	now := time.Now()
	l.mu.Lock()
	k, ok := l.known[text]
	l.mu.Unlock()
	if ok && now.Before(k.until) {
		return k.token, nil
	}
	t, err := l.store.FindToken(ctx, text)
	if err != nil || t == nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxKnown {
		clear(l.known)
	}
	l.known[text] = knownToken{t, now.Add(tokenMemory)}
	return t, nil
}

// forget makes the next requests look their tokens up.
func (l *logins) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.known)
}

// newCode returns a code that logs in once.
func (l *logins) newCode() string {
	code := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.codes[code] = time.Now().Add(codeLife)
	return code
}

// takeCode reports whether a code is good, and uses it up.
func (l *logins) takeCode(code string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.codes[code]
	delete(l.codes, code)
	return ok && time.Now().Before(until)
}

// sessionCookie returns the cookie of a session; life below 0 deletes it.
func sessionCookie(r *http.Request, text string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: text, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
}

// login is the page behind the login link: it gives the one who opens it a session.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if !s.logins.takeCode(r.URL.Query().Get("code")) {
		s.writeProblem(w, r, s.refuseLogin(r, "the link was used or is too old: restart the server for a new one, or log in with a token"))
		return
	}
	text, err := s.options.Store.CreateSession(r.Context(), "", sessionLife)
	if err != nil {
		s.writeProblem(w, r, problemOf(err))
		return
	}
	http.SetCookie(w, sessionCookie(r, text, sessionLife))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// stack returns the stack of the goroutine.
func stack() string { return string(debug.Stack()) }
