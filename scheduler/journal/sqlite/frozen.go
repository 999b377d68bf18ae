package sqlite

import (
	"cmp"
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// frozen is a journal that can be read but not written.
type frozen struct {
	reader *sqlitefile.Reader
	why    error // it cannot be written
}

// openFrozen opens a journal that is there for reading; why is the error with which it
// cannot be written. Other errors stay what they are.
func (j *SQLite) openFrozen(ctx context.Context, busy time.Duration, why error) error {
	r, err := layout.OpenUnwritable(ctx, j.file, busy, why, "query_only(1)")
	if err != nil {
		return err
	}
	j.frozen, j.read = &frozen{r, why}, r.DB
	j.read.SetMaxOpenConns(maxReaders)
	return nil
}

// Writable is the error with which every change is refused because the file or its
// directory cannot be written; nil where they can. Runs can be read all the same.
func (j *SQLite) Writable() error {
	if j.frozen == nil {
		return nil
	}
	return calls.Errorf(calls.Internal, "writing to the journal %s: it can only be read: %w", j.file, j.frozen.why).
		WithHint("check state_dir and who may write there, or choose another place with --state-dir; nothing was changed")
}

// change makes a change and waits until it is committed.
func (j *SQLite) change(do func(*tx) error) error {
	if err := j.Writable(); err != nil {
		return err
	}
	return j.writer.await(do)
}

// explained is [explain] for what was read, which may not belong together where the
// file is read without locks.
func (j *SQLite) explained(doing string, err error) error {
	if j.frozen != nil {
		err = cmp.Or(j.frozen.reader.Unchanged(), err)
	}
	return explain(j.file, doing, err)
}
