package sqljournal_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

// newFileStore returns a function that opens a journal in a directory of its own.
func newFileStore(t *testing.T) journaltest.Open {
	dir := t.TempDir()
	return func(o journaltest.Options) (journal.Journal, error) {
		options := sqljournal.FileOptions{Clock: o.Clock, Heartbeat: 20 * time.Millisecond}
		if o.Dead {
			options.Heartbeat = -time.Second
		}
		j, err := sqljournal.OpenFile(t.Context(), dir, options)
		if err == nil && o.Elsewhere {
			j.MoveElsewhere()
		}
		return j, err
	}
}

func TestSQLite(t *testing.T) {
	journaltest.Run(t, newFileStore)
	journaltest.RunShared(t, newFileStore)
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", `c?d#e%20f;ü&g=h`)
	j := open(t, dir, sqljournal.FileOptions{})
	begin(t, j, "r")
	for path, want := range map[string]os.FileMode{dir: 0o700, j.File(): 0o600, j.File() + "-wal": 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := j.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "*")); err != nil || len(names) != 1 {
		t.Errorf("the closed journal has the files %v, %v", names, err)
	}
}

// Many processes may make the same journal at the same moment.
func TestOpenAtOnce(t *testing.T) {
	for range 4 {
		dir := filepath.Join(t.TempDir(), "state")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				j, err := sqljournal.OpenFile(t.Context(), dir, sqljournal.FileOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				defer j.Close()
				begin(t, j, fmt.Sprint(i))
			})
		}
		wg.Wait()
	}
}

func TestClosedJournal(t *testing.T) {
	j := open(t, t.TempDir(), sqljournal.FileOptions{})
	log := begin(t, j, "r")
	if err := log.Append(t.Context(), event("r", 2)); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, beginErr := j.Begin(ctx, &journal.RunHeader{ID: "q"})
	_, reopenErr := j.Reopen(ctx, "r")
	_, runErr := j.Run(ctx, "r")
	_, pruneErr := j.Prune(ctx, journal.Prune{})
	for what, err := range map[string]error{
		"Append": log.Append(ctx, event("r", 3)), "Begin": beginErr, "Reopen": reopenErr, "Run": runErr, "Prune": pruneErr,
		"Cancel": j.Cancel(ctx, "r"), "Check": j.Check(ctx),
	} {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s of a closed journal: %v", what, err)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	info, err := open(t, filepath.Dir(j.File()), sqljournal.FileOptions{}).Run(ctx, "r")
	if err != nil || info.LastSeq != 2 || info.Holder != nil {
		t.Errorf("closing left %+v, %v", info, err)
	}
}

func TestAsyncIsCommittedSoon(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqljournal.FileOptions{})
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: "r", Mode: journal.Async})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err = j.Reopen(t.Context(), "r")
	if err != nil { // the mode is the run's
		t.Fatal(err)
	}
	other := open(t, dir, sqljournal.FileOptions{})
	const n = 3000 // more than may wait
	for seq := range int64(n) {
		if err := log.Append(t.Context(), event("r", seq+1)); err != nil {
			t.Fatal(err)
		}
	}
	for {
		info, err := other.Run(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if info.LastSeq == n {
			break
		}
		time.Sleep(time.Millisecond)
	}
}

func TestPayloadsAreStoredOnce(t *testing.T) {
	j := open(t, t.TempDir(), sqljournal.FileOptions{})
	image := bytes.Repeat([]byte("a picture of a cat "), 5000)
	encoded := base64.StdEncoding.EncodeToString(image)
	messages := value.Must([]any{
		map[string]any{"role": "user", "content": strings.Repeat("a long text. ", 20_000)},
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + encoded}}}},
	})
	prompt, params := value.OfMap(value.Pairs("messages", messages, "tokens", 7)), value.OfMap(value.Pairs("model", "m", "messages", messages))
	for i := range 10 {
		id := fmt.Sprint(i)
		log := begin(t, j, id)
		ev := event(id, 2)
		ev.Data = &journal.Data{Output: &prompt, Params: &params, Input: &params}
		if err := log.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(j.File())
	if err != nil {
		t.Fatal(err)
	}
	if once := len(image) + 13*20_000; len(file) > once+100_000 {
		t.Errorf("the file has %d bytes, the payloads %d", len(file), once)
	}
	if bytes.Contains(file, []byte(encoded[:100])) {
		t.Error("the image is in the file as it was in the event")
	}
}

