package sqlite

import (
	"context"
	"math"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// Claim returns a job that is due and reserves it.
func (s *Store) Claim(ctx context.Context, claim memory.Claim) (job *memory.Job, err error) {
	if err := claim.Users.Check(); err != nil {
		return nil, err
	}
	// Most of the time there is none: no need to write for that.
	waiting := false
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		waiting, err = c.QueryRow("SELECT 1 WHERE EXISTS (SELECT 1 FROM session WHERE waits AND fresh > 0) OR EXISTS (SELECT 1 FROM category)", nil, new(int))
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	err = s.write(ctx, func(c *sqlitefile.Conn) (err error) {
		job, err = claimSession(c, &claim)
		if job == nil && err == nil {
			job, err = claimCategory(c, &claim)
		}
		return err
	})
	return job, err
}

// dueCondition returns the SQL condition of a row that is due, and its arguments.
func dueCondition(c *memory.Claim, enough int, idle time.Duration) (condition string, args []any) {
	condition, args = "fresh > 0 AND not_before <= ?", []any{c.Now.UnixMilli()}
	if !c.All {
		condition, args = condition+" AND (fresh >= ? OR last <= ?)", append(args, enough, c.Now.Add(-idle).UnixMilli())
	}
	if name, one := c.Users.One(); one {
		condition, args = condition+" AND user = (SELECT id FROM user WHERE user.name = ?)", append(args, name)
	}
	return condition, args
}

func claimSession(c *sqlitefile.Conn, claim *memory.Claim) (*memory.Job, error) {
	condition, args := dueCondition(claim, claim.Memories, claim.Idle)
	condition = "waits AND " + condition
	for {
		t := packed.Token{Until: claim.Now.Add(claim.Lease).UnixMilli()}
		job := &memory.Job{}
		var after int64
		// In the order of the index of those that wait: to look for the oldest would read
		// them all each time.
		found, err := c.QueryRow("SELECT user, number, name, after, attempts FROM session WHERE "+condition+" ORDER BY user, number LIMIT 1", args,
			&t.User, &t.Number, &job.Session, &after, &job.Attempts)
		if !found {
			return nil, err
		}
		job.Memories, err = freshMemories(c, t, after)
		if err != nil {
			return nil, err
		}
		if len(job.Memories) == 0 { // their count was wrong
			if err := c.Exec("UPDATE session SET fresh = 0, waits = 0 WHERE user = ? AND number = ?", t.User, t.Number); err != nil {
				return nil, err
			}
			continue
		}
		job.User, job.Token = job.Memories[0].Context.UserID, t.String()
		return job, c.Exec("UPDATE session SET not_before = ? WHERE user = ? AND number = ?", t.Until, t.User, t.Number)
	}
}

// freshMemories returns the oldest memories of a session that no snapshot has.
func freshMemories(c *sqlitefile.Conn, t packed.Token, after int64) (list []memory.BaseMemory, err error) {
	u := user{id: t.User}
	err = c.QueryRows(selectMemory+` WHERE m.rid BETWEEN ? AND ? AND m.session = ? AND NOT EXISTS (SELECT 1 FROM snapshot_ref r WHERE r.rid = m.rid)
		ORDER BY m.rid LIMIT ?`, []any{after, u.rid(0) | math.MaxUint32, t.Number, memory.MaxJob}, packed.Collect(&list, packed.Columns))
	return list, err
}

func claimCategory(c *sqlitefile.Conn, claim *memory.Claim) (*memory.Job, error) {
	// Snapshots wait for company however long it takes.
	condition, args := dueCondition(claim, claim.Snapshots, math.MaxInt64)
	t := packed.Token{Number: packed.NoSession, Until: claim.Now.Add(claim.Lease).UnixMilli()}
	job := &memory.Job{}
	found, err := c.QueryRow("SELECT user, name, attempts, (SELECT name FROM user WHERE id = user) FROM category WHERE "+condition+" ORDER BY last, user, name LIMIT 1", args,
		&t.User, &t.Category, &job.Attempts, &job.User)
	if !found {
		return nil, err
	}
	err = c.QueryRows(`SELECT body FROM snapshot s WHERE user = ? AND category = ? AND NOT EXISTS (SELECT 1 FROM meta_ref WHERE snapshot = s.key)
		ORDER BY number LIMIT ?`, []any{t.User, t.Category, memory.MaxJob}, func(scan func(...any) error) error {
		var x memory.MemorySnapshot
		var bad error
		if err := scan(packed.ScanJSON{Use: func(v value.Value) { bad = x.DecodeValue(v) }}); err != nil {
			return err
		}
		job.Snapshots = append(job.Snapshots, x)
		return bad
	})
	if err != nil || len(job.Snapshots) == 0 {
		return nil, err
	}
	job.Category, job.Token = job.Snapshots[0].Category, t.String()
	return job, c.Exec("UPDATE category SET not_before = ? WHERE user = ? AND name = ?", t.Until, t.User, t.Category)
}

// Complete saves the result of a job, or drops it with [memory.ErrStale].
func (s *Store) Complete(ctx context.Context, job *memory.Job) error {
	now := s.clock()
	if err := job.Check(now); err != nil {
		return err
	}
	t, err := packed.ParseToken(job.Token)
	if err != nil {
		return err
	}
	isSaved := false
	err = s.write(ctx, func(c *sqlitefile.Conn) error {
		isSaved = false
		if mine, err := release(c, t, 0, 0); !mine {
			return err
		}
		u, err := findUser(c, job.User)
		if u == nil {
			return err
		}
		if there, err := allExist(c, job); !there {
			return err
		}
		isSaved = true
		if job.Detail != nil {
			if err := saveSnapshot(c, u, *job.Detail, now.UnixMilli()); err != nil {
				return err
			}
			// The first memory that still waits is at or behind the first of the job.
			id, err := memory.UUIDOf(memory.MemoryID, job.Memories[0].ID)
			if err != nil {
				return err
			}
			if err := c.Exec("UPDATE session SET after = (SELECT rid FROM memory WHERE id = ?) WHERE user = ? AND number = ?", id[:], t.User, t.Number); err != nil {
				return err
			}
		} else if err := saveMeta(c, u, *job.Meta); err != nil {
			return err
		}
		return u.save(c)
	})
	if err == nil && !isSaved {
		return memory.ErrStale
	}
	return err
}

// allExist reports whether everything that a job was made of still exists.
func allExist(c *sqlitefile.Conn, job *memory.Job) (bool, error) {
	there := func(table string, kind memory.Kind, id string) (bool, error) {
		u, err := memory.UUIDOf(kind, id)
		if err != nil {
			return false, err
		}
		return c.QueryRow("SELECT 1 FROM "+table+" WHERE id = ?", []any{u[:]}, new(int))
	}
	for i := range job.Memories {
		if ok, err := there("memory", memory.MemoryID, job.Memories[i].ID); !ok {
			return false, err
		}
	}
	for i := range job.Snapshots {
		if ok, err := there("snapshot", memory.SnapshotID, job.Snapshots[i].ID); !ok {
			return false, err
		}
	}
	return true, nil
}

// Postpone returns a job, to be tried later.
func (s *Store) Postpone(ctx context.Context, job *memory.Job, until time.Time) error {
	t, err := packed.ParseToken(job.Token)
	if err != nil {
		return err
	}
	return s.write(ctx, func(c *sqlitefile.Conn) error {
		_, err := release(c, t, until.UnixMilli(), job.Attempts+1)
		return err
	})
}

// release ends the reservation; mine is false if it had ended.
func release(c *sqlitefile.Conn, t packed.Token, notBefore int64, attempts int) (mine bool, err error) {
	var n int64
	if t.Number == packed.NoSession {
		n, err = c.ExecCount("UPDATE category SET not_before = ?, attempts = ? WHERE user = ? AND name = ? AND not_before = ?", notBefore, attempts, t.User, t.Category, t.Until)
	} else {
		n, err = c.ExecCount("UPDATE session SET not_before = ?, attempts = ? WHERE user = ? AND number = ? AND not_before = ?", notBefore, attempts, t.User, t.Number, t.Until)
	}
	return n > 0, err
}
