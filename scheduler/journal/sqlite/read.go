package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// runRow is a row of the table run.
type runRow struct {
	journal.RunInfo
	key    int64
	lease  []byte
	holder stored.Process
	since  int64
	until  int64
}

const runColumns = `key, id, flow, state, started_at, updated_at, last_seq, cancel,
	lease, holder_pid, holder_host, holder_identity, held_since, lease_until, summary,
	(SELECT json_group_object(name, value) FROM label WHERE label.run = run.key)`

// scanRun reads a row of runColumns and whether a process holds the run.
func (j *SQLite) scanRun(scan func(...any) error) (*runRow, error) {
	r := &runRow{}
	var started, updated, labels string
	var summary []byte
	err := scan(&r.key, &r.ID, &r.Flow, &r.State, &started, &updated, &r.LastSeq, &r.CancelRequested,
		&r.lease, &r.holder.PID, &r.holder.Host, &r.holder.Identity, &r.since, &r.until, &summary, &labels)
	if err == nil {
		r.Summary, err = stored.DecodeSummary(summary)
	}
	if err != nil {
		return nil, err
	}
	if labels != "{}" {
		if err := json.Unmarshal([]byte(labels), &r.Labels); err != nil {
			return nil, err
		}
	}
	r.Cursor = strconv.FormatInt(r.key, 10)
	r.StartedAt, err = time.Parse(time.RFC3339Nano, started)
	if err != nil {
		return nil, err
	}
	r.UpdatedAt, err = time.Parse(time.RFC3339Nano, updated)
	if err != nil {
		return nil, err
	}
	r.TouchedAt = time.UnixMilli(r.until).Add(-j.lease) // what was held was renewed until then
	if r.lease != nil && r.until > j.clock().UnixMilli() && !r.holder.Dead() {
		r.Holder = &journal.Holder{PID: r.holder.PID, Host: r.holder.Host, Until: time.UnixMilli(r.until)}
		if r.since != 0 {
			r.Holder.Since = time.UnixMilli(r.since)
		}
	}
	r.Abandoned = r.lease != nil && r.Holder == nil
	return r, nil
}

// heldError returns the error of whoever has not got the lease.
func (r *runRow) heldError() error { return &journal.HeldError{Run: r.ID, Holder: r.Holder} }

// findRun returns the row of a run. The error for an unknown one is of kind NotFound.
func (j *SQLite) findRun(c *sqlitefile.Conn, id string) (r *runRow, err error) {
	err = c.QueryRows("SELECT "+runColumns+" FROM run WHERE id = ?", []any{id}, func(scan func(...any) error) error {
		r, err = j.scanRun(scan)
		return err
	})
	if err == nil && r == nil {
		err = stored.ErrUnknown(id)
	}
	return r, err
}

// findRunByID is findRun in a read of its own.
func (j *SQLite) findRunByID(ctx context.Context, id string) (r *runRow, err error) {
	err = j.db.Read(ctx, func(c *sqlitefile.Conn) error {
		r, err = j.findRun(c, id)
		return err
	})
	return r, err
}

// Run returns how a run stands.
func (j *SQLite) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	r, err := j.findRunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return &r.RunInfo, nil
}

// Runs lists runs.
func (j *SQLite) Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		found, err := j.listRuns(ctx, filter)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, r := range found {
			if !yield(&r.RunInfo, nil) {
				return
			}
		}
	}
}