func TestPruneShrinksTheFile(t *testing.T) {
	j := open(t, t.TempDir(), sqljournal.FileOptions{})
	log := begin(t, j, "r")
	for seq := range int64(50) {
		ev := event("r", seq+2)
		ev.Data.Text = strings.Repeat(fmt.Sprint(seq), 30_000)
		if err := log.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	end := event("r", 52)
	end.Type = journal.FlowFinished
	if err := errors.Join(log.Append(t.Context(), end), log.Close()); err != nil {
		t.Fatal(err)
	}
	done, err := j.Prune(t.Context(), journal.Prune{})
	if err != nil || done.Bytes < 2_000_000 {
		t.Errorf("pruning gave back %+v, %v", done, err)
	}
	for _, file := range []string{j.File(), j.File() + "-wal"} {
		if info, err := os.Stat(file); err != nil || info.Size() > 200_000 {
			t.Errorf("%s has %d bytes, %v", file, info.Size(), err)
		}
	}
	if err := j.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqljournal.FileOptions{})
	log := begin(t, j, "r")
	if err := j.Exec("PRAGMA max_page_count = 40"); err != nil {
		t.Fatal(err)
	}
	seq := int64(1)
	var err error
	for err == nil {
		ev := event("r", seq+1)
		ev.Data.Text = strings.Repeat(fmt.Sprint(seq), 3000)
		err = log.Append(t.Context(), ev)
		if err == nil {
			seq++
		}
	}
	if !strings.Contains(err.Error(), j.File()) || !strings.Contains(calls.HintOf(err), "free some space") {
		t.Errorf("the error is %v (%s)", err, calls.HintOf(err))
	}
	if again := log.Append(t.Context(), event("r", seq+1)); !errors.Is(again, err) {
		t.Errorf("the log goes on: %v", again)
	}
	if err := j.Exec("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	intact(t, dir, "r", seq)
	log, err = j.Reopen(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), event("r", seq+1)); err != nil {
		t.Errorf("the run cannot go on: %v", err)
	}
}

// intact checks that the run has exactly these events.
func intact(t *testing.T, dir, run string, last int64) {
	t.Helper()
	j := open(t, dir, sqljournal.FileOptions{})
	if err := j.Check(t.Context()); err != nil {
		t.Error(err)
	}
	n := int64(0)
	for ev, err := range j.Events(t.Context(), run, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; ev.Seq != n {
			t.Fatalf("event %d comes after %d", ev.Seq, n-1)
		}
	}
	if n != last {
		t.Errorf("the run has %d events, want %d", n, last)
	}
}

// A failure that an event of mode async meets shows at the next call, or at Close.
func TestFailureOfAsync(t *testing.T) {
	for name, next := range map[string]func(journal.RunLog) error{
		"Append": func(l journal.RunLog) error { return l.Append(context.Background(), event("r", 3)) },
		"Close":  func(l journal.RunLog) error { return l.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, t.TempDir(), sqljournal.FileOptions{})
			log := beginAsync(t, j, "r")
			if err := j.Exec("CREATE TRIGGER refuse BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
				t.Fatal(err)
			}
			if err := log.Append(t.Context(), event("r", 2)); err != nil {
				t.Fatal(err)
			}
			if err := j.Exec("SELECT 1"); err != nil { // the events go with it
				t.Fatal(err)
			}
			if err := next(log); err == nil || !strings.Contains(err.Error(), "no") {
				t.Errorf("the failure is told as %v", err)
			}
			if err := log.Close(); err != nil {
				t.Errorf("the failure is told twice: %v", err)
			}
		})
	}
}

// One write that fails does not undo other writes in its commit.
func TestFailureIsAlone(t *testing.T) {
	j := open(t, t.TempDir(), sqljournal.FileOptions{})
	good, bad := beginAsync(t, j, "good"), beginAsync(t, j, "bad")
	if err := j.Exec("CREATE TRIGGER refuse BEFORE INSERT ON event WHEN new.run = 2 BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
		t.Fatal(err)
	}
	for seq := range int64(50) {
		if err := good.Append(t.Context(), event("good", seq+2)); err != nil {
			t.Fatal(err)
		}
		_ = bad.Append(t.Context(), event("bad", seq+2))
	}
	if err := good.Close(); err != nil {
		t.Error(err)
	}
	if err := bad.Close(); err == nil {
		t.Error("the failure is not told")
	}
	intact(t, filepath.Dir(j.File()), "good", 51)
	intact(t, filepath.Dir(j.File()), "bad", 1)
}

