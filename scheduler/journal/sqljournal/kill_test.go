package sqljournal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/test/slow"
)

// childEnv names the directory of the journal that a child process fills, and
// childRun the run that it is content with.
const (
	childEnv = "JOURNAL_TEST_CHILD"
	childRun = "JOURNAL_TEST_RUN"
)

func TestMain(m *testing.M) {
	dir, run := os.Getenv(childEnv), os.Getenv(childRun)
	if dir == "" {
		os.Exit(m.Run())
	}
	do := fill
	if run != "" {
		do = func(dir string) error { return share(dir, run) }
	}
	if err := do(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shared is the number of events that each of the processes sharing a journal writes.
const shared = 150

// share records one run, beside other processes.
func share(dir, id string) error {
	ctx := context.Background()
	j, err := sqljournal.OpenFile(ctx, dir, sqljournal.FileOptions{})
	if err != nil {
		return err
	}
	log, err := j.Begin(ctx, &journal.RunHeader{ID: id, Flow: "f", StartedAt: time.Unix(0, 0)})
	if err != nil {
		return err
	}
	for seq := range int64(shared) {
		if err := log.Append(ctx, victimEvent(id, seq+1)); err != nil {
			return err
		}
	}
	return j.Close()
}

func TestProcessesShareAJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var wg sync.WaitGroup
	const processes = 4
	for i := range processes {
		wg.Go(func() {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), childEnv+"="+dir, childRun+"=r"+strconv.Itoa(i))
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	j := open(t, dir, sqljournal.FileOptions{})
	if err := j.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for i := range processes {
		id := "r" + strconv.Itoa(i)
		if info, err := j.Run(t.Context(), id); err != nil || info.LastSeq != shared || info.Holder != nil {
			t.Errorf("the run is %+v, %v", info, err)
		}
		compare(t, j, id, 1)
	}
}

// victims are how many runs the child writes to at a time.
const victims = 3

// fill appends to the runs in dir until it is killed, and prints RUN SEQ once the
// journal has acknowledged the event SEQ.
func fill(dir string) error {
	ctx := context.Background()
	j, err := sqljournal.OpenFile(ctx, dir, sqljournal.FileOptions{})
	if err != nil {
		return err
	}
	errs := make(chan error, victims)
	var mu sync.Mutex
	for i := range victims {
		id := "r" + strconv.Itoa(i)
		log, err := j.Reopen(ctx, id)
		for held := (*journal.HeldError)(nil); errors.As(err, &held); log, err = j.Reopen(ctx, id) {
			time.Sleep(50 * time.Millisecond) // until the lease of the one before runs out
		}
		if err != nil {
			return err
		}
		go func() { errs <- fillRun(ctx, log, id, &mu) }()
	}
	return <-errs
}

func fillRun(ctx context.Context, log journal.RunLog, id string, stdout *sync.Mutex) error {
	seq := log.Info().LastSeq
	for {
		var batch []*journal.Event
		for range 1 + rand.IntN(4) {
			seq++
			batch = append(batch, victimEvent(id, seq))
		}
		if err := log.Append(ctx, batch...); err != nil {
			return err
		}
		stdout.Lock()
		fmt.Println(id, seq)
		stdout.Unlock()
	}
}

// victimEvent returns the event of that number: sometimes with a payload, new or known.
func victimEvent(id string, seq int64) *journal.Event {
	ev := event(id, seq)
	ev.Data.Text = fmt.Sprint(id, " ", seq)
	if seq%7 == 0 {
		output := value.OfMap(value.Pairs("shared", strings.Repeat("x", 20_000), "own", strings.Repeat(fmt.Sprint(seq), 2000)))
		ev.Data.Output = &output
	}
	return ev
}

// TestKill kills a process that appends, at a random moment, again and again: the events reported as durable are
// there, and the file is sound. CHAOS_ROUNDS sets how often.
func TestKill(t *testing.T) {
	slow.Test(t)
	rounds := 8
	if text := os.Getenv("CHAOS_ROUNDS"); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	j := open(t, dir, sqljournal.FileOptions{})
	for i := range victims {
		id := "r" + strconv.Itoa(i)
		log, err := j.Begin(t.Context(), &journal.RunHeader{ID: id, Flow: "f", StartedAt: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	checked := map[string]int64{}
	for round := range rounds {
		acknowledged := killChild(t, dir)
		j := open(t, dir, sqljournal.FileOptions{})
		if err := j.Check(t.Context()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for id, seq := range acknowledged {
			info, err := j.Run(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if info.LastSeq < seq || info.State != journal.RunRunning {
				t.Fatalf("round %d: event %d was acknowledged, the run is %+v", round, seq, info)
			}
			compare(t, j, id, checked[id]+1)
			checked[id] = info.LastSeq
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rounds: %v", rounds, checked)
}

// compare checks the events from one on.
func compare(t *testing.T, j *sqljournal.Journal, id string, from int64) {
	t.Helper()
	for ev, err := range j.Events(t.Context(), id, from) {
		if err != nil {
			t.Fatal(err)
		}
		if want, got := value.Must(victimEvent(id, from)).JSON(), value.Must(ev).JSON(); want != got {
			t.Fatalf("event %d of %s came back as %.300s", from, id, got)
		}
		from++
	}
}

// killChild runs the child, kills it, and returns the last event of each run that it
// saw acknowledged.
func killChild(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	child.Stderr = os.Stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	left := 1 + rand.IntN(200)
	last := map[string]int64{}
	for lines := bufio.NewScanner(stdout); lines.Scan(); left-- {
		var id string
		var seq int64
		if _, err := fmt.Sscan(lines.Text(), &id, &seq); err != nil {
			break // the line was cut by the kill
		}
		last[id] = seq
		if left == 0 {
			go func() {
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
				_ = child.Process.Kill()
			}()
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return last
}
