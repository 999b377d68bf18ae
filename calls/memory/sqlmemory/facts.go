package sqlmemory

import (
	"context"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// FactOptions select the memories that state facts. The zero value selects memories with the role user or without
// a role.
type FactOptions struct {
	// Off reads no facts: searches work without them.
	Off bool
	// Admit are the chat roles whose memories state facts; nil admits user.
	Admit []string
}

// read returns the facts that a memory states.
func (o *FactOptions) read(m *memory.BaseMemory) facts.Reading {
	role := m.Role()
	isAdmitted := slices.Contains(o.Admit, role)
	if o.Off || o.Admit != nil && role != "" && !isAdmitted {
		return facts.Reading{}
	}
	return facts.Extract(&facts.Text{Content: m.Content, Role: role, Speaker: m.Speaker(), Time: m.Timestamp, Admitted: isAdmitted && role != "user"})
}

// newVersion returns the version of the facts of a user without memories.
func (o *FactOptions) newVersion() int {
	if o.Off {
		return 0
	}
	return facts.Version
}

// addFacts returns the statements that store the facts of a memory.
func addFacts(c conn, owner, rid int64, r *facts.Reading) (list []database.Statement) {
	for i := range r.Facts {
		f := &r.Facts[i]
		var to *int64
		if !f.To.IsZero() {
			ms := f.To.UnixMilli()
			to = &ms
		}
		list = append(list, database.Statement{
			Query: `INSERT INTO memory_fact(rid, n, owner, subject, attribute, topic, value, kind, old, from_ms, to_ms, exact, v0, v1, c0, c1, read_by)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
			Args: []any{
				rid, f.N, owner, c.d.encode(f.Subject), f.Attribute, c.d.encode(f.Topic), c.d.encode(f.Value), string(f.Kind), c.d.encode(f.Old), f.From.UnixMilli(), to,
				f.Precision, f.ValueSpan.Start, f.ValueSpan.End, f.ClauseSpan.Start, f.ClauseSpan.End, f.By,
			},
		})
	}
	for _, a := range r.Aliases {
		list = append(list, database.Statement{
			Query: "INSERT INTO memory_fact_alias(owner, alias, name, rid) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
			Args:  []any{owner, c.d.encode(a.Alias), c.d.encode(a.Name), rid},
		})
	}
	return list
}

// dropFacts returns the statements that delete the facts of memories.
func dropFacts(rids []int64) []database.Statement {
	return []database.Statement{
		{Query: "DELETE FROM memory_fact WHERE rid = ANY($1)", Any: rids},
		{Query: "DELETE FROM memory_fact_alias WHERE rid = ANY($1)", Any: rids},
	}
}

// selectFacts selects the columns of scanFact.
const selectFacts = `SELECT f.rid, m.time, f.n, f.subject, f.attribute, f.topic, f.value, f.kind, f.old, f.from_ms, f.to_ms, f.exact, f.v0, f.v1, f.c0, f.c1, f.read_by
	FROM memory_fact f JOIN memory m ON m.rid = f.rid WHERE f.owner = $1`

// scanFact reads a row of selectFacts.
func scanFact(c conn, scan func(...any) error) (f facts.Fact, err error) {
	var rid, said, from int64
	var to *int64
	var kind string
	err = scan(&rid, &said, &f.N, c.scanText(&f.Subject), &f.Attribute, c.scanText(&f.Topic), c.scanText(&f.Value), &kind, c.scanText(&f.Old), &from, &to,
		&f.Precision, &f.ValueSpan.Start, &f.ValueSpan.End, &f.ClauseSpan.Start, &f.ClauseSpan.End, &f.By)
	f.Seq, f.Said, f.From, f.Kind = uint32(rid), timeOf(said), timeOf(from), facts.Kind(kind) //nolint:gosec // the lower half is the number
	if to != nil {
		f.To = timeOf(*to)
	}
	return f, err
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

var _ facts.Source = (*view)(nil)

// Facts is part of [facts.Source], like the method below.
func (v *view) Facts(_ context.Context, subjects, attributes []string) (list []facts.Fact, err error) {
	if v.ended {
		return nil, errEnded
	}
	each := func(scan func(...any) error) error {
		f, err := scanFact(v.conn, scan)
		list = append(list, f)
		return err
	}
	var statements []database.Statement
	for _, attribute := range attributes {
		for _, subject := range subjects {
			statements = append(statements, database.Statement{
				Query: selectFacts + " AND f.subject = $2 AND f.attribute = $3 ORDER BY f.from_ms DESC, f.rid DESC, f.n DESC LIMIT $4",
				Args:  []any{v.user, v.conn.d.encode(subject), attribute, facts.MaxTimeline}, Each: each,
			})
		}
		if len(subjects) == 0 {
			statements = append(statements, database.Statement{
				Query: selectFacts + " AND f.attribute = $2 ORDER BY f.from_ms DESC, f.rid DESC, f.n DESC", Args: []any{v.user, attribute}, Each: each,
			})
		}
	}
	return list, v.conn.Pipeline(statements...)
}

// Aliases returns the aliases of the user.
func (v *view) Aliases(context.Context) (list []facts.Alias, err error) {
	if v.ended {
		return nil, errEnded
	}
	err = v.conn.QueryRows("SELECT DISTINCT alias, name FROM memory_fact_alias WHERE owner = $1 ORDER BY alias, name", []any{v.user}, func(scan func(...any) error) error {
		var a facts.Alias
		err := scan(v.conn.scanText(&a.Alias), v.conn.scanText(&a.Name))
		list = append(list, a)
		return err
	})
	return list, err
}

// Facts returns the facts that a user's memories state.
func (s *Store) Facts(ctx context.Context, user string, now time.Time) (found *memory.StatedFacts, err error) {
	found = &memory.StatedFacts{IDs: map[uint32]string{}}
	err = s.db.readIndex(ctx, s, user, false, func(of userView) error {
		v := of.base()
		found = &memory.StatedFacts{IDs: map[uint32]string{}}
		var list []facts.Fact
		err := v.conn.QueryRows(selectFacts, []any{v.user}, func(scan func(...any) error) error {
			f, err := scanFact(v.conn, scan)
			list = append(list, f)
			return err
		})
		if err != nil {
			return err
		}
		found.Aliases, err = v.Aliases(ctx)
		if err != nil {
			return err
		}
		found.Timelines = facts.Timelines(list, found.Aliases, now)
		return v.conn.QueryRows("SELECT rid, id FROM memory WHERE rid IN (SELECT rid FROM memory_fact WHERE owner = $1)", []any{v.user}, func(scan func(...any) error) error {
			var rid int64
			var id string
			err := scan(&rid, packed.ScanID{Kind: memory.MemoryID, To: &id})
			found.IDs[uint32(rid)] = id //nolint:gosec // the lower half is the number
			return err
		})
	})
	return found, err
}
