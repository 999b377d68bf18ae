package sqljournal

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Prune deletes runs, each in a transaction: a process that writes meanwhile waits for one at
// most.
func (j *Journal) Prune(ctx context.Context, p journal.Prune) (*journal.Pruned, error) {
	done := &journal.Pruned{Runs: []string{}}
	var all []*journal.RunInfo
	for info, err := range j.Runs(ctx, journal.RunFilter{}) {
		if err != nil {
			return done, err
		}
		all = append(all, info)
	}
	for _, id := range p.Pick(all) {
		bytes, deleted, err := j.deleteRun(ctx, &p, id)
		if err != nil {
			return done, err
		}
		if deleted {
			done.Runs = append(done.Runs, id)
			done.Bytes += bytes
		}
	}
	if len(done.Runs) == 0 {
		return done, nil
	}
	bytes, err := j.db.reclaimSpace(ctx)
	done.Bytes += bytes
	return done, err
}

// deleteRun deletes a run if it still fits, and returns how many bytes that has freed, if it is
// known yet.
func (j *Journal) deleteRun(ctx context.Context, p *journal.Prune, id string) (bytes int64, deleted bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	err = j.db.Write(ctx, database.Change{Do: func(c database.Conn) error {
		r, err := j.lockRun(c, id)
		if calls.KindOf(err) == calls.NotFound {
			return nil // perhaps an attempt before deleted it, whose commit was not confirmed
		}
		if err != nil {
			return err
		}
		deleted = p.Matches(&r.RunInfo)
		if !deleted {
			return nil
		}
		bytes, err = j.db.deleteRows(c, r.key)
		return err
	}})
	return bytes, deleted && err == nil, err
}
