package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// runRow is a row of the table run.
type runRow struct {
	journal.RunInfo
	key    int64
	lease  []byte
	holder stored.Process
	until  int64
}

const runColumns = `key, id, flow, state, started_at, updated_at, last_seq, cancel,
	lease, holder_pid, holder_host, holder_identity, lease_until`

// scan reads a row of runColumns and finds out whether somebody holds the run.
func (j *SQLite) scan(row rowScanner) (*runRow, error) {
	r := &runRow{}
	var started, updated string
	err := row.Scan(&r.key, &r.ID, &r.Flow, &r.State, &started, &updated, &r.LastSeq, &r.CancelRequested,
		&r.lease, &r.holder.PID, &r.holder.Host, &r.holder.Identity, &r.until)
	if err != nil {
		return nil, err
	}
	if r.StartedAt, err = time.Parse(time.RFC3339Nano, started); err != nil {
		return nil, err
	}
	if r.UpdatedAt, err = time.Parse(time.RFC3339Nano, updated); err != nil {
		return nil, err
	}
	r.TouchedAt = time.UnixMilli(r.until).Add(-j.lease) // what was held was renewed until then
	if r.lease != nil && r.until > j.clock().UnixMilli() && !r.holder.Dead() {
		r.Holder = &journal.Holder{PID: r.holder.PID, Host: r.holder.Host, Until: time.UnixMilli(r.until)}
	}
	return r, nil
}

// held is the error of whoever has not got the lease.
func (r *runRow) held() error { return &journal.HeldError{Run: r.ID, Holder: r.Holder} }

func (j *SQLite) find(ctx context.Context, id string) (*runRow, error) {
	return j.scanOne(id, j.read.QueryRowContext(ctx, "SELECT "+runColumns+" FROM run WHERE id = ?", id))
}

func (j *SQLite) scanOne(id string, row rowScanner) (*runRow, error) {
	r, err := j.scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		err = stored.ErrUnknown(id)
	}
	return r, err
}

// findIn is find inside a write.
func (j *SQLite) findIn(tx *tx, id string) (*runRow, error) {
	return j.scanOne(id, tx.row("SELECT "+runColumns+" FROM run WHERE id = ?", id))
}

// Run is how a run stands.
func (j *SQLite) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	r, err := j.find(ctx, id)
	if err = j.explained("reading", err); err != nil {
		return nil, err
	}
	return &r.RunInfo, nil
}

// Runs lists runs.
func (j *SQLite) Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		found, err := j.list(ctx, filter)
		if err = j.explained("reading", err); err != nil {
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

// list reads all at once: whoever reads slowly must not keep the log from being
// emptied.
func (j *SQLite) list(ctx context.Context, filter journal.RunFilter) (found []*runRow, err error) {
	query, args := "SELECT "+runColumns+" FROM run", []any(nil)
	if len(filter.States) > 0 {
		query += " WHERE state IN (?" + strings.Repeat(", ?", len(filter.States)-1) + ")"
		for _, state := range filter.States {
			args = append(args, string(state))
		}
	}
	query += " ORDER BY key DESC"
	if filter.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", filter.Limit)
	}
	rows, err := j.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := j.scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// Header is what a run began with.
func (j *SQLite) Header(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.header(ctx, id, false)
	return h, j.explained("reading", err)
}

func (j *SQLite) header(ctx context.Context, id string, clear bool) (*journal.RunHeader, error) {
	r, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	h := &journal.RunHeader{ID: r.ID, Flow: r.Flow, StartedAt: r.StartedAt}
	var source, files, inputs, options []byte
	err = j.read.QueryRowContext(ctx, "SELECT file, mode, source, files, inputs, options FROM header WHERE run = ?", r.key).
		Scan(&h.File, &h.Mode, &source, &files, &inputs, &options)
	if err != nil {
		return nil, err
	}
	decoder := j.decoder(ctx, clear)
	if h.Inputs, err = decoder.Decode(inputs); err != nil {
		return nil, err
	}
	if h.Options, err = decoder.Decode(options); err != nil {
		return nil, err
	}
	h.Text, err = decoder.FlowText(source, files)
	return h, err
}

func (j *SQLite) decoder(ctx context.Context, clear bool) *stored.Decoder {
	return &stored.Decoder{WithMedia: clear, Get: func(d stored.Digest, secret bool) (data []byte, err error) {
		at := d
		if secret {
			at = d.Secret()
		}
		err = j.read.QueryRowContext(ctx, "SELECT data FROM blob WHERE sha256 = ?", at[:]).Scan(&data)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil, stored.MissingPayloadError(d)
		case err == nil && secret:
			return j.vault.Open(d, data)
		}
		return data, err
	}}
}

// Events are those of a run.
func (j *SQLite) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	return j.events(ctx, id, from, false)
}

func (j *SQLite) events(ctx context.Context, id string, from int64, clear bool) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		from := max(from, 1)
		r, err := j.find(ctx, id)
		decoder := j.decoder(ctx, clear)
		for err == nil && from <= r.LastSeq {
			var page [][]byte
			page, err = j.page(ctx, r, from)
			if err = j.explained("reading", err); err != nil {
				break
			}
			for _, stored := range page {
				ev, err := decoder.DecodeEvent(stored)
				if err != nil {
					yield(nil, j.explained("reading", fmt.Errorf("event %d of the run %s: %w", from, id, err)))
					return
				}
				if !yield(ev, nil) {
					return
				}
				from++
			}
		}
		if err != nil {
			yield(nil, j.explained("reading", err))
		}
	}
}

// pageSize is how many events are read at a time: no reading lasts as long as a
// slow reader.
const pageSize = 256

// page reads the next events of a run, at least one.
func (j *SQLite) page(ctx context.Context, r *runRow, from int64) (page [][]byte, err error) {
	rows, err := j.read.QueryContext(ctx, "SELECT seq, body FROM event WHERE run = ? AND seq BETWEEN ? AND ? ORDER BY seq",
		r.key, from, min(from+pageSize-1, r.LastSeq))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var body []byte
		if err := rows.Scan(&seq, &body); err != nil {
			return nil, err
		}
		if seq != from+int64(len(page)) {
			return nil, errGap(r.ID, from+int64(len(page)))
		}
		page = append(page, body)
	}
	if len(page) == 0 && rows.Err() == nil {
		return nil, errGap(r.ID, from)
	}
	return page, rows.Err()
}
