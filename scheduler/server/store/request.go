package store

import (
	"bytes"
	"context"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
)

// Request is a request with an idempotency key.
type Request struct {
	// Principal is whose key it is, Key what the client chose.
	Principal, Key string
	// Body is the hash of what was asked.
	Body []byte
	// Run is the run that the request begins.
	Run string
	// Status and Response are the answer; Status is 0 until there is one.
	Status   int
	Response []byte
}

// SameBody reports whether two requests ask the same.
func (r *Request) SameBody(other *Request) bool { return bytes.Equal(r.Body, other.Body) }

// BeginRequest stores a request before it is carried out. Where its key is known, the
// earlier request is returned instead, and nothing is stored.
func (s *Store) BeginRequest(ctx context.Context, r *Request) (earlier *Request, err error) {
	err = s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		old := &Request{Principal: r.Principal, Key: r.Key}
		since := s.clock().Add(-keepRequests).UnixMilli()
		found, err := c.QueryRow("SELECT body, run, status, response FROM request WHERE principal = ? AND key = ? AND created >= ?",
			[]any{r.Principal, r.Key, since}, &old.Body, &old.Run, &old.Status, &old.Response)
		if err != nil {
			return err
		}
		if found {
			earlier = old
			return nil
		}
		earlier = nil
		return c.Exec("INSERT OR REPLACE INTO request(principal, key, body, run, status, response, created) VALUES (?, ?, ?, ?, 0, x'', ?)",
			r.Principal, r.Key, r.Body, r.Run, s.clock().UnixMilli())
	})
	return earlier, err
}

// EndRequest stores the answer of a request.
func (s *Store) EndRequest(ctx context.Context, r *Request) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		return c.Exec("UPDATE request SET status = ?, response = ? WHERE principal = ? AND key = ?", r.Status, r.Response, r.Principal, r.Key)
	})
}

// ForgetRequest deletes a request that began nothing: the client may correct it and use its
// key again.
func (s *Store) ForgetRequest(ctx context.Context, r *Request) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		return c.Exec("DELETE FROM request WHERE principal = ? AND key = ?", r.Principal, r.Key)
	})
}

// PutConversation stores the run that a conversation waits in.
func (s *Store) PutConversation(ctx context.Context, key []byte, run string) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		return c.Exec("INSERT OR REPLACE INTO conversation(key, run, created) VALUES (?, ?, ?)", key, run, s.clock().UnixMilli())
	})
}

// Conversation returns the run that a conversation waits in; "" for none.
func (s *Store) Conversation(ctx context.Context, key []byte) (run string, err error) {
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		_, err := c.QueryRow("SELECT run FROM conversation WHERE key = ?", []any{key}, &run)
		return err
	})
	return run, err
}

// Audit is what somebody has done.
type Audit struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// Token is the id of the token, User whose it is.
	Token   string `json:"token,omitempty"`
	User    string `json:"user,omitempty"`
	Address string `json:"address"`
	Method  string `json:"method"`
	// Route is the path with its variables by name.
	Route  string `json:"route"`
	Run    string `json:"run,omitempty"`
	Status int    `json:"status"`
}

// AddAudit stores entries; their ids are given by the store.
func (s *Store) AddAudit(ctx context.Context, entries []Audit) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		for i := range entries {
			e := &entries[i]
			err := c.Exec("INSERT INTO audit(at, token, user, address, method, route, run, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				e.At.UnixMilli(), e.Token, e.User, e.Address, e.Method, e.Route, e.Run, e.Status)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// AuditBefore returns at most limit entries with ids below before, the newest first; 0 is
// from the newest.
func (s *Store) AuditBefore(ctx context.Context, before int64, limit int) ([]Audit, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	list := []Audit{}
	err := s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		return c.QueryRows("SELECT id, at, token, user, address, method, route, run, status FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?",
			[]any{before, limit}, func(scan func(...any) error) error {
				var e Audit
				var at int64
				if err := scan(&e.ID, &at, &e.Token, &e.User, &e.Address, &e.Method, &e.Route, &e.Run, &e.Status); err != nil {
					return err
				}
				e.At = time.UnixMilli(at).UTC()
				list = append(list, e)
				return nil
			})
	})
	return list, err
}
