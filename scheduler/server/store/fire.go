package store

import (
	"context"
	"github.com/callnode/scheduler/calls/database"
	"time"
)

// FireState is the progress of a [Fire].
type FireState string

// The states of a fire. Queued and starting ones are still to be carried out.
const (
	FireQueued   FireState = "queued"   // waits until the run before is over
	FireStarting FireState = "starting" // its run is about to begin
	FireStarted  FireState = "started"  // its run has begun
	FireOver     FireState = "over"     // its run is over
	FireSkipped  FireState = "skipped"
	FireFailed   FireState = "failed" // its run could not begin
)

// Fire is one time at which a schedule starts a run. Its row is there before the run is.
type Fire struct {
	// Schedule is the id of the schedule, Key identifies the fire among the schedule's fires.
	Schedule string `json:"-"`
	Key      string `json:"-"`
	// At is the time that was planned.
	At    time.Time `json:"at"`
	State FireState `json:"state" enum:"queued,starting,started,over,skipped,failed"`
	// Run is the id of its run, which was chosen before the run began.
	Run string `json:"run,omitempty"`
	// Reason is why it was skipped or failed.
	Reason string `json:"reason,omitempty" doc:"Why it was skipped, or why no run could begin."`
}

// Schedule is the stored state of a schedule.
type Schedule struct {
	Paused bool
	// Seen is the planned time of the last fire that was decided about: when the schedule
	// was first met, or was resumed, is counted as one.
	Seen time.Time
}

// FindSchedule returns the stored state of a schedule; an unknown schedule is stored from now on.
func (s *Store) FindSchedule(ctx context.Context, id string) (found Schedule, err error) {
	var paused, seen int64
	query := func(c database.Conn) (known bool, err error) {
		return c.QueryRow("SELECT paused, seen FROM serve_schedule WHERE id = $1", []any{id}, &paused, &seen)
	}
	known := false
	err = s.db.Read(ctx, func(c database.Conn) error {
		known, err = query(c)
		return err
	})
	if err == nil && !known {
		err = s.write(ctx, func(c database.Conn) error {
			err := exec(c, "INSERT INTO serve_schedule(id, paused, seen) VALUES ($1, 0, $2) ON CONFLICT DO NOTHING", id, s.clock().UnixMilli())
			if err != nil {
				return err
			}
			_, err = query(c)
			return err
		})
	}
	found.Paused, found.Seen = paused != 0, time.UnixMilli(seen)
	return found, err
}

// PauseSchedule pauses a schedule, or ends its pause. Fires of the time between are not made up for.
func (s *Store) PauseSchedule(ctx context.Context, id string, paused bool) error {
	if _, err := s.FindSchedule(ctx, id); err != nil {
		return err
	}
	return s.write(ctx, func(c database.Conn) error {
		if paused {
			return exec(c, "UPDATE serve_schedule SET paused = 1 WHERE id = $1", id)
		}
		return exec(c, "UPDATE serve_schedule SET paused = 0, seen = $1 WHERE id = $2 AND paused = 1", s.clock().UnixMilli(), id)
	})
}

// CountTriggers returns how many schedules are paused, and how many of the fires that are kept could not begin their runs.
func (s *Store) CountTriggers(ctx context.Context) (paused, failed int, err error) {
	err = s.db.Read(ctx, func(c database.Conn) error {
		if _, err := c.QueryRow("SELECT count(*) FROM serve_schedule WHERE paused = 1", nil, &paused); err != nil {
			return err
		}
		_, err := c.QueryRow("SELECT count(*) FROM serve_fire WHERE state = $1", []any{string(FireFailed)}, &failed)
		return err
	})
	return paused, failed, err
}

// AddFire records a fire with its decision, once: added is false if the fire was known, to this process or
// another. planned is false for one that the schedule does not have.
func (s *Store) AddFire(ctx context.Context, f *Fire, planned bool) (added bool, err error) {
	err = s.write(ctx, func(c database.Conn) error {
		now := s.clock().UnixMilli()
		n, err := c.Exec("INSERT INTO serve_fire(schedule, key, at, run, state, reason, touched) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
			f.Schedule, f.Key, f.At.UnixMilli(), f.Run, string(f.State), storable(f.Reason), now)
		if err != nil {
			return err
		}
		added = n > 0
		if !planned {
			return nil
		}
		return exec(c, "UPDATE serve_schedule SET seen = $1 WHERE id = $2 AND seen < $3", f.At.UnixMilli(), f.Schedule, f.At.UnixMilli())
	})
	return added, err
}

// ClaimFire takes a fire that is still to be carried out, and reports whether it was not
// touched since: of several processes one gets it.
func (s *Store) ClaimFire(ctx context.Context, f *Fire, since time.Time) (claimed bool, err error) {
	err = s.write(ctx, func(c database.Conn) error {
		n, err := c.Exec("UPDATE serve_fire SET state = $1, touched = $2 WHERE schedule = $3 AND key = $4 AND state = $5 AND touched <= $6",
			string(FireStarting), s.clock().UnixMilli(), f.Schedule, f.Key, string(f.State), since.UnixMilli())
		claimed = n > 0
		return err
	})
	return claimed, err
}

// SetFire stores the progress of a fire.
func (s *Store) SetFire(ctx context.Context, f *Fire, state FireState, reason string) error {
	return s.write(ctx, func(c database.Conn) error {
		return exec(c, "UPDATE serve_fire SET state = $1, reason = $2, touched = $3 WHERE schedule = $4 AND key = $5",
			string(state), storable(reason), s.clock().UnixMilli(), f.Schedule, f.Key)
	})
}

// fireColumns are the columns that readFires reads.
const fireColumns = "schedule, key, at, run, state, reason"

func (s *Store) readFires(ctx context.Context, query string, args ...any) ([]*Fire, error) {
	var list []*Fire
	err := s.db.Read(ctx, func(c database.Conn) error {
		list = []*Fire{}
		return c.QueryRows(query, args, func(scan func(...any) error) error {
			f := &Fire{}
			var at int64
			if err := scan(&f.Schedule, &f.Key, &at, &f.Run, (*string)(&f.State), &f.Reason); err != nil {
				return err
			}
			f.At = time.UnixMilli(at).UTC()
			list = append(list, f)
			return nil
		})
	})
	return list, err
}

// PendingFires returns the fires that are still to be carried out, the oldest first.
func (s *Store) PendingFires(ctx context.Context) ([]*Fire, error) {
	return s.readFires(ctx, "SELECT "+fireColumns+" FROM serve_fire WHERE state IN ('queued', 'starting') ORDER BY at, key LIMIT 1000")
}

// OpenFires returns the fires of a schedule whose runs are not known to be over.
func (s *Store) OpenFires(ctx context.Context, schedule string) ([]*Fire, error) {
	return s.readFires(ctx, "SELECT "+fireColumns+" FROM serve_fire WHERE schedule = $1 AND state IN ('queued', 'starting', 'started') ORDER BY at, key", schedule)
}

// LastFires returns the last fires of a schedule, the newest first.
func (s *Store) LastFires(ctx context.Context, schedule string, limit int) ([]*Fire, error) {
	return s.readFires(ctx, "SELECT "+fireColumns+" FROM serve_fire WHERE schedule = $1 ORDER BY at DESC, key DESC LIMIT $2", schedule, limit)
}
