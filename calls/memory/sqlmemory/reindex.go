package sqlmemory

import (
	"context"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// tellEvery is the number of memories between two messages of the log.
const tellEvery = 10 * packed.FoldedAtOnce

// reindex rebuilds the indexes that an older version of the analysis has made. Each
// user is one transaction: an interrupted reindex continues with the next user later,
// and until then searches use the old index.
func (s *Store) reindex(ctx context.Context) error {
	var old []string
	var memories int
	err := s.db.read(ctx, func(c conn) error {
		old, memories = nil, 0
		return c.QueryRows("SELECT u.name, "+nextNumber+", u.analysis FROM memory_user u WHERE u.analysis <> $1 ORDER BY u.id", []any{rank.AnalysisVersion}, func(scan func(...any) error) error {
			var name string
			var n, analysis int
			if err := scan(c.scanText(&name), &n, &analysis); err != nil {
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
	kind, place := s.db.place()
	log := s.log.With(kind, place, "of", memories)
	if memories > 0 {
		log.Warn("memories of an older version are indexed again")
	}
	done := 0
	tell := func(n int) {
		done += n
		if done/tellEvery != (done-n)/tellEvery {
			log.Warn("memories of an older version are indexed again", "done", done)
		}
	}
	for _, name := range old {
		err := s.db.change(ctx, func(c conn) error {
			users, err := s.db.lockUsers(c, false, []string{name})
			u := users[name]
			if u == nil || err != nil || u.analysis >= rank.AnalysisVersion {
				return err // another process was faster
			}
			return indexer{c, u}.rebuild(ctx, tell)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rebuild makes the index of the user from the memories, and passes the number done so far to tell.
func (ix indexer) rebuild(ctx context.Context, tell func(n int)) error {
	u, c := ix.user, ix.conn
	var statements []database.Statement
	for _, table := range []string{"memory_posting", "memory_entry", "memory_speaker"} {
		statements = append(statements, database.Statement{Query: "DELETE FROM " + table + " WHERE owner = $1", Args: []any{u.id}})
	}
	if err := c.Pipeline(statements...); err != nil {
		return err
	}
	for u.folded = 0; u.folded < u.n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := min(u.folded+packed.FoldedAtOnce, u.n)
		tell(int(next - u.folded))
		if err := ix.fold(next); err != nil {
			return err
		}
	}
	if err := ix.addExtras(snapshotTable, memory.SnapshotID); err != nil {
		return err
	}
	if err := ix.addExtras(metaTable, memory.MetaID); err != nil {
		return err
	}
	u.generation++
	u.changed = true
	if err := u.save(c); err != nil {
		return err
	}
	_, err := c.Exec("UPDATE memory_user SET analysis = $1 WHERE id = $2", rank.AnalysisVersion, u.id)
	return err
}

// addExtras puts the words of snapshots into the index.
func (ix indexer) addExtras(table string, kind memory.Kind) error {
	lists := packed.Lists{}
	err := ix.conn.QueryRows("SELECT number, body FROM "+table+" WHERE owner = $1 ORDER BY number", []any{ix.user.id}, func(scan func(...any) error) error {
		var number int64
		return scan(&number, ix.conn.scanJSON(func(body value.Value) error {
			text, err := packed.TextOf(kind, body)
			lists.AddExtra(number, text)
			return err
		}))
	})
	if err != nil {
		return err
	}
	return ix.addPostings(lists)
}
