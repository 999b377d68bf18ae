package server

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// cookieName is the name of the cookie of a session; if the address has a port, the name ends with it: see
// [cookieNameAt].
const cookieName = "scheduler_session"

// cookieNameAt returns the name of the cookie at the address that a request was made to. Browsers send a cookie to all ports of a host,
// on which servers of other projects may listen. For example, the name is scheduler_session_8480 at
// localhost:8480.
func cookieNameAt(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return cookieName
	}
	return cookieName + "_" + port
}

// caller is the caller of a request: the owner of a token, or of a session of one.
type caller struct {
	token     *store.Token
	principal service.Principal
	session   string // the text of the cookie; "" for a bearer token
}

// newCaller returns the caller of a token. A token with a user is bound to it.
func newCaller(t *store.Token) *caller {
	return &caller{token: t, principal: service.Principal{User: t.User, Bound: t.User != "", Name: t.Name, CannotApprove: !t.Allows(store.RunsApprove)}}
}

// storeKey names the caller in stores.
func (c *caller) storeKey() string { return c.token.ID + "/" + c.token.User }

// logins finds tokens and hands out one-time codes. It is safe for concurrent use.
type logins struct {
	store *store.Store

	mu    sync.Mutex // guards the fields below
	codes map[string]time.Time
	known map[string]knownToken // by the text of the token
	ended chan struct{}         // closed when a token or a session ends
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
	return &logins{store: s, codes: map[string]time.Time{}, known: map[string]knownToken{}, ended: make(chan struct{})}
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

// endLogin makes the next requests look their tokens up, and streams see whether their callers are still logged in: a
// token or a session has ended.
func (l *logins) endLogin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.known)
	close(l.ended)
	l.ended = make(chan struct{})
}

// loginEnded returns a channel that is closed at the next [logins.endLogin].
func (l *logins) loginEnded() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// marksInterval is how often the store is asked whether another process has ended logins.
const marksInterval = 250 * time.Millisecond

// watchStore ends logins that another process on the store has ended, such as scheduler token revoke, until ctx ends.
func (l *logins) watchStore(ctx context.Context) {
	ticker := time.NewTicker(marksInterval)
	defer ticker.Stop()
	seen, isKnown := "", false
	for {
		mark, err := l.store.LoginsMark(ctx)
		if err == nil { // requests report an unavailable store
			if isKnown && mark != seen {
				l.endLogin()
			}
			seen, isKnown = mark, true
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// newCode returns a code that logs in once.
func (l *logins) newCode() string {
	code := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.codes[code] = time.Now().Add(codeLife)
	return code
}

// takeCode reports whether a code is good, and uses it up. putBack undoes that.
func (l *logins) takeCode(code string) (putBack func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.codes[code]
	delete(l.codes, code)
	putBack = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.codes[code] = until
	}
	return putBack, ok && time.Now().Before(until)
}
