package sqljournal

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// runRow is a row of the table of runs.
type runRow struct {
	journal.RunInfo
	key   int64
	lease []byte
	// holder is the process of the lease; the zero Process if that has run out.
	holder stored.Process
	mode   journal.Durability
}

// instant is a time in a column: milliseconds since 1970 in a file, a timestamp in Postgres. It
// is zero for NULL.
type instant struct{ at time.Time }

// Scan reads a column.
func (t *instant) Scan(column any) error {
	switch column := column.(type) {
	case nil:
		t.at = time.Time{}
	case int64:
		t.at = time.UnixMilli(column)
	case time.Time:
		t.at = column
	default:
		return wording.Errorf("a time is %T", column)
	}
	return nil
}

// scanRun reads a row of selectRuns and whether a process holds the run.
func scanRun(scan func(...any) error) (*runRow, error) {
	r := &runRow{}
	var state, started, updated string
	var labels, summary []byte
	var touched, since, until instant
	var pid *int
	var host, identity, mode *string
	var isAlive bool
	err := scan(&r.key, &r.ID, &r.Flow, &state, &started, &updated, &r.LastSeq, &r.CancelRequested, &r.lease, &touched, &labels, &summary,
		&since, &pid, &host, &identity, &until, &isAlive, &mode)
	if err == nil {
		r.Summary, err = stored.DecodeSummary(summary)
	}
	if err != nil {
		return nil, err
	}
	r.State, r.TouchedAt = journal.RunStatus(state), touched.at
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
	if r.lease != nil && isAlive {
		r.holder = stored.Process{PID: *pid, Host: *host, Identity: *identity}
		if !r.holder.Dead() {
			r.Holder = &journal.Holder{PID: r.holder.PID, Host: r.holder.Host, Since: since.at, Until: until.at}
		}
	}
	r.Abandoned = r.lease != nil && r.Holder == nil
	return r, nil
}

// heldError returns the error of a process that has not got the lease.
func (r *runRow) heldError() error { return &journal.HeldError{Run: r.ID, Holder: r.Holder} }

// findRun returns the row of a run. The error for an unknown one is of kind NotFound.
func (j *Journal) findRun(c database.Conn, id string) (*runRow, error) {
	return j.selectRun(c, id, "")
}

// lockRun is findRun in a transaction, until whose end no other process changes the row.
func (j *Journal) lockRun(c database.Conn, id string) (*runRow, error) {
	return j.selectRun(c, id, j.db.fragments().lock)
}

func (j *Journal) selectRun(c database.Conn, id, lock string) (r *runRow, err error) {
	err = c.QueryRows(j.db.fragments().selectRuns+"WHERE r.id = $2"+lock, []any{j.db.now(), id}, func(scan func(...any) error) error {
		r, err = scanRun(scan)
		return err
	})
	if err == nil && r == nil {
		err = stored.ErrUnknown(id)
	}
	return r, err
}

// findRunByID is findRun in a read of its own.
func (j *Journal) findRunByID(ctx context.Context, id string) (r *runRow, err error) {
	err = j.db.Read(ctx, func(c database.Conn) error {
		r, err = j.findRun(c, id)
		return err
	})
	return r, err
}

// Run returns the state of a run.
func (j *Journal) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	r, err := j.findRunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return &r.RunInfo, nil
}

// Runs lists runs. It reads a page at a time: a slow reader keeps no transaction open.
func (j *Journal) Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
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

