package postgres

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// runRow is a row of the table of runs.
type runRow struct {
	journal.RunInfo
	key   int64
	lease []byte
	// holder is the process of the lease; the zero Process where that has run out.
	holder stored.Process
	mode   journal.Durability
}

// selectRuns selects runs with what is known of their holders; its first argument is the time.
const selectRuns = `SELECT r.key, r.id, r.flow, r.state, r.started_at, r.updated_at, r.last_seq, r.cancel, r.lease, r.touched, r.labels, r.summary,
	r.held_since, w.pid, w.host, w.identity, w.until, coalesce(w.until > coalesce($1, now()), false), h.mode
	FROM journal_run r LEFT JOIN journal_worker w ON w.key = r.worker LEFT JOIN journal_header h ON h.run = r.key `

// scanRun reads a row of selectRuns and whether a process holds the run.
func scanRun(scan func(...any) error) (*runRow, error) {
	r := &runRow{}
	var started, updated string
	var state string
	var labels, summary []byte
	var since, until *time.Time
	var pid *int
	var host, identity, mode *string
	var alive bool
	err := scan(&r.key, &r.ID, &r.Flow, &state, &started, &updated, &r.LastSeq, &r.CancelRequested, &r.lease, &r.TouchedAt, &labels, &summary,
		&since, &pid, &host, &identity, &until, &alive, &mode)
	if err == nil {
		r.Summary, err = stored.DecodeSummary(summary)
	}
	if err != nil {
		return nil, err
	}
	r.State = journal.RunStatus(state)
	if mode != nil {
		r.mode = journal.Durability(*mode)
	}
	if string(labels) != "{}" {
		if err := json.Unmarshal(labels, &r.Labels); err != nil {
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
	if r.lease != nil && alive {
		r.holder = stored.Process{PID: *pid, Host: *host, Identity: *identity}
		if !r.holder.Dead() {
			r.Holder = &journal.Holder{PID: r.holder.PID, Host: r.holder.Host, Until: *until}
			if since != nil {
				r.Holder.Since = *since
			}
		}
	}
	r.Abandoned = r.lease != nil && r.Holder == nil
	return r, nil
}

// heldError returns the error of whoever has not got the lease.
func (r *runRow) heldError() error { return &journal.HeldError{Run: r.ID, Holder: r.Holder} }

// findRun returns the row of a run. The error for an unknown one is of kind NotFound.
func (j *Postgres) findRun(ctx context.Context, c *pgdb.Conn, id string) (*runRow, error) {
	return j.selectRun(ctx, c, id, "")
}

// lockRun is findRun in a transaction, until whose end no other process changes the row.
func (j *Postgres) lockRun(ctx context.Context, c *pgdb.Conn, id string) (*runRow, error) {
	return j.selectRun(ctx, c, id, " FOR UPDATE OF r")
}

func (j *Postgres) selectRun(ctx context.Context, c *pgdb.Conn, id, lock string) (r *runRow, err error) {
	err = c.QueryRows(ctx, selectRuns+"WHERE r.id = $2"+lock, []any{j.now(), id}, func(scan func(...any) error) error {
		r, err = scanRun(scan)
		return err
	})
	if err == nil && r == nil {
		err = stored.ErrUnknown(id)
	}
	return r, err
}

// findRunByID is findRun in a read of its own.
func (j *Postgres) findRunByID(ctx context.Context, id string) (r *runRow, err error) {
	err = j.db.Read(ctx, func(c *pgdb.Conn) error {
		r, err = j.findRun(ctx, c, id)
		return err
	})
	return r, err
}

// Run returns how a run stands.
func (j *Postgres) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	r, err := j.findRunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return &r.RunInfo, nil
}

// Runs lists runs.
func (j *Postgres) Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		after, downTo, err := stored.ParseCursors(&filter)
		left := filter.Limit
		if left <= 0 {
			left = math.MaxInt
		}
		for err == nil && left > 0 {
			var page []*runRow
			page, err = j.listPage(ctx, &filter, after, downTo)
			if err != nil || len(page) == 0 {
				break
			}
			for _, r := range page {
				if left == 0 || filter.Matches(&r.RunInfo) && !yield(&r.RunInfo, nil) {
					return
				}
				if filter.Matches(&r.RunInfo) {
					left--
				}
			}
			after = page[len(page)-1].key
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// runPage is how many runs are read at a time.
const runPage = 200

// listPage reads the next runs between two keys that fit what the database can tell. Times are
// compared later: they are kept as they were given.
func (j *Postgres) listPage(ctx context.Context, filter *journal.RunFilter, before, downTo int64) (page []*runRow, err error) {
	states := make([]string, 0, len(filter.States))
	for _, state := range filter.States {
		states = append(states, string(state))
	}
	labels := []byte("{}")
	if len(filter.Labels) > 0 {
		labels, err = json.Marshal(filter.Labels)
		if err != nil {
			return nil, err
		}
	}
	err = j.db.Read(ctx, func(c *pgdb.Conn) error {
		page = nil
		query := selectRuns + `WHERE r.key < $2 AND r.key > $3 AND (cardinality($4::text[]) = 0 OR r.state = ANY($4)) AND ($5 = '' OR r.flow = $5)`
		args := []any{j.now(), before, downTo, states, filter.Flow}
		if len(filter.Labels) > 0 {
			query, args = query+" AND r.labels @> $6", append(args, labels)
		}
		return c.QueryRows(ctx, query+" ORDER BY r.key DESC LIMIT "+strconv.Itoa(runPage), args, func(scan func(...any) error) error {
			r, err := scanRun(scan)
			page = append(page, r)
			return err
		})
	})
	return page, err
}

// Header returns what a run began with.
func (j *Postgres) Header(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.readHeader(ctx, id, false)
	return h, j.db.Explain("reading", err)
}

func (j *Postgres) readHeader(ctx context.Context, id string, clear bool) (*journal.RunHeader, error) {
	r, err := j.findRunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	h := &journal.RunHeader{ID: r.ID, Flow: r.Flow, StartedAt: r.StartedAt, Labels: r.Labels, Mode: r.mode}
	var form stored.Header
	err = j.db.Read(ctx, func(c *pgdb.Conn) error {
		found, err := c.QueryRow(ctx, "SELECT file, program, source, files, inputs, conversation, options FROM journal_header WHERE run = $1", []any{r.key},
			&h.File, &h.Program, &form.Source, &form.Files, &form.Inputs, &form.Conversation, &form.Options)
		if err == nil && !found {
			return wording.Errorf("the header of the run %s is missing", id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, j.newDecoder(ctx, clear).DecodeHeader(h, form)
}

func (j *Postgres) newDecoder(ctx context.Context, clear bool) *stored.Decoder {
	return j.vault.NewDecoder(clear, func(at stored.Digest) (data []byte, found bool, err error) {
		err = j.db.Read(ctx, func(c *pgdb.Conn) error {
			found, err = c.QueryRow(ctx, "SELECT data FROM journal_blob WHERE sha256 = $1", []any{at[:]}, &data)
			return err
		})
		return data, found, err
	})
}

// ID names the journal: the database and its copies.
func (j *Postgres) ID(ctx context.Context) (id string, err error) {
	err = j.db.Read(ctx, func(c *pgdb.Conn) error {
		_, err := c.QueryRow(ctx, "SELECT id FROM journal_store", nil, &id)
		return err
	})
	return id, err
}

// CheckWritable returns an error where no run could be recorded now.
func (j *Postgres) CheckWritable(ctx context.Context) error { return j.db.CheckWritable(ctx) }

// Follow yields the events of a run, also those to come. It learns of them by notice, and
// looks from time to time.
func (j *Postgres) Follow(ctx context.Context, id string, after int64) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		sub := j.db.Subscribe(channel, id)
		defer sub.Close()
		decoder := j.newDecoder(ctx, false)
		for {
			// The run's state is read before its events, so that they cover it.
			r, err := j.findRunByID(ctx, id)
			if err != nil {
				yield(nil, err)
				return
			}
			for ev, err := range j.eventsOf(ctx, r, after+1, decoder) {
				if !yield(ev, err) || err != nil {
					return
				}
				after = ev.Seq
			}
			if r.State != journal.RunRunning && r.Holder == nil {
				return
			}
			if err := sub.Wait(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// Subscribe tells of the commits of all programs that use the database.
func (j *Postgres) Subscribe(id string) (noticed <-chan struct{}, stop func()) {
	sub := j.db.Subscribe(channel, id)
	return sub.Noticed(), sub.Close
}

// Events returns those of a run.
func (j *Postgres) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	return j.readEvents(ctx, id, from, false)
}

func (j *Postgres) readEvents(ctx context.Context, id string, from int64, clear bool) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		r, err := j.findRunByID(ctx, id)
		if err != nil {
			yield(nil, j.db.Explain("reading", err))
			return
		}
		j.eventsOf(ctx, r, from, j.newDecoder(ctx, clear))(yield)
	}
}

// eventsOf yields the events of a run from a seq on, up to the last that its row knows.
func (j *Postgres) eventsOf(ctx context.Context, r *runRow, from int64, decoder *stored.Decoder) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		readPage := func(from int64) ([][]byte, error) { return j.readPage(ctx, r, from) }
		for ev, err := range decoder.Events(&r.RunInfo, from, readPage) {
			if !yield(ev, j.db.Explain("reading", err)) {
				return
			}
		}
	}
}

// pageSize is how many events are read at a time.
const pageSize = 256

// readPage reads the next events of a run, at least one.
func (j *Postgres) readPage(ctx context.Context, r *runRow, from int64) (page [][]byte, err error) {
	err = j.db.Read(ctx, func(c *pgdb.Conn) error {
		page = nil
		args := []any{r.key, from, min(from+pageSize-1, r.LastSeq)}
		return c.QueryRows(ctx, "SELECT seq, body FROM journal_event WHERE run = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq", args, func(scan func(...any) error) error {
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

// newGapError returns the error for a missing event.
func newGapError(run string, seq int64) error {
	return wording.Errorf("event %d of the run %s is missing: it was deleted in the meantime, or the journal is damaged", seq, run)
}