// listRuns reads all at once: whoever reads slowly must not keep the log from being
// emptied.
func (j *SQLite) listRuns(ctx context.Context, filter journal.RunFilter) (found []*runRow, err error) {
	after, downTo, err := stored.ParseCursors(&filter)
	if err != nil {
		return nil, err
	}
	query, args := "SELECT "+runColumns+" FROM run WHERE key < ? AND key > ?", []any{after, downTo}
	if len(filter.States) > 0 {
		query += " AND state IN (?" + strings.Repeat(", ?", len(filter.States)-1) + ")"
		for _, state := range filter.States {
			args = append(args, string(state))
		}
	}
	if filter.Flow != "" {
		query += " AND flow = ?"
		args = append(args, filter.Flow)
	}
	for _, name := range slices.Sorted(maps.Keys(filter.Labels)) {
		query += " AND EXISTS (SELECT 1 FROM label WHERE label.run = run.key AND name = ? AND value = ?)"
		args = append(args, name, filter.Labels[name])
	}
	query += " ORDER BY key DESC"
	enough := wording.Errorf("no more runs are wanted")
	err = j.db.Read(ctx, func(c *sqlitefile.Conn) error {
		return c.QueryRows(query, args, func(scan func(...any) error) error {
			r, err := j.scanRun(scan)
			if err != nil || !filter.Matches(&r.RunInfo) { // times are compared here: they are kept as they were given
				return err
			}
			found = append(found, r)
			if len(found) == filter.Limit {
				return enough
			}
			return nil
		})
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return found, err
}

// Header returns what a run began with.
func (j *SQLite) Header(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.readHeader(ctx, id, false)
	return h, j.db.Explain("reading", err)
}

func (j *SQLite) readHeader(ctx context.Context, id string, clear bool) (*journal.RunHeader, error) {
	r, err := j.findRunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	h := &journal.RunHeader{ID: r.ID, Flow: r.Flow, StartedAt: r.StartedAt, Labels: r.Labels}
	var form stored.Header
	err = j.db.Read(ctx, func(c *sqlitefile.Conn) error {
		found, err := c.QueryRow("SELECT file, mode, source, files, inputs, conversation, options, program FROM header WHERE run = ?", []any{r.key},
			&h.File, &h.Mode, &form.Source, &form.Files, &form.Inputs, &form.Conversation, &form.Options, &h.Program)
		if err == nil && !found {
			return wording.Errorf("%w: the header of the run %s is missing", sqlitefile.ErrDamaged, id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, j.newDecoder(ctx, clear).DecodeHeader(h, form)
}

func (j *SQLite) newDecoder(ctx context.Context, clear bool) *stored.Decoder {
	return j.vault.NewDecoder(clear, func(at stored.Digest) (data []byte, found bool, err error) {
		err = j.db.Read(ctx, func(c *sqlitefile.Conn) error {
			found, err = c.QueryRow("SELECT data FROM blob WHERE sha256 = ?", []any{at[:]}, &data)
			return err
		})
		return data, found, err
	})
}

// ID names the journal: the file and its copies.
func (j *SQLite) ID(ctx context.Context) (id string, err error) {
	err = j.db.Read(ctx, func(c *sqlitefile.Conn) error {
		_, err := c.QueryRow("SELECT id FROM store", nil, &id)
		return err
	})
	return id, err
}

// CheckWritable returns an error where no run could be recorded now.
func (j *SQLite) CheckWritable(ctx context.Context) error { return j.db.CheckWritable(ctx) }

// Follow yields the events of a run, also those to come.
func (j *SQLite) Follow(ctx context.Context, id string, after int64) iter.Seq2[*journal.Event, error] {
	return stored.Follow(ctx, j, id, after)
}

// Subscribe returns nil: SQLite does not tell of other processes.
func (*SQLite) Subscribe(string) (noticed <-chan struct{}, stop func()) { return nil, func() {} }

// Events returns those of a run.
func (j *SQLite) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	return j.readEvents(ctx, id, from, false)
}

func (j *SQLite) readEvents(ctx context.Context, id string, from int64, clear bool) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		r, err := j.findRunByID(ctx, id)
		if err != nil {
			yield(nil, j.db.Explain("reading", err))
			return
		}
		readPage := func(from int64) ([][]byte, error) { return j.readPage(ctx, r, from) }
		for ev, err := range j.newDecoder(ctx, clear).Events(&r.RunInfo, from, readPage) {
			if !yield(ev, j.db.Explain("reading", err)) {
				return
			}
		}
	}
}

// pageSize is how many events are read at a time: no reading lasts as long as a
// slow reader.
const pageSize = 256

// readPage reads the next events of a run, at least one.
func (j *SQLite) readPage(ctx context.Context, r *runRow, from int64) (page [][]byte, err error) {
	err = j.db.Read(ctx, func(c *sqlitefile.Conn) error {
		args := []any{r.key, from, min(from+pageSize-1, r.LastSeq)}
		return c.QueryRows("SELECT seq, body FROM event WHERE run = ? AND seq BETWEEN ? AND ? ORDER BY seq", args, func(scan func(...any) error) error {
			var seq int64
			var body []byte
			if err := scan(&seq, &body); err != nil {
				return err
			}
			if seq != from+int64(len(page)) {
				return newGapError(r.ID, from+int64(len(page)))
			}
			page = append(page, body)
			return nil
		})
	})
	if err == nil && len(page) == 0 {
		err = newGapError(r.ID, from)
	}
	return page, err
}
