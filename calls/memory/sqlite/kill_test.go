package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
	"github.com/callnode/scheduler/test/slow"
)

// TestKill kills a process that saves, and looks whether all that it acknowledged is
// there and is found. Its long form is that of make chaos: KILL_ROUNDS rounds, in each
// of which the kill comes at a random one of KILL_SAVES saves.
const (
	killRounds = "KILL_ROUNDS"
	killSaves  = "KILL_SAVES"
)

// What the child is made of: so many goroutines write, so many read what was
// acknowledged, and so many users share it.
const (
	childWriters = 4
	childReaders = 2
	childUsers   = 5
)

// said is the memory that a goroutine of a process saves: it ends with a word of its
// own, by which it is found.
func said(process, goroutine, i int) memory.BaseMemory {
	word := pseudo(uint64(process)<<32 | uint64(goroutine)<<24 | uint64(i))
	return memory.BaseMemory{
		Content: fmt.Sprintf("memory %d of goroutine %d: %s", i, goroutine, word),
		Context: memory.Context{UserID: fmt.Sprint("user", i%childUsers), SessionID: fmt.Sprint("s", i%7)},
	}
}

// find looks for a memory that was acknowledged by its id and by its word.
func find(ctx context.Context, s *sqlite.Store, id, content string) error {
	m, err := s.LoadMemory(ctx, id)
	if err != nil || m == nil || m.Content != content {
		return fmt.Errorf("%s, %q, was acknowledged, but there is %v, %w", id, content, m, err)
	}
	word := content[strings.LastIndex(content, " ")+1:]
	found, err := s.Search(ctx, &memory.Query{Users: memory.User(m.Context.UserID), Text: word, Now: m.Timestamp, Limit: 3})
	if err != nil {
		return err
	}
	if len(found.Memories) == 0 || found.Memories[0].Memory.ID != id {
		return fmt.Errorf("%q of %s is not found, but %v is", word, id, found.Memories)
	}
	return nil
}

type acknowledgement struct{ id, content string }

// child saves memories one by one, from several goroutines, and prints the id of each
// that was acknowledged, until it is killed. It ends when one of those is not found.
func child(dir string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	errs := make(chan error)
	var last [childWriters]atomic.Pointer[acknowledgement]
	for g := range childWriters {
		go func() {
			for i := 0; ; i++ {
				m := said(os.Getpid(), g, i)
				saved, err := s.SaveMemories(ctx, []memory.BaseMemory{m})
				if err != nil {
					errs <- err
					return
				}
				fmt.Printf("%s %s\n", saved[0].ID, m.Content) // one write: lines are whole
				last[g].Store(&acknowledgement{saved[0].ID, m.Content})
			}
		}()
	}
	for g := range childReaders {
		go func() {
			for i := g; ; i++ {
				time.Sleep(time.Millisecond)
				if a := last[i%childWriters].Load(); a != nil {
					if err := find(ctx, s, a.id, a.content); err != nil {
						errs <- err
						return
					}
				}
			}
		}()
	}
	return <-errs
}

// childTime is how long a child lives at most for each save: a test must not wait for
// one that saves slower than thought.
const childTime = 50 * time.Millisecond

// killed runs a child until it has saved so many, and kills it in the middle of its
// work. It gives what was acknowledged.
func killed(ctx context.Context, dir string, after int) (acknowledged map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second+time.Duration(after)*childTime)
	defer cancel() // which kills it
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	acknowledged = map[string]string{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id, content, whole := strings.Cut(lines.Text(), " ")
		if whole && strings.HasSuffix(content, "k") { // as the words end
			acknowledged[id] = content
		}
		if len(acknowledged) == after {
			cancel()
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		return nil, fmt.Errorf("the child was not killed, but ended: %w: %s", err, trouble.String())
	}
	return acknowledged, nil
}

// killLength is how many rounds there are, and of how many saves each is at most.
func killLength(t *testing.T) (rounds, saves int) {
	t.Helper()
	rounds, saves = 3, 600
	if os.Getenv(killRounds) == "" {
		return rounds, saves
	}
	saves = 10_000
	for name, to := range map[string]*int{killRounds: &rounds, killSaves: &saves} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				t.Fatalf("%s: want a number from 1 on, got %q", name, text)
			}
			*to = n
		}
	}
	return rounds, saves
}

func TestKill(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	all := map[string]string{}
	rounds, saves := killLength(t)
	for round := range rounds {
		acknowledged, err := killed(t.Context(), dir, 1+rand.IntN(saves))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, acknowledged)
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		there(t, s, acknowledged)
		if round == rounds-1 {
			there(t, s, all)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("round %d: killed after %d saves, of %d in all", round+1, len(acknowledged), len(all))
	}
}

// there checks that memories are there and are found.
func there(t *testing.T, s *sqlite.Store, all map[string]string) {
	t.Helper()
	var errs []error
	for id, content := range all {
		if err := find(t.Context(), s, id, content); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		t.Fatalf("%d of %d: %v", len(errs), len(all), errors.Join(errs[:min(len(errs), 5)]...))
	}
}

func TestTwoProcesses(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	type result struct {
		acknowledged map[string]string
		err          error
	}
	done := make(chan result, 2)
	for range 2 {
		go func() {
			acknowledged, err := killed(t.Context(), dir, 200)
			done <- result{acknowledged, err}
		}()
	}
	mine := map[string]string{}
	for i := range 100 {
		m := said(os.Getpid(), 0, i)
		saved, err := s.SaveMemories(t.Context(), []memory.BaseMemory{m})
		if err != nil {
			t.Fatal(err)
		}
		mine[saved[0].ID] = m.Content
		if err := find(t.Context(), s, saved[0].ID, m.Content); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		r := <-done
		if r.err != nil {
			t.Fatal(r.err)
		}
		maps.Copy(mine, r.acknowledged)
	}
	there(t, s, mine)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
