package store

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
)

// Request is a request with an idempotency key.
type Request struct {
	// Principal is the owner of the key, Key the client's key.
	Principal, Key string
	// Body is the hash of the request.
	Body []byte
	// Run is the run that the request begins.
	Run string
	// Claim names the one that carries the request out, among all repeats of it; no two have the same.
	Claim string
	// Status and Response are the answer; Status is 0 until there is one.
	Status   int
	Response []byte
}

// SameBody reports whether two requests ask the same.
func (r *Request) SameBody(other *Request) bool { return bytes.Equal(r.Body, other.Body) }

// BeginRequest stores a request before it is carried out. If its key is known, the earlier request is returned
// instead. An earlier one with the same content and without an answer is claimed with r.Claim: it stays stored
// until [Store.ReleaseRequest], so that a later repeat gets the same run. The error of a key that is not a text is
// of kind Invalid.
func (s *Store) BeginRequest(ctx context.Context, r *Request) (earlier *Request, err error) {
	if !isStorable(r.Key) {
		return nil, calls.Errorf(calls.Invalid, "invalid Idempotency-Key (use UTF-8 text without NUL characters)")
	}
	claim, now := r.Claim+",", s.clock()
	err = s.write(ctx, func(c database.Conn) error {
		earlier = nil
		// A known row is locked until the end of the transaction, even if nothing of it changes.
		added, err := c.Exec(`INSERT INTO serve_request(principal, key, body, run, status, response, created, claims) VALUES ($1, $2, $3, $4, 0, $5, $6, $7)
			ON CONFLICT (principal, key) DO UPDATE SET body = excluded.body, run = excluded.run, status = 0, response = excluded.response,
				created = excluded.created, claims = excluded.claims
			WHERE serve_request.created < $8`,
			r.Principal, r.Key, r.Body, r.Run, []byte{}, now.UnixMilli(), claim, now.Add(-keepRequests).UnixMilli())
		if added > 0 || err != nil {
			return err
		}
		stored := &Request{Principal: r.Principal, Key: r.Key}
		_, err = c.QueryRow("SELECT body, run, status, response FROM serve_request WHERE principal = $1 AND key = $2",
			[]any{r.Principal, r.Key}, &stored.Body, &stored.Run, &stored.Status, &stored.Response)
		isOwn := stored.Run == r.Run // the transaction was committed before, and the answer to that was lost
		if isOwn || err != nil {
			return err
		}
		earlier = stored
		isOpen := stored.Status == 0 && stored.SameBody(r)
		if !isOpen {
			return nil
		}
		return exec(c, "UPDATE serve_request SET claims = replace(claims, $1, '') || $2 WHERE principal = $3 AND key = $4", claim, claim, r.Principal, r.Key)
	})
	return earlier, err
}

// EndRequest stores the answer of a request. Of several answers the first one stays: repeats get the first
// client's answer.
func (s *Store) EndRequest(ctx context.Context, r *Request) error {
	return s.write(ctx, func(c database.Conn) error {
		return exec(c, "UPDATE serve_request SET status = $1, response = $2 WHERE principal = $3 AND key = $4 AND run = $5 AND status = 0",
			r.Status, r.Response, r.Principal, r.Key, r.Run)
	})
}

// ReleaseRequest releases the claim of a request that has begun nothing, for example because its flow does not
// exist. A request that has no answer and no other claim is deleted: the client may correct it and use its key
// again. The claim of a server that died stays, so that such a request can only be repeated unchanged.
func (s *Store) ReleaseRequest(ctx context.Context, r *Request) error {
	return s.write(ctx, func(c database.Conn) error {
		err := exec(c, "UPDATE serve_request SET claims = replace(claims, $1, '') WHERE principal = $2 AND key = $3 AND run = $4 AND status = 0",
			r.Claim+",", r.Principal, r.Key, r.Run)
		if err != nil {
			return err
		}
		return exec(c, "DELETE FROM serve_request WHERE principal = $1 AND key = $2 AND run = $3 AND status = 0 AND claims = ''", r.Principal, r.Key, r.Run)
	})
}

