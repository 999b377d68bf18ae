package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/llm/value"
)

// Scope is a right that a token gives.
type Scope string

// The scopes. Admin allows everything.
const (
	RunsRead    Scope = "runs:read"
	RunsWrite   Scope = "runs:write"
	RunsAs      Scope = "runs:as"      // begin runs for any user, beside RunsWrite
	RunsApprove Scope = "runs:approve" // decide about approvals, for a token without a user
	FlowsRead   Scope = "flows:read"
	FlowsWrite  Scope = "flows:write"
	MemoryRead  Scope = "memory:read"
	MemoryWrite Scope = "memory:write"
	CallsRun    Scope = "calls:run"
	Metrics     Scope = "metrics"
	Admin       Scope = "admin"
)

// Scopes lists all scopes.
func Scopes() []Scope {
	return []Scope{RunsRead, RunsWrite, RunsAs, RunsApprove, FlowsRead, FlowsWrite, MemoryRead, MemoryWrite, CallsRun, Metrics, Admin}
}

// ParseScopes checks the names of scopes. The error is of kind Invalid.
func ParseScopes(names []string) ([]Scope, error) {
	var known []string
	for _, s := range Scopes() {
		known = append(known, string(s))
	}
	var all []Scope
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, calls.Errorf(calls.Invalid, "there is no scope %q%s", name, value.DidYouMeanSuffix(name, known)).
				WithHint("the scopes are %s", strings.Join(known, ", "))
		}
		if !slices.Contains(all, Scope(name)) {
			all = append(all, Scope(name))
		}
	}
	if len(all) == 0 {
		return nil, calls.Errorf(calls.Invalid, "a token needs a scope").WithHint("the scopes are %s", strings.Join(known, ", "))
	}
	return all, nil
}

// Token is a token without its secret.
type Token struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// User is the only user whose runs and memories the token gives access to; "" is all users.
	User    string    `json:"user,omitempty"`
	Scopes  []Scope   `json:"scopes"`
	Created time.Time `json:"created_at"`
	// Expires is zero for a token that lasts.
	Expires time.Time `json:"expires_at,omitzero"`
}

// Allows reports whether the token has a scope.
func (t *Token) Allows(scope Scope) bool {
	return slices.Contains(t.Scopes, scope) || slices.Contains(t.Scopes, Admin)
}

// maxName bounds the name of a token, in bytes.
const maxName = 200

// CreateToken stores a new token and returns its text, which is not kept. Life is how long it
// lasts; 0 is for good.
func (s *Store) CreateToken(ctx context.Context, name, user string, scopes []Scope, life time.Duration) (*Token, string, error) {
	if name == "" || len(name) > maxName {
		return nil, "", calls.Errorf(calls.Invalid, "a token needs a name of 1 to %d bytes", maxName)
	}
	if life < 0 {
		return nil, "", calls.Errorf(calls.Invalid, "a token cannot expire in the past")
	}
	if !isStorable(name) {
		return nil, "", calls.Errorf(calls.Invalid, "invalid name %q (use UTF-8 text without NUL characters)", name)
	}
	if !calls.IsValidText(user) || !isStorable(user) {
		return nil, "", calls.Errorf(calls.Invalid, "the user %q is not valid UTF-8", user)
	}
	secret := randomText(32)
	id := strings.ToLower(rand.Text()[:10])
	now := s.clock().UTC().Truncate(time.Millisecond)
	t := &Token{ID: id, Name: name, User: user, Scopes: scopes, Created: now}
	expires := int64(0)
	if life > 0 {
		t.Expires = now.Add(life)
		expires = t.Expires.UnixMilli()
	}
	hash := sha256.Sum256([]byte(secret))
	err := s.write(ctx, func(c database.Conn) error {
		return exec(c, "INSERT INTO serve_token(id, name, hash, \"user\", scopes, created, expires) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			id, name, hash[:], user, joinScopes(scopes), now.UnixMilli(), expires)
	})
	return t, "sch_" + id + "_" + secret, err
}

// randomText returns n random bytes as text.
func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

func joinScopes(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, one := range scopes {
		names[i] = string(one)
	}
	return strings.Join(names, ",")
}

// tokenColumns are the columns that scanToken reads.
const tokenColumns = `id, name, hash, "user", scopes, created, expires`

func scanToken(scan func(...any) error) (t *Token, hash []byte, err error) {
	t = &Token{}
	var scopes string
	var created, expires int64
	if err := scan(&t.ID, &t.Name, &hash, &t.User, &scopes, &created, &expires); err != nil {
		return nil, nil, err
	}
	for name := range strings.SplitSeq(scopes, ",") {
		t.Scopes = append(t.Scopes, Scope(name))
	}
	t.Created = time.UnixMilli(created).UTC()
	if expires != 0 {
		t.Expires = time.UnixMilli(expires).UTC()
	}
	return t, hash, nil
}

// Tokens returns all tokens, the oldest first, including expired ones.
func (s *Store) Tokens(ctx context.Context) ([]*Token, error) {
	var all []*Token
	err := s.db.Read(ctx, func(c database.Conn) error {
		all = []*Token{}
		return c.QueryRows("SELECT "+tokenColumns+" FROM serve_token ORDER BY created, id", nil, func(scan func(...any) error) error {
			t, _, err := scanToken(scan)
			if err == nil {
				all = append(all, t)
			}
			return err
		})
	})
	return all, err
}

// loginsMark names the row of serve_secret that is another one after each login that has ended, in every process on the store.
const loginsMark = "logins_mark"

// LoginsMark returns a text that is another one once a token was revoked, or a session ended, since it was asked for last.
func (s *Store) LoginsMark(ctx context.Context) (string, error) {
	var mark []byte
	err := s.db.Read(ctx, func(c database.Conn) error {
		_, err := c.QueryRow("SELECT value FROM serve_secret WHERE name = $1", []any{loginsMark}, &mark)
		return err
	})
	return string(mark), err
}

// markLogins changes the text of [Store.LoginsMark].
func markLogins(c database.Conn) error {
	return exec(c, "INSERT INTO serve_secret(name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", loginsMark, []byte(rand.Text()))
}

// RevokeToken deletes a token and its sessions. The error for an unknown one is of kind
// NotFound.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	return s.write(ctx, func(c database.Conn) error {
		n, err := c.Exec("DELETE FROM serve_token WHERE id = $1", storable(id))
		if err != nil {
			return err
		}
		if n == 0 {
			return calls.Errorf(calls.NotFound, "there is no token %q", value.Truncate(id, 80)).WithHint("scheduler token list shows their ids")
		}
		if err := exec(c, "DELETE FROM serve_session WHERE token = $1", id); err != nil {
			return err
		}
		return markLogins(c)
	})
}