// listPage reads the next runs between two keys that match as far as the database can check. Times are compared
// later: they are stored as given. For example, the database can compare states and labels.
func (j *Journal) listPage(ctx context.Context, filter *journal.RunFilter, before, downTo int64) (page []*runRow, err error) {
	var args []any
	argument := func(arg any) string {
		args = append(args, arg)
		return "$" + strconv.Itoa(len(args))
	}
	argument(j.db.now())
	conditions := []string{"r.key < " + argument(before), "r.key > " + argument(downTo)}
	if len(filter.States) > 0 {
		states := make([]string, len(filter.States))
		for i, state := range filter.States {
			states[i] = argument(string(state))
		}
		conditions = append(conditions, "r.state IN ("+strings.Join(states, ", ")+")")
	}
	if filter.Flow != "" {
		conditions = append(conditions, "r.flow = "+argument(filter.Flow))
	}
	if len(filter.Labels) > 0 {
		condition, err := j.db.matchLabels(filter.Labels, argument)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, condition)
	}
	query := j.db.fragments().selectRuns + "WHERE " + strings.Join(conditions, " AND ") + " ORDER BY r.key DESC LIMIT " + strconv.Itoa(runPage)
	err = j.db.Read(ctx, func(c database.Conn) error {
		page = nil
		return c.QueryRows(query, args, func(scan func(...any) error) error {
			r, err := scanRun(scan)
			page = append(page, r)
			return err
		})
	})
	return page, err
}

// Header returns the header that a run began with.
func (j *Journal) Header(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.readHeader(ctx, id, false)
	return h, j.db.Explain("reading", err)
}

func (j *Journal) readHeader(ctx context.Context, id string, clear bool) (*journal.RunHeader, error) {
	r, err := j.findRunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	h := &journal.RunHeader{ID: r.ID, Flow: r.Flow, StartedAt: r.StartedAt, Labels: r.Labels, Mode: r.mode}
	var form stored.Header
	err = j.db.Read(ctx, func(c database.Conn) error {
		found, err := c.QueryRow("SELECT file, program, source, files, inputs, conversation, options FROM journal_header WHERE run = $1", []any{r.key},
			&h.File, &h.Program, &form.Source, &form.Files, &form.Inputs, &form.Conversation, &form.Options)
		if err == nil && !found {
			err = j.newHeaderError(id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, j.newDecoder(ctx, clear).DecodeHeader(h, form)
}

// newHeaderError returns the error for a missing header.
func (j *Journal) newHeaderError(run string) error {
	return j.db.markDamaged(wording.Errorf("the header of the run %s is missing", run))
}

func (j *Journal) newDecoder(ctx context.Context, clear bool) *stored.Decoder {
	return j.vault.NewDecoder(clear, func(at stored.Digest) (data []byte, found bool, err error) {
		err = j.db.Read(ctx, func(c database.Conn) error {
			found, err = c.QueryRow("SELECT data FROM journal_blob WHERE sha256 = $1", []any{at[:]}, &data)
			return err
		})
		return data, found, err
	})
}

// Follow yields the events of a run, including future ones. It learns of them by notice if the database sends any,
// and checks from time to time.
func (j *Journal) Follow(ctx context.Context, id string, after int64) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		sub := j.db.subscribeTo(id)
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

// Subscribe reports the commits of all programs that use the database. noticed is nil for a file, which sends no
// notices of other processes.
func (j *Journal) Subscribe(id string) (noticed <-chan struct{}, stop func()) {
	sub := j.db.subscribeTo(id)
	return sub.Noticed(), sub.Close
}

// Events returns the events of a run.
func (j *Journal) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	return j.readEvents(ctx, id, from, false)
}

func (j *Journal) readEvents(ctx context.Context, id string, from int64, clear bool) iter.Seq2[*journal.Event, error] {
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
func (j *Journal) eventsOf(ctx context.Context, r *runRow, from int64, decoder *stored.Decoder) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		readPage := func(from int64) ([][]byte, error) { return j.readPage(ctx, r, from) }
		for ev, err := range decoder.Events(&r.RunInfo, from, readPage) {
			if !yield(ev, j.db.Explain("reading", err)) {
				return
			}
		}
	}
}

// pageSize is how many events are read at a time: no reading lasts as long as a slow reader.
const pageSize = 256

// readPage reads the next events of a run, at least one.
func (j *Journal) readPage(ctx context.Context, r *runRow, from int64) (page [][]byte, err error) {
	err = j.db.Read(ctx, func(c database.Conn) error {
		page = nil
		args := []any{r.key, from, min(from+pageSize-1, r.LastSeq)}
		return c.QueryRows("SELECT seq, body FROM journal_event WHERE run = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq", args, func(scan func(...any) error) error {
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
