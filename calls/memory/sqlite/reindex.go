package sqlite

import (
	"context"
	"log/slog"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// reindexed is how many memories are indexed anew at once, and tellEvery how often the
// log hears of it.
const (
	reindexed = 4096
	tellEvery = 10 * reindexed
)

// reindex makes the words of memories anew that an older version of the analysis has
// made. Each user is one transaction: who is interrupted goes on with the next user
// another time, and until then everybody finds the old words.
func (s *Store) reindex(ctx context.Context, log *slog.Logger) error {
	var old []string
	var memories int
	err := s.read.read(ctx, func(c *conn) error {
		return c.rows("SELECT name, n, analysis FROM user WHERE analysis <> ? ORDER BY id", []any{rank.AnalysisVersion}, func(scan func(...any) error) error {
			var name string
			var n, analysis int
			if err := scan(&name, &n, &analysis); err != nil {
				return err
			}
			old, memories = append(old, name), memories+n
			if analysis > rank.AnalysisVersion {
				return checkAnalysis(analysis)
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
	log = log.With("file", s.file, "of", memories)
	if memories > 0 {
		log.Warn("memories of an older version are indexed anew")
	}
	done := 0
	for _, name := range old {
		err := s.writer.write(ctx, func(c *conn) error {
			u, err := readUser(c, name)
			if u == nil || err != nil || u.analysis >= rank.AnalysisVersion {
				return err // another process was faster
			}
			r := &reindexing{indexer: indexer{c, u}, tell: func(n int) {
				if done += n; done/tellEvery != (done-n)/tellEvery {
					log.Warn("memories of an older version are indexed anew", "done", done)
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

// reindexing makes the index of one user anew.
type reindexing struct {
	indexer
	tell func(n int)
}

func (r *reindexing) run(ctx context.Context) error {
	u, c := r.user, r.conn
	for _, query := range []string{"DELETE FROM posting WHERE user = ?", "DELETE FROM entry WHERE user = ?", "DELETE FROM speaker WHERE user = ?"} {
		if err := c.exec(query, u.id); err != nil {
			return err
		}
	}
	if err := c.exec("DELETE FROM tail WHERE rid BETWEEN ? AND ?", u.rid(0), u.rid(rank.MaxEntries)); err != nil {
		return err
	}
	n := u.n
	for u.folded = 0; u.folded < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		docs, err := r.documents(min(reindexed, n-u.folded))
		if err != nil {
			return err
		}
		if err := r.fold(docs); err != nil {
			return err
		}
		r.tell(len(docs))
	}
	if err := r.extras("snapshot", memory.SnapshotID); err != nil {
		return err
	}
	if err := r.extras("meta", memory.MetaID); err != nil {
		return err
	}
	u.generation++
	u.changed = true
	if err := u.store(c); err != nil {
		return err
	}
	return c.exec("UPDATE user SET analysis = ? WHERE id = ?", rank.AnalysisVersion, u.id)
}

// documents are the next n memories, as they are found in the index. Numbers of
// memories that were deleted stay.
func (r *reindexing) documents(n int64) ([]document, error) {
	u, first := r.user, r.user.folded
	docs := make([]document, n)
	for i := range docs {
		docs[i].entry = rank.Entry{Session: rank.None, Speaker: rank.None, Deleted: true}
	}
	speakers := make([]string, n)
	err := r.conn.rows(`SELECT m.rid, m.session, m.time, m.content, m.other FROM memory m WHERE m.rid >= ? AND m.rid < ?`,
		[]any{u.rid(first), u.rid(first + n)}, func(scan func(...any) error) error {
			var rid int64
			var session int32
			var m memory.BaseMemory
			if err := scan(&rid, &session, scanTime{&m.Timestamp}, &m.Content, scanJSON{func(v value.Value) { m.Context.Other = v }}); err != nil {
				return err
			}
			i := rid&0xffffffff - first
			docs[i], speakers[i] = documentOf(&m)
			docs[i].entry.Session = session
			return nil
		})
	for i, name := range speakers {
		if err == nil && name != "" {
			docs[i].entry.Speaker, err = u.speaker(r.conn, name)
		}
	}
	return docs, err
}

// extras puts the words of snapshots back into the index.
func (r *reindexing) extras(table string, kind memory.Kind) error {
	lists := map[place][]byte{}
	err := r.conn.rows("SELECT number, body FROM "+table+" WHERE user = ? ORDER BY number", []any{r.user.id}, func(scan func(...any) error) error {
		var number int64
		var body value.Value
		if err := scan(&number, scanJSON{func(v value.Value) { body = v }}); err != nil {
			return err
		}
		text, err := textOf(kind, body)
		addExtra(lists, number, text)
		return err
	})
	if err != nil {
		return err
	}
	return r.add(lists)
}

// addExtra puts the words of a snapshot into lists.
func addExtra(lists map[place][]byte, number int64, text string) {
	for _, f := range rank.Analyze(text, "").Terms {
		at := place{f.Term, -1 - number>>postingBits}
		lists[at] = appendPosting(lists[at], rank.MakePosting(uint32(number), f.N))
	}
}