func TestLockedFile(t *testing.T) {
	j := open(t, t.TempDir(), sqljournal.FileOptions{BusyTimeout: 30 * time.Millisecond, Heartbeat: 5 * time.Millisecond})
	log := begin(t, j, "r")
	ctx := t.Context()
	db, err := sql.Open("sqlite", "file:"+j.File()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	err = log.Append(ctx, event("r", 2))
	if err == nil || !strings.Contains(calls.HintOf(err), "locked") || !strings.Contains(err.Error(), j.File()) {
		t.Errorf("the error is %v (%s)", err, calls.HintOf(err))
	}
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	intact(t, filepath.Dir(j.File()), "r", 1)
}

func TestUnusableFiles(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, j *sqljournal.Journal)
		hint  string
	}{
		"no database": {func(t *testing.T, j *sqljournal.Journal) {
			write(t, j.File(), bytes.Repeat([]byte("this is my diary\n"), 1000))
		}, "damaged"},
		"garbage in the middle": {func(t *testing.T, j *sqljournal.Journal) {
			data, err := os.ReadFile(j.File())
			if err != nil {
				t.Fatal(err)
			}
			write(t, j.File(), append(data[:100], bytes.Repeat([]byte{0xA5}, len(data)-100)...))
		}, "damaged"},
		"a newer form": {func(t *testing.T, j *sqljournal.Journal) { alter(t, j, "PRAGMA user_version = 99") }, "use that version"},
		"another program's": {func(t *testing.T, j *sqljournal.Journal) {
			if err := os.Remove(j.File()); err != nil {
				t.Fatal(err)
			}
			alter(t, j, "CREATE TABLE diary(day TEXT)")
		}, "move the file away"},
		"a directory": {func(t *testing.T, j *sqljournal.Journal) {
			if err := errors.Join(os.Remove(j.File()), os.Mkdir(j.File(), 0o700)); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir, sqljournal.FileOptions{})
			begin(t, j, "r")
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			test.spoil(t, j)
			before, _ := os.ReadFile(j.File())
			_, err := sqljournal.OpenFile(t.Context(), dir, sqljournal.FileOptions{})
			if err == nil || !strings.Contains(err.Error(), j.File()) || !strings.Contains(calls.HintOf(err), test.hint) {
				t.Errorf("opening: %v (%s)", err, calls.HintOf(err))
			}
			if after, _ := os.ReadFile(j.File()); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func alter(t *testing.T, j *sqljournal.Journal, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", j.File())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, filepath.Join(dir, "new")} {
		_, err := sqljournal.OpenFile(t.Context(), at, sqljournal.FileOptions{})
		if err == nil || !strings.Contains(err.Error(), at) || !strings.Contains(calls.HintOf(err), "permissions") {
			t.Errorf("opening: %v (%s)", err, calls.HintOf(err))
		}
	}
}

// A missing part is always reported.
func TestDamage(t *testing.T) {
	big := value.OfString(strings.Repeat("x", 10_000))
	for name, test := range map[string]struct{ spoil, want string }{
		"an event in the middle": {"DELETE FROM event WHERE seq = 3", "event 3 of the run r is missing"},
		"the last events":        {"DELETE FROM event WHERE seq > 1", "event 2 of the run r is missing"},
		"a payload":              {"PRAGMA foreign_keys = 0; DELETE FROM blob WHERE length(data) > 9000", "payload"},
		"another payload":        {"UPDATE blob SET data = '\"z\"' WHERE length(data) > 9000", "not what was stored"},
		"half an event":          {"UPDATE event SET body = substr(body, 1, 20) WHERE seq = 2", "event 2 of the run r"},
		"a reference":            {`UPDATE event SET body = '{"data":{"output":{"$blob":"12"}}}' WHERE seq = 2`, "not a reference to a payload"},
		"an image":               {`UPDATE event SET body = '{"data":{"text":{"$media":["data:x;base64,",{}]}}}' WHERE seq = 2`, "not a reference to an image"},
		"a time":                 {"UPDATE run SET updated_at = 'noon'", "noon"},
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, t.TempDir(), sqljournal.FileOptions{})
			log := begin(t, j, "r")
			for seq := range int64(3) {
				ev := event("r", seq+2)
				ev.Data.Output = &big
				if err := log.Append(t.Context(), ev); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(test.spoil, "foreign_keys") {
				alter(t, j, test.spoil)
			} else if err := j.Exec(test.spoil); err != nil {
				t.Fatal(err)
			}
			var err error
			for _, err = range j.Events(t.Context(), "r", 1) {
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), j.File()) {
				t.Errorf("reading: %v", err)
			}
			if err := j.Check(t.Context()); (err == nil) == strings.Contains(test.spoil, "FROM event") {
				t.Errorf("checking: %v", err)
			}
		})
	}
}

func TestLostText(t *testing.T) {
	for change, want := range map[string]string{
		"UPDATE header SET source = x'00'":        "text of the flow is lost",
		"UPDATE header SET source = zeroblob(32)": "payload",
		`UPDATE header SET files = '{"a":"b"}'`:   "the file a of the flow is lost",
		"UPDATE header SET files = '{'":           "ends too early",
		"UPDATE header SET inputs = '{'":          "ends too early",
		"UPDATE header SET options = '{'":         "ends too early",
		"DELETE FROM header":                      "the header of the run r is missing",
	} {
		j := open(t, t.TempDir(), sqljournal.FileOptions{})
		begin(t, j, "r")
		if err := j.Exec(change); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Header(t.Context(), "r"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
}
