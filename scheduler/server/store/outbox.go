package store

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
)

// Message is a notification on its way to a URL.
type Message struct {
	// ID names the message, the same in every process and at every try.
	ID   string
	URL  string
	Body []byte
	// Tries is how often it was sent, in vain.
	Tries int
}

// AddMessage stores a message that is to be sent at once, unless it is known.
func (s *Store) AddMessage(ctx context.Context, m *Message) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		now := s.clock().UnixMilli()
		return c.Exec("INSERT OR IGNORE INTO outbox(id, url, body, tries, next, created, done, problem) VALUES (?, ?, ?, 0, ?, ?, 0, '')",
			m.ID, m.URL, m.Body, now, now)
	})
}

// TakeMessages returns messages that are due, which no other process takes before the time
// of the lease is over.
func (s *Store) TakeMessages(ctx context.Context, limit int, lease time.Duration) (due []*Message, err error) {
	err = s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		due = nil
		now := s.clock()
		err := c.QueryRows("SELECT id, url, body, tries FROM outbox WHERE done = 0 AND next <= ? ORDER BY next LIMIT ?",
			[]any{now.UnixMilli(), limit}, func(scan func(...any) error) error {
				m := &Message{}
				due = append(due, m)
				return scan(&m.ID, &m.URL, &m.Body, &m.Tries)
			})
		for _, m := range due {
			if err == nil {
				err = c.Exec("UPDATE outbox SET next = ? WHERE id = ?", now.Add(lease).UnixMilli(), m.ID)
			}
		}
		return err
	})
	return due, err
}

// DelayMessage stores that a try was in vain, and when the next one is due.
func (s *Store) DelayMessage(ctx context.Context, m *Message, problem string, next time.Time) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		return c.Exec("UPDATE outbox SET tries = ?, next = ?, problem = ? WHERE id = ?", m.Tries, next.UnixMilli(), problem, m.ID)
	})
}

// EndMessage stores that a message was sent, or with a problem that it is given up.
func (s *Store) EndMessage(ctx context.Context, m *Message, problem string) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		return c.Exec("UPDATE outbox SET done = 1, tries = ?, problem = ?, body = x'' WHERE id = ?", m.Tries, problem, m.ID)
	})
}

// NotifiedUntil returns the time until which runs were looked at for notifications; now where
// none were before.
func (s *Store) NotifiedUntil(ctx context.Context) (until time.Time, err error) {
	err = s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		if err := c.Exec("INSERT OR IGNORE INTO notified(id, until) VALUES (1, ?)", s.clock().UnixMilli()); err != nil {
			return err
		}
		var at int64
		_, err := c.QueryRow("SELECT until FROM notified WHERE id = 1", nil, &at)
		until = time.UnixMilli(at)
		return err
	})
	return until, err
}

// SetNotifiedUntil stores the time until which runs were looked at.
func (s *Store) SetNotifiedUntil(ctx context.Context, until time.Time) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		return c.Exec("UPDATE notified SET until = max(until, ?) WHERE id = 1", until.UnixMilli())
	})
}