// PutConversation stores the run that a conversation waits in.
func (s *Store) PutConversation(ctx context.Context, key []byte, run string) error {
	return s.write(ctx, func(c database.Conn) error {
		return exec(c, "INSERT INTO serve_conversation(key, run, created) VALUES ($1, $2, $3) ON CONFLICT (key) DO UPDATE SET run = excluded.run, created = excluded.created", key, run, s.clock().UnixMilli())
	})
}

// maxAlike limits the kept runs of conversations that are alike.
const maxAlike = 16

// AddConversation adds a run to the runs of a conversation, under each of its keys. [Store.Conversation] returns
// them with blanks between them, the last one last. Of more than 16 the oldest are left out.
func (s *Store) AddConversation(ctx context.Context, run string, keys ...[]byte) error {
	inOrder := slices.SortedFunc(slices.Values(keys), bytes.Compare) // two changes that lock the same rows do not wait for each other
	return s.write(ctx, func(c database.Conn) error {
		for _, key := range inOrder {
			if err := s.addAlike(c, run, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// addAlike adds a run to the runs of one key. The first statement makes the row or locks it, so that the read
// includes runs that another change has just added.
func (s *Store) addAlike(c database.Conn, run string, key []byte) error {
	err := exec(c, "INSERT INTO serve_conversation(key, run, created) VALUES ($1, '', $2) ON CONFLICT (key) DO UPDATE SET created = excluded.created", key, s.clock().UnixMilli())
	if err != nil {
		return err
	}
	var kept string
	if _, err := c.QueryRow("SELECT run FROM serve_conversation WHERE key = $1", []any{key}, &kept); err != nil {
		return err
	}
	runs := slices.DeleteFunc(strings.Fields(kept), func(other string) bool { return other == run })
	runs = append(runs, run)
	runs = runs[max(0, len(runs)-maxAlike):]
	return exec(c, "UPDATE serve_conversation SET run = $1 WHERE key = $2", strings.Join(runs, " "), key)
}

// Conversation returns the run that a conversation waits in; "" for none.
func (s *Store) Conversation(ctx context.Context, key []byte) (run string, err error) {
	err = s.db.Read(ctx, func(c database.Conn) error {
		_, err := c.QueryRow("SELECT run FROM serve_conversation WHERE key = $1", []any{key}, &run)
		return err
	})
	return run, err
}

// Audit is an entry of the audit: a user's action.
type Audit struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// Token is the id of the token. User is whose it is, or for whom a run was begun with the scope runs:as.
	Token   string `json:"token,omitempty"`
	User    string `json:"user,omitempty"`
	Address string `json:"address"`
	Method  string `json:"method"`
	// Route is the path with its variables by name, and the decisions about approvals that the request made, for example
	// /api/v1/runs/{id}/answers refund=approved.
	Route  string `json:"route"`
	Run    string `json:"run,omitempty"`
	Status int    `json:"status"`
}

// AddAudit stores entries; their ids are given by the store.
func (s *Store) AddAudit(ctx context.Context, entries []Audit) error {
	return s.write(ctx, func(c database.Conn) error {
		for i := range entries {
			e := &entries[i]
			err := exec(c, "INSERT INTO serve_audit(at, token, \"user\", address, method, route, run, status) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
				e.At.UnixMilli(), e.Token, e.User, storable(e.Address), storable(e.Method), storable(e.Route), storable(e.Run), e.Status)
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
	var list []Audit
	err := s.db.Read(ctx, func(c database.Conn) error {
		list = []Audit{}
		return c.QueryRows("SELECT id, at, token, \"user\", address, method, route, run, status FROM serve_audit WHERE id < $1 ORDER BY id DESC LIMIT $2",
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
