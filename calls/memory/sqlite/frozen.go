package sqlite

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// frozen is a store that can be read but not written.
type frozen struct {
	reader *sqlitefile.Reader
	why    error // it cannot be written
}

// ReadOnly says that the store can be searched and listed, and that everything else is
// refused: its file or its directory cannot be written.
func (s *Store) ReadOnly() bool { return s.frozen != nil }

// openFrozen opens a store that is there for reading; why is the error with which it
// cannot be written. Other errors stay what they are.
func (s *Store) openFrozen(ctx context.Context, busy time.Duration, why error) error {
	r, err := layout.OpenUnwritable(ctx, s.file, busy, why, "query_only(1)")
	if err != nil {
		return err
	}
	s.frozen = &frozen{r, why}
	s.read = newPool(r.DB, max(4, runtime.GOMAXPROCS(0)))
	if err := s.checkIndexed(ctx); err != nil {
		_ = s.Close() // the error that led here says more
		return err
	}
	return nil
}

// checkIndexed refuses a store whose memories have to be indexed anew.
func (s *Store) checkIndexed(ctx context.Context) error {
	var analysis int
	return s.read.read(ctx, func(c *conn) error {
		old, err := c.row("SELECT analysis FROM user WHERE analysis <> ? LIMIT 1", []any{rank.AnalysisVersion}, &analysis)
		switch {
		case err != nil || !old:
			return err
		case analysis > rank.AnalysisVersion:
			return checkAnalysis(analysis)
		}
		return errFrozen(s.file, errors.New("an older version of the program has indexed it, so it must be indexed anew first"))
	})
}

// refuse is the error of a change.
func (f *frozen) refuse(file string) error {
	return calls.Errorf(calls.Internal, "writing to the memory store %s: it can only be read: %w", file, f.why).
		WithHint("check state_dir and who may write there; nothing was changed")
}

// errFrozen is a store that cannot even be read where it is.
func errFrozen(file string, err error) error {
	return calls.Errorf(calls.Invalid, "the memory store %s cannot be written, and not be read without that: %w", file, err).
		WithHint("copy the files " + FileName + "* to where you may write, and point state_dir there; or open it once as who may write")
}
