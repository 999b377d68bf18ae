package sqlmemory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/database/sqlitefile"
)

// requestFold has the new memories of a user folded when no change waits.
func (d *fileDialect) requestFold(name string) {
	d.mu.Lock()
	d.toFold[name] = true
	d.mu.Unlock()
	d.file.RequestIdle()
}

// requestWipe has deleted rows wiped out of the log when no change waits.
func (d *fileDialect) requestWipe() {
	d.mu.Lock()
	d.mustWipeLog = true
	d.mu.Unlock()
	d.file.RequestIdle()
}

// foldWait is how long other processes that write are waited for before a fold.
const foldWait = time.Second

// tidyUp folds the memories of the users in toFold and wipes deleted texts out of the log. It runs on the
// goroutine that writes.
func (d *fileDialect) tidyUp(c *sqlitefile.Conn) error {
	d.mu.Lock()
	users := slices.Sorted(maps.Keys(d.toFold))
	clear(d.toFold)
	mustWipeLog := d.mustWipeLog
	d.mustWipeLog = false
	d.mu.Unlock()
	if mustWipeLog {
		if err := d.wipeLog(c); err != nil {
			return err
		}
	}
	d.users.forget()
	for _, name := range users {
		err := c.Transact(foldWait, func() error { return foldUser(d.conn(c), name) })
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

// wipeLog empties the write-ahead log, which still contains deleted texts. As long as another process reads, it
// cannot be emptied, and waiting would block all writers: it is tried again later.
func (d *fileDialect) wipeLog(c *sqlitefile.Conn) error {
	if err := c.SetBusyTimeout(wipeWait); err != nil {
		return err
	}
	busy := false
	_, err := c.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, new(int), new(int))
	if err := cmp.Or(err, c.SetBusyTimeout(0)); err != nil || !busy {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mustWipeLog = true
	d.retryWipe = time.AfterFunc(wipeAgain, d.file.RequestIdle)
	return nil
}