// FindToken returns the token of a text; nil if it is unknown or has expired.
func (s *Store) FindToken(ctx context.Context, text string) (*Token, error) {
	rest, ok := strings.CutPrefix(text, "sch_")
	id, secret, hasSecret := strings.Cut(rest, "_")
	mayExist := ok && hasSecret && isStorable(id)
	if !mayExist {
		return nil, nil
	}
	t, hash, err := s.tokenByID(ctx, id)
	if err != nil || t == nil {
		return nil, err
	}
	given := sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(hash, given[:]) != 1 {
		return nil, nil
	}
	return t, nil
}

// tokenByID returns a token that has not expired, with the hash of its secret; nil for none.
func (s *Store) tokenByID(ctx context.Context, id string) (t *Token, hash []byte, err error) {
	err = s.db.Read(ctx, func(c database.Conn) error {
		t, hash = nil, nil
		return c.QueryRows("SELECT "+tokenColumns+" FROM serve_token WHERE id = $1", []any{id}, func(scan func(...any) error) error {
			t, hash, err = scanToken(scan)
			return err
		})
	})
	if t != nil && !t.Expires.IsZero() && !s.clock().Before(t.Expires) {
		return nil, nil, err
	}
	return t, hash, err
}

// CreateSession stores a session of a token and returns the text of its cookie. The token ""
// is the person who started the server.
func (s *Store) CreateSession(ctx context.Context, token string, life time.Duration) (string, error) {
	text := randomText(32)
	hash := sha256.Sum256([]byte(text))
	err := s.write(ctx, func(c database.Conn) error {
		return exec(c, "INSERT INTO serve_session(hash, token, expires) VALUES ($1, $2, $3)", hash[:], token, s.clock().Add(life).UnixMilli())
	})
	return text, err
}

// FindSession returns the token of a session; nil if it is unknown or has expired.
func (s *Store) FindSession(ctx context.Context, text string) (*Token, error) {
	hash := sha256.Sum256([]byte(text))
	var id string
	var expires int64
	var found bool
	err := s.db.Read(ctx, func(c database.Conn) (err error) {
		found, err = c.QueryRow("SELECT token, expires FROM serve_session WHERE hash = $1", []any{hash[:]}, &id, &expires)
		return err
	})
	if err != nil || !found || s.clock().UnixMilli() >= expires {
		return nil, err
	}
	if id == "" {
		return Operator(), nil
	}
	t, _, err := s.tokenByID(ctx, id)
	return t, err
}

// Operator returns the token of the person who started the server, which allows everything.
func Operator() *Token { return &Token{Name: "operator", Scopes: []Scope{Admin}} }

// EndSession deletes a session.
func (s *Store) EndSession(ctx context.Context, text string) error {
	hash := sha256.Sum256([]byte(text))
	return s.write(ctx, func(c database.Conn) error {
		if err := exec(c, "DELETE FROM serve_session WHERE hash = $1", hash[:]); err != nil {
			return err
		}
		return markLogins(c)
	})
}

// ParseLife reads how long a token lasts: a duration, or days as in 90d; "" is for good.
func ParseLife(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	life, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		n, err = strconv.Atoi(days)
		life = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || life <= 0 || life > maxLife {
		return 0, calls.Errorf(calls.Invalid, "invalid duration %q (use 90d or 12h)", value.Truncate(text, 40))
	}
	return life, nil
}

const maxLife = 100 * 365 * 24 * time.Hour
