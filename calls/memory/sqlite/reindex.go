package sqlite

import (
	"context"
	"log/slog"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// tellEvery is the number of memories between two messages of the log.
const tellEvery = 10 * packed.FoldedAtOnce

// reindex rebuilds the indexes that an older version of the analysis has made. Each
// user is one transaction: an interrupted reindex continues with the next user later,
// and until then searches use the old index.
func (s *Store) reindex(ctx context.Context, log *slog.Logger) error {
	var old []string
	var memories int
	err := s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		return c.QueryRows("SELECT name, "+nextNumber+", analysis FROM user WHERE analysis <> ? ORDER BY id", []any{rank.AnalysisVersion}, func(scan func(...any) error) error {
			var name string
			var n, analysis int
			if err := scan(&name, &n, &analysis); err != nil {
				return err
			}
			old, memories = append(old, name), memories+n
			if analysis > rank.AnalysisVersion {
				return packed.CheckAnalysis(analysis)
			}
			return nil
		})
	})
	if err != nil || len(old) == 0 {
		return err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("file", s.File(), "of", memories)
	if memories > 0 {
		log.Warn("memories of an older version are indexed again")
	}
	done := 0
	for _, name := range old {
		err := s.write(ctx, func(c *sqlitefile.Conn) error {
			u, err := readUser(c, name)
			if u == nil || err != nil || u.analysis >= rank.AnalysisVersion {
				return err // another process was faster
			}
			r := &reindexing{indexer: indexer{c, u}, tell: func(n int) {
				done += n
				if done/tellEvery != (done-n)/tellEvery {
					log.Warn("memories of an older version are indexed again", "done", done)
				}
			}}
			return r.run(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reindexing rebuilds the index of one user.
type reindexing struct {
	indexer
	tell func(n int)
}

func (r *reindexing) run(ctx context.Context) error {
	u, c := r.user, r.conn
	for _, query := range []string{"DELETE FROM posting WHERE user = ?", "DELETE FROM entry WHERE user = ?", "DELETE FROM speaker WHERE user = ?"} {
		if err := c.Exec(query, u.id); err != nil {
			return err
		}
	}
	for u.folded = 0; u.folded < u.n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := min(u.folded+packed.FoldedAtOnce, u.n)
		r.tell(int(next - u.folded))
		if err := r.fold(next); err != nil {
			return err
		}
	}
	if err := r.addExtras("snapshot", memory.SnapshotID); err != nil {
		return err
	}
	if err := r.addExtras("meta", memory.MetaID); err != nil {
		return err
	}
	u.generation++
	u.changed = true
	if err := u.save(c); err != nil {
		return err
	}
	return c.Exec("UPDATE user SET analysis = ? WHERE id = ?", rank.AnalysisVersion, u.id)
}

// addExtras puts the words of snapshots into the index.
func (r *reindexing) addExtras(table string, kind memory.Kind) error {
	lists := packed.Lists{}
	err := r.conn.QueryRows("SELECT number, body FROM "+table+" WHERE user = ? ORDER BY number", []any{r.user.id}, func(scan func(...any) error) error {
		var number int64
		var body value.Value
		if err := scan(&number, packed.ScanJSON{Use: func(v value.Value) { body = v }}); err != nil {
			return err
		}
		text, err := packed.TextOf(kind, body)
		lists.AddExtra(number, text)
		return err
	})
	if err != nil {
		return err
	}
	return r.addPostings(lists)
}
