package sqlite

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
)

// requestFold has the new memories of a user folded when no change waits.
func (s *Store) requestFold(u *user) {
	s.mu.Lock()
	s.toFold[u.name] = true
	s.mu.Unlock()
	s.db.RequestIdle()
}

// foldWait is how long other processes that write are waited for before a fold.
const foldWait = time.Second

// tidyUp folds the memories of the users in toFold and wipes what was deleted out of the
// log. It runs on the goroutine that writes.
func (s *Store) tidyUp(c *sqlitefile.Conn) error {
	s.mu.Lock()
	users := slices.Sorted(maps.Keys(s.toFold))
	clear(s.toFold)
	mustWipeLog := s.mustWipeLog
	s.mustWipeLog = false
	s.mu.Unlock()
	if mustWipeLog {
		if err := s.wipeLog(c); err != nil {
			return err
		}
	}
	s.users.forget()
	for _, name := range users {
		err := c.Transact(foldWait, func() error {
			u, err := findUser(c, name)
			if u == nil || err != nil {
				return err // deleted meanwhile
			}
			if err := (indexer{c, u}).fold(u.n); err != nil {
				return err
			}
			return u.save(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// How long the log is waited for before it is emptied, and when it is tried again.
const (
	wipeWait  = 50 * time.Millisecond
	wipeAgain = 2 * time.Second
)

// wipeLog empties the write-ahead log, which still contains what was deleted. As long
// as another process reads, it cannot be emptied, and waiting would block all writers:
// it is tried again later.
func (s *Store) wipeLog(c *sqlitefile.Conn) error {
	if err := c.SetBusyTimeout(wipeWait); err != nil {
		return err
	}
	busy := false
	_, err := c.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, new(int), new(int))
	if err := cmp.Or(err, c.SetBusyTimeout(0)); err != nil || !busy {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustWipeLog = true
	s.retryWipe = time.AfterFunc(wipeAgain, s.db.RequestIdle)
	return nil
}
