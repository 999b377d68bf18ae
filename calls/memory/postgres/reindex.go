package postgres

import (
	"context"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value"
)

// reindex rebuilds the indexes that an older version of the analysis has made. Each
// user is one transaction: an interrupted reindex continues with the next user later.
func (s *Store) reindex(ctx context.Context) error {
	var old []string
	var memories int
	err := s.db.Read(ctx, func(c *pgdb.Conn) error {
		old, memories = nil, 0
		return c.QueryRows(ctx, "SELECT u.name, "+nextNumber+", u.analysis FROM memory_user u WHERE u.analysis <> $1 ORDER BY u.id", []any{rank.AnalysisVersion}, func(scan func(...any) error) error {
			var name string
			var n, analysis int
			if err := scan(scanText{&name}, &n, &analysis); err != nil {
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
	if memories > 0 {
		s.log.Warn("memories of an older version are indexed again", "database", s.Place(), "of", memories)
	}
	for _, name := range old {
		err := s.write(ctx, func(c *pgdb.Conn) error {
			l := newUserLock(false, name)
			if err := c.Pipeline(ctx, l.statements()...); err != nil {
				return err
			}
			u := l.users[name]
			if u == nil || u.analysis >= rank.AnalysisVersion {
				return nil // another program was faster
			}
			return reindexUser(ctx, c, u)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reindexUser rebuilds the index of one user.
func reindexUser(ctx context.Context, c *pgdb.Conn, u *user) error {
	var statements []pgdb.Statement
	for _, table := range []string{"memory_posting", "memory_entry", "memory_speaker"} {
		statements = append(statements, pgdb.Statement{Query: "DELETE FROM " + table + " WHERE owner = $1", Args: []any{u.id}})
	}
	if err := c.Pipeline(ctx, statements...); err != nil {
		return err
	}
	ix := indexer{c, u}
	u.folded = 0
	if err := ix.fold(ctx, u.n); err != nil {
		return err
	}
	for table, kind := range map[string]memory.Kind{snapshotTable: memory.SnapshotID, metaTable: memory.MetaID} {
		if err := ix.addExtras(ctx, table, kind); err != nil {
			return err
		}
	}
	u.generation++
	u.changed = true
	if err := u.save(ctx, c); err != nil {
		return err
	}
	_, err := c.Exec(ctx, "UPDATE memory_user SET analysis = $1 WHERE id = $2", rank.AnalysisVersion, u.id)
	return err
}

// addExtras puts the words of snapshots into the index.
func (ix indexer) addExtras(ctx context.Context, table string, kind memory.Kind) error {
	lists := packed.Lists{}
	err := ix.conn.QueryRows(ctx, "SELECT number, body FROM "+table+" WHERE owner = $1 ORDER BY number", []any{ix.user.id}, func(scan func(...any) error) error {
		var number int64
		return scan(&number, scanJSON(func(body value.Value) error {
			text, err := packed.TextOf(kind, body)
			lists.AddExtra(number, text)
			return err
		}))
	})
	if err != nil {
		return err
	}
	return ix.addPostings(ctx, lists)
}
