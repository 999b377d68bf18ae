package memorytest

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
)

// A test kills a child at a random one of its first 600 saves, 3 times, unless these variables set other numbers
// (make chaos).
const (
	killRounds = "KILL_ROUNDS"
	killSaves  = "KILL_SAVES"
)

// childPlace makes a test binary a process that saves until it is killed.
const childPlace = "MEMORY_TEST_CHILD_PLACE"

// The numbers of goroutines in the child that write, of goroutines that read acknowledged memories, and of the
// users they share.
const (
	childWriters = 4
	childReaders = 2
	childUsers   = 5
)

// Checked is a store that can check itself.
type Checked interface {
	memory.Store
	Check(ctx context.Context) error
}

// OpenPlace opens a store that other processes have open too: in a directory, or a database.
type OpenPlace func(ctx context.Context, place string) (Checked, error)

// RunChild is for TestMain: if [RunKill] started this process, it saves until it is killed.
func RunChild(open OpenPlace) {
	place := os.Getenv(childPlace)
	if place == "" {
		return
	}
	fmt.Fprintln(os.Stderr, saveForever(place, open))
	os.Exit(1)
}

// Acknowledged has the contents of memories that were saved, by their ids.
type Acknowledged map[string]string

// NewSaid returns the memory that a goroutine of a process saves: it ends with a word of its
// own, by which it is found.
func NewSaid(process, goroutine, i int) memory.BaseMemory {
	word := Pseudo(uint64(process)<<32 | uint64(goroutine)<<24 | uint64(i))
	return memory.BaseMemory{
		Content: fmt.Sprintf("memory %d of goroutine %d: %s", i, goroutine, word),
		Context: memory.Context{UserID: fmt.Sprint("user", i%childUsers), SessionID: fmt.Sprint("s", i%7)},
	}
}

// FindSaid looks for a memory that was acknowledged by its id and by its word.
func FindSaid(ctx context.Context, s memory.Store, id, content string) error {
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

// saveForever saves memories one by one, from several goroutines, and prints the id of each acknowledged one,
// until it is killed. It ends if an acknowledged memory is not found.
func saveForever(place string, open OpenPlace) error {
	ctx := context.Background()
	s, err := open(ctx, place)
	if err != nil {
		return err
	}
	errs := make(chan error)
	var last [childWriters]atomic.Pointer[acknowledgement]
	for g := range childWriters {
		go func() {
			for i := 0; ; i++ {
				m := NewSaid(os.Getpid(), g, i)
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
					if err := FindSaid(ctx, s, a.id, a.content); err != nil {
						errs <- err
						return
					}
				}
			}
		}()
	}
	return <-errs
}

// childTime is the maximum life of a child for each save: a test must not wait for a child that saves slower than
// expected.
const childTime = 50 * time.Millisecond

// runKilled runs a child until it has saved so many, and kills it in the middle of its work. It returns the
// acknowledged memories.
func runKilled(ctx context.Context, place string, after int) (Acknowledged, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second+time.Duration(after)*childTime)
	defer cancel() // which kills it
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childPlace+"="+place)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	all := Acknowledged{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id, content, whole := strings.Cut(lines.Text(), " ")
		if whole && strings.HasSuffix(content, "k") { // as the words end
			all[id] = content
		}
		if len(all) == after {
			cancel()
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		return nil, fmt.Errorf("the child was not killed, but ended: %w: %s", err, trouble.String())
	}
	return all, nil
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

// RunKill kills a process that saves, again and again, and looks whether everything that it
// acknowledged is there once and is found.
func RunKill(t *testing.T, place string, open OpenPlace) {
	all := Acknowledged{}
	rounds, saves := killLength(t)
	for round := range rounds {
		acknowledged, err := runKilled(t.Context(), place, 1+rand.IntN(saves))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, acknowledged)
		s, err := open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		CheckSaid(t, s, acknowledged)
		if round == rounds-1 {
			CheckSaid(t, s, all)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("round %d: killed after %d saves, of %d in all", round+1, len(acknowledged), len(all))
	}
}

// CheckSaid checks that memories are there and are found, and that no memory is there twice.
func CheckSaid(t *testing.T, s memory.Store, all Acknowledged) {
	t.Helper()
	var errs []error
	for id, content := range all {
		if err := FindSaid(t.Context(), s, id, content); err != nil {
			errs = append(errs, err)
		}
	}
	known := map[string]string{}
	for m, err := range s.Memories(t.Context(), memory.Selection{Users: memory.AllUsers()}) {
		if err != nil {
			t.Fatal(err)
		}
		if id, twice := known[m.Content]; twice {
			errs = append(errs, fmt.Errorf("%q is there twice, as %s and %s", m.Content, id, m.ID))
		}
		known[m.Content] = m.ID
	}
	if len(errs) > 0 {
		t.Fatalf("%d of %d: %v", len(errs), len(all), errors.Join(errs[:min(len(errs), 5)]...))
	}
}

// RunProcesses saves while two other processes do, until they are killed. Each sees the others' memories.
func RunProcesses(t *testing.T, place string, open OpenPlace) {
	s, err := open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	type result struct {
		acknowledged Acknowledged
		err          error
	}
	done := make(chan result, 2)
	for range 2 {
		go func() {
			acknowledged, err := runKilled(t.Context(), place, 200)
			done <- result{acknowledged, err}
		}()
	}
	mine := Acknowledged{}
	for i := range 100 {
		m := NewSaid(os.Getpid(), 0, i)
		saved, err := s.SaveMemories(t.Context(), []memory.BaseMemory{m})
		if err != nil {
			t.Fatal(err)
		}
		mine[saved[0].ID] = m.Content
		if err := FindSaid(t.Context(), s, saved[0].ID, m.Content); err != nil {
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
	CheckSaid(t, s, mine)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
