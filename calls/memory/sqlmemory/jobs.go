package sqlmemory

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// Claim returns a job that is due and reserves it.
func (s *Store) Claim(ctx context.Context, claim memory.Claim) (job *memory.Job, err error) {
	if err := claim.Users.Check(); err != nil {
		return nil, err
	}
	// Most of the time no job is due: that needs no write.
	waiting := false
	err = s.db.read(ctx, func(c conn) (err error) {
		waiting, err = c.QueryRow("SELECT 1 WHERE EXISTS (SELECT 1 FROM memory_session WHERE waits AND fresh > 0) OR EXISTS (SELECT 1 FROM memory_category)", nil, new(int))
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	err = s.db.change(ctx, func(c conn) (err error) {
		job, err = claimSession(c, &claim)
		if job == nil && err == nil {
			job, err = claimCategory(c, &claim)
		}
		return err
	})
	return job, err
}

// dueCondition returns the SQL condition of a row that is due, and its arguments.
func dueCondition(c conn, claim *memory.Claim, enough int, idle time.Duration) (condition string, args []any) {
	condition, args = "fresh > 0 AND not_before <= $1", []any{claim.Now.UnixMilli()}
	if !claim.All {
		condition, args = condition+" AND (fresh >= $2 OR last <= $3)", append(args, enough, claim.Now.Add(-idle).UnixMilli())
	}
	if name, one := claim.Users.One(); one {
		args = append(args, c.d.encode(name))
		condition += fmt.Sprintf(" AND owner = (SELECT id FROM memory_user u WHERE u.name = $%d)", len(args))
	}
	return condition, args
}

// claimSession claims a session that no other worker claims at the same time.
func claimSession(c conn, claim *memory.Claim) (*memory.Job, error) {
	condition, args := dueCondition(c, claim, claim.Memories, claim.Idle)
	for {
		t := packed.Token{Until: claim.Now.Add(claim.Lease).UnixMilli()}
		job := &memory.Job{}
		var after int64
		// In the order of the index of waiting sessions: to look for the oldest would read them all each time.
		found, err := c.QueryRow("SELECT owner, number, name, after, attempts FROM memory_session WHERE waits AND "+condition+
			" ORDER BY owner, number LIMIT 1 FOR UPDATE SKIP LOCKED", args, &t.User, &t.Number, c.scanText(&job.Session), &after, &job.Attempts)
		if !found {
			return nil, err
		}
		job.Memories, err = freshMemories(c, t, after)
		if err != nil {
			return nil, err
		}
		if len(job.Memories) == 0 { // their count was wrong
			if _, err := c.Exec("UPDATE memory_session SET fresh = 0, waits = false WHERE owner = $1 AND number = $2", t.User, t.Number); err != nil {
				return nil, err
			}
			continue
		}
		job.User, job.Token = job.Memories[0].Context.UserID, t.String()
		_, err = c.Exec("UPDATE memory_session SET not_before = $1 WHERE owner = $2 AND number = $3", t.Until, t.User, t.Number)
		return job, err
	}
}

// freshMemories returns the oldest memories of a session that no snapshot has.
func freshMemories(c conn, t packed.Token, after int64) (list []memory.BaseMemory, err error) {
	err = c.QueryRows(selectMemory+` WHERE m.rid BETWEEN $1 AND $2 AND m.session = $3 AND NOT EXISTS (SELECT 1 FROM memory_snapshot_ref r WHERE r.rid = m.rid)
		ORDER BY m.rid LIMIT $4`, []any{after, ridOf(t.User, lastSeq), t.Number, memory.MaxJob}, packed.Collect(&list, c.columnsOf))
	return list, err
}

// claimCategory claims a category that no other worker claims at the same time.
func claimCategory(c conn, claim *memory.Claim) (*memory.Job, error) {
	// Snapshots wait for company however long it takes.
	condition, args := dueCondition(c, claim, claim.Snapshots, math.MaxInt64)
	t := packed.Token{Number: packed.NoSession, Until: claim.Now.Add(claim.Lease).UnixMilli()}
	job := &memory.Job{}
	found, err := c.QueryRow("SELECT owner, c.name, attempts, (SELECT u.name FROM memory_user u WHERE u.id = owner) FROM memory_category c WHERE "+condition+
		" ORDER BY last, owner, c.name LIMIT 1 FOR UPDATE SKIP LOCKED", args, &t.User, &t.Category, &job.Attempts, c.scanText(&job.User))
	if !found {
		return nil, err
	}
	err = c.QueryRows(`SELECT body FROM memory_snapshot s WHERE owner = $1 AND category = $2 AND NOT EXISTS (SELECT 1 FROM memory_meta_ref WHERE snapshot = s.key)
		ORDER BY number LIMIT $3`, []any{t.User, t.Category, memory.MaxJob}, packed.Collect(&job.Snapshots, c.bodyOf))
	if err != nil || len(job.Snapshots) == 0 {
		return nil, err
	}
	job.Category, job.Token = job.Snapshots[0].Category, t.String()
	_, err = c.Exec("UPDATE memory_category SET not_before = $1 WHERE owner = $2 AND name = $3", t.Until, t.User, t.Category)
	return job, err
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
	err = s.db.change(ctx, func(c conn) error {
		isSaved = false
		u, err := lockUser(c, job.User, false)
		if u == nil || err != nil {
			return err
		}
		if mine, err := release(c, t, 0, 0); !mine || err != nil {
			return err
		}
		if there, err := allExist(c, job); !there || err != nil {
			return err
		}
		isSaved = true
		if job.Detail == nil {
			err = saveMeta(c, u, *job.Meta)
		} else {
			err = completeDetail(c, u, job, t, now.UnixMilli())
		}
		if err != nil {
			return err
		}
		return u.save(c)
	})
	if err == nil && !isSaved {
		return memory.ErrStale
	}
	return err
}

// completeDetail saves the snapshot of a job.
func completeDetail(c conn, u *user, job *memory.Job, t packed.Token, now int64) error {
	if err := saveSnapshot(c, u, *job.Detail, now); err != nil {
		return err
	}
	// The first memory that still waits is at or behind the first of the job.
	id, err := memory.UUIDOf(memory.MemoryID, job.Memories[0].ID)
	if err != nil {
		return err
	}
	_, err = c.Exec("UPDATE memory_session SET after = (SELECT rid FROM memory WHERE id = $1) WHERE owner = $2 AND number = $3", id[:], t.User, t.Number)
	return err
}

// allExist reports whether everything that a job was made of still exists.
func allExist(c conn, job *memory.Job) (there bool, err error) {
	var memories, snapshots []string
	for i := range job.Memories {
		memories = append(memories, job.Memories[i].ID)
	}
	for i := range job.Snapshots {
		snapshots = append(snapshots, job.Snapshots[i].ID)
	}
	n, mine := 0, uuidsOf(memory.MemoryID, memories)
	theirs := uuidsOf(memory.SnapshotID, snapshots)
	add := func(scan func(...any) error) error {
		n++
		return scan(new(int))
	}
	err = c.Pipeline(
		database.Statement{Query: "SELECT 1 FROM memory WHERE id = ANY($1)", Any: mine, Each: add},
		database.Statement{Query: "SELECT 1 FROM memory_snapshot WHERE id = ANY($1)", Any: theirs, Each: add},
	)
	return n == len(memories)+len(snapshots), err
}

// Postpone returns a job, to be tried later.
func (s *Store) Postpone(ctx context.Context, job *memory.Job, until time.Time) error {
	t, err := packed.ParseToken(job.Token)
	if err != nil {
		return err
	}
	return s.db.change(ctx, func(c conn) error {
		_, err := release(c, t, until.UnixMilli(), job.Attempts+1)
		return err
	})
}

// release ends the reservation; mine is false if it had ended.
func release(c conn, t packed.Token, notBefore int64, attempts int) (mine bool, err error) {
	var n int64
	if t.Number == packed.NoSession {
		n, err = c.Exec("UPDATE memory_category SET not_before = $1, attempts = $2 WHERE owner = $3 AND name = $4 AND not_before = $5", notBefore, attempts, t.User, t.Category, t.Until)
	} else {
		n, err = c.Exec("UPDATE memory_session SET not_before = $1, attempts = $2 WHERE owner = $3 AND number = $4 AND not_before = $5", notBefore, attempts, t.User, t.Number, t.Until)
	}
	return n > 0, err
}
