package store

import (
	"context"
	"github.com/callnode/scheduler/calls/database"
	"strconv"
	"strings"
	"time"
)

// Message is a notification to be sent.
type Message struct {
	// ID names the message, the same in every process and at every try.
	ID string
	// Target names the URL that it goes to. The URL itself may be a credential and is not stored.
	Target string
	Body   []byte
	// Tries is how often it was sent, in vain.
	Tries int
}

// AddMessage stores a message that is to be sent at once, unless it is known.
func (s *Store) AddMessage(ctx context.Context, m *Message) error {
	return s.write(ctx, func(c database.Conn) error {
		now := s.clock().UnixMilli()
		return exec(c, "INSERT INTO serve_outbox(id, target, body, tries, next, created, done, problem) VALUES ($1, $2, $3, 0, $4, $5, 0, '') ON CONFLICT DO NOTHING",
			m.ID, m.Target, m.Body, now, now)
	})
}

// TakeMessages returns messages to these targets that are due, which no other process takes before the time of the
// lease is over. Messages to other targets are left to processes whose settings have them.
func (s *Store) TakeMessages(ctx context.Context, targets []string, limit int, lease time.Duration) (taken []*Message, err error) {
	if len(targets) == 0 {
		return nil, nil
	}
	err = s.write(ctx, func(c database.Conn) error {
		taken = nil
		now := s.clock()
		args, places := []any{now.UnixMilli(), limit}, make([]string, len(targets))
		for i, target := range targets {
			args = append(args, target)
			places[i] = "$" + strconv.Itoa(len(args))
		}
		type dueMessage struct {
			Message
			next int64
		}
		var due []*dueMessage
		err := c.QueryRows("SELECT id, target, body, tries, next FROM serve_outbox WHERE done = 0 AND next <= $1 AND target IN ("+
			strings.Join(places, ", ")+") ORDER BY next LIMIT $2", args, func(scan func(...any) error) error {
			m := &dueMessage{}
			due = append(due, m)
			return scan(&m.ID, &m.Target, &m.Body, &m.Tries, &m.next)
		})
		if err != nil {
			return err
		}
		for _, m := range due {
			n, err := c.Exec("UPDATE serve_outbox SET next = $1 WHERE id = $2 AND next = $3", now.Add(lease).UnixMilli(), m.ID, m.next)
			if err != nil {
				return err
			}
			if n > 0 { // else another process has taken it meanwhile
				taken = append(taken, &m.Message)
			}
		}
		return nil
	})
	return taken, err
}

// DelayMessage stores that a try was in vain, and when the next one is due.
func (s *Store) DelayMessage(ctx context.Context, m *Message, problem string, next time.Time) error {
	return s.write(ctx, func(c database.Conn) error {
		return exec(c, "UPDATE serve_outbox SET tries = $1, next = $2, problem = $3 WHERE id = $4", m.Tries, next.UnixMilli(), storable(problem), m.ID)
	})
}

// EndMessage stores that a message was sent, or with a problem that it is given up.
func (s *Store) EndMessage(ctx context.Context, m *Message, problem string) error {
	return s.write(ctx, func(c database.Conn) error {
		return exec(c, "UPDATE serve_outbox SET done = 1, tries = $1, problem = $2, body = $3 WHERE id = $4", m.Tries, storable(problem), []byte{}, m.ID)
	})
}

// NotifiedUntil returns the time until which runs were scanned for notifications; now if there was no scan before.
func (s *Store) NotifiedUntil(ctx context.Context) (until time.Time, err error) {
	err = s.write(ctx, func(c database.Conn) error {
		if err := exec(c, "INSERT INTO serve_notified(id, until) VALUES (1, $1) ON CONFLICT DO NOTHING", s.clock().UnixMilli()); err != nil {
			return err
		}
		var at int64
		_, err := c.QueryRow("SELECT until FROM serve_notified WHERE id = 1", nil, &at)
		until = time.UnixMilli(at)
		return err
	})
	return until, err
}

// SetNotifiedUntil stores the time until which runs were scanned.
func (s *Store) SetNotifiedUntil(ctx context.Context, until time.Time) error {
	return s.write(ctx, func(c database.Conn) error {
		return exec(c, "UPDATE serve_notified SET until = $1 WHERE id = 1 AND until < $2", until.UnixMilli(), until.UnixMilli())
	})
}
