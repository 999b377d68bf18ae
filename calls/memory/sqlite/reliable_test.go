package sqlite_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/calls/memory/heap"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlite"
)

// childDir makes this test binary a process that saves until it is killed.
const childDir = "MEMORY_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "10") // each of them opens files
	}
	os.Exit(m.Run())
}

// child saves memories one by one, from several goroutines, and prints the id of
// each that was acknowledged.
func child(dir string) error {
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	errs := make(chan error)
	for g := range 4 {
		go func() {
			for i := 0; ; i++ {
				m := memory.BaseMemory{
					Content: fmt.Sprintf("process%d goroutine%d memory%d", os.Getpid(), g, i),
					Context: memory.Context{UserID: fmt.Sprint("user", i%3), SessionID: fmt.Sprint("s", i%7)},
				}
				saved, err := s.SaveMemories(context.Background(), []memory.BaseMemory{m})
				if err != nil {
					errs <- err
					return
				}
				fmt.Printf("%s %s\n", saved[0].ID, m.Content) // one write: lines are whole
			}
		}()
	}
	return <-errs
}

// start runs a child until it has saved so many, and kills it in the middle of its
// work. It gives what was acknowledged.
func killed(t *testing.T, dir string, after int) (acknowledged map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged = map[string]string{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id, content, whole := strings.Cut(lines.Text(), " ")
		if whole && strings.Contains(content, "memory") {
			acknowledged[id] = content
		}
		if len(acknowledged) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	return acknowledged
}

func TestKill(t *testing.T) {
	dir := t.TempDir()
	all := map[string]string{}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		for id, content := range killed(t, dir, 150*(round+2)) {
			all[id] = content
		}
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		readable(t, s, all)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(all) < 300 {
		t.Errorf("only %d were saved", len(all))
	}
}

// readable checks that memories are there and are found by their words.
func readable(t *testing.T, s *sqlite.Store, all map[string]string) {
	t.Helper()
	n := 0
	for id, content := range all {
		m, err := s.LoadMemory(t.Context(), id)
		if err != nil || m == nil || m.Content != content {
			t.Fatalf("%s was acknowledged, but there is %v, %v", id, m, err)
		}
		if n++; n%10 != 0 {
			continue // searching for some is enough
		}
		found, err := s.Search(t.Context(), &memory.Query{Users: memory.User(m.Context.UserID), Text: content, Now: time.Now(), Limit: 40})
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for _, x := range found.Memories {
			there = there || x.Memory.ID == id
		}
		if !there {
			t.Errorf("%q is not found", content)
		}
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	done := make(chan map[string]string)
	for range 2 {
		go func() { done <- killed(t, dir, 200) }()
	}
	mine := map[string]string{}
	for i := range 100 {
		m := memory.BaseMemory{Content: fmt.Sprintf("ours memory%d", i), Context: memory.Context{UserID: "user0", SessionID: "s0"}}
		saved, err := s.SaveMemories(t.Context(), []memory.BaseMemory{m})
		if err != nil {
			t.Fatal(err)
		}
		mine[saved[0].ID] = m.Content
		if _, err := s.Search(t.Context(), &memory.Query{Users: memory.User("user0"), Text: m.Content, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for id, content := range <-done {
			mine[id] = content
		}
	}
	readable(t, s, mine)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDiskFull(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{MaxPages: 200})
	saved, refused := 0, 0
	for i := range 3000 {
		_, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: fmt.Sprintf("number%d %s", i, strings.Repeat("filling the disk ", 30))}})
		switch {
		case err == nil && refused == 0:
			saved++
		case err != nil:
			refused++
			if !strings.Contains(calls.HintOf(err), "the disk is full") {
				t.Fatal(err)
			}
		}
		if refused > 5 {
			break
		}
	}
	if saved < 100 || refused == 0 {
		t.Errorf("%d saved, %d refused", saved, refused)
	}
	found, err := s.Search(t.Context(), &memory.Query{Users: memory.User(""), Text: "number7", Now: time.Now()})
	if err != nil || len(found.Memories) == 0 {
		t.Errorf("with a full disk: %v, %v", found, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, sqlite.FileName)
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var list []memory.BaseMemory
	for i := range 2000 {
		list = append(list, memory.BaseMemory{Content: fmt.Sprintf("number%d %s", i, strings.Repeat("x", 100)), Context: memory.Context{UserID: fmt.Sprint("u", i%2), SessionID: "s"}})
	}
	saved, err := s.SaveMemories(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	x := memory.MemorySnapshot{ID: memory.NewID(memory.SnapshotID, time.Now()), KeyPoints: []string{"k"}, MemoryRefs: []string{saved[0].ID}}
	if err := s.SaveSnapshot(t.Context(), "u0", x); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A page in the middle of the memories is overwritten.
	at := strings.Index(string(data), "number1000 ") / 4096 * 4096
	broken := append([]byte{}, data...)
	for i := range 4096 {
		broken[at+i] = 0x5a
	}
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the damage is not seen: %v", err)
	}
	for _, err = range s.Memories(t.Context(), memory.Selection{Users: memory.AllUsers()}) {
		if err != nil {
			break
		}
	}
	if !strings.Contains(calls.HintOf(err), "--salvage") {
		t.Errorf("reading: %v, hint %q", err, calls.HintOf(err))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	d, err := sqlite.OpenDamaged(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	r, err := archive.Export(t.Context(), d, memory.AllUsers(), out, nil)
	if err != nil || r.Memories < 1900 || r.Memories >= 2000 || r.Snapshots != 1 || d.Lost == 0 {
		t.Errorf("salvaged %+v, %v, lost %d places", r, err, d.Lost)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if r, err := archive.Import(t.Context(), heap.New(nil), out, archive.Options{Users: memory.AllUsers()}); err != nil || r.New < 1900 {
		t.Errorf("imported %+v, %v", r, err)
	}

	// The beginning of the file is gone.
	for name, text := range map[string]string{"garbage": strings.Repeat("no database ", 1000), "cut": string(data[:5000])} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err == nil {
			err = s.Check(t.Context())
			_ = s.Close() // of a broken file
		}
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := sqlite.OpenDamaged(t.Context(), t.TempDir()); err == nil {
		t.Error("a file that is not there was opened")
	}
}

func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	info, err := os.Stat(s.File())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "x"), sqlite.Options{}); calls.KindOf(err) == "" {
		t.Errorf("a file as directory: %v", err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "x"}}); err == nil {
		t.Error("a closed store saves")
	}
	if _, err := s.Stats(t.Context(), memory.AllUsers()); err == nil {
		t.Error("a closed store reads")
	}
}

func TestReopening(t *testing.T) {
	dir := t.TempDir()
	talks, err := memorytest.Talks("dialogue")
	if err != nil {
		t.Fatal(err)
	}
	for _, talk := range talks {
		for i := 0; i < len(talk.Memories); i += 10 {
			s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.SaveMemories(t.Context(), talk.Memories[i:min(i+10, len(talk.Memories))]); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := open(t, dir, sqlite.Options{})
	st, err := s.Stats(t.Context(), memory.AllUsers())
	if err != nil || st.Users != len(talks) {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestModel does the same random things to this store, reopened now and then, and to
// one in the heap: both must say the same.
func TestModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		now := memorytest.Start
		clock := func() time.Time { return now }
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }() // closed and checked below where all went well
		other, err := sqlite.Open(t.Context(), dir, sqlite.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close() }() // as above
		model := heap.New(clock)
		m := &twin{T: r, ctx: t.Context(), stores: []memory.Store{model, s, other}, now: &now}
		r.Repeat(map[string]func(*rapid.T){
			"save": m.save, "many": m.many, "update": m.update, "snapshot": m.snapshot, "delete": m.delete, "": m.compare,
		})
		if err := s.Check(t.Context()); err != nil {
			r.Fatal(err)
		}
	})
}

type twin struct {
	*rapid.T
	ctx    context.Context
	stores []memory.Store // the model, then two on one file
	now    *time.Time
	ids    []string
}

var words = rapid.SampledFrom(strings.Fields("tea coffee river mountain dog cat Berlin train 茶 咖啡 河流 yesterday ? ERR-12 running runs"))

func (m *twin) memory(r *rapid.T) memory.BaseMemory {
	text := strings.Join(rapid.SliceOfN(words, 1, 6).Draw(r, "words"), " ")
	x := memory.BaseMemory{
		ID: memory.NewID(memory.MemoryID, *m.now), Content: text, Timestamp: memorytest.Start.Add(time.Duration(rapid.IntRange(0, 50).Draw(r, "at")) * time.Hour),
		Context: memory.Context{UserID: rapid.SampledFrom([]string{"", "ann"}).Draw(r, "user"), SessionID: rapid.SampledFrom([]string{"", "s", "t"}).Draw(r, "session")},
	}
	return x
}

// both does something to the model and to the files, in turn by either process.
func (m *twin) both(do func(memory.Store) any) {
	*m.now = m.now.Add(time.Second)
	want := do(m.stores[0])
	got := do(m.stores[1+int(m.now.Unix())%2])
	if diff := cmp.Diff(want, got); diff != "" {
		m.Fatalf("(-model +file)\n%s", diff)
	}
}

func (m *twin) put(list []memory.BaseMemory) {
	m.both(func(s memory.Store) any {
		saved, err := s.SaveMemories(m.ctx, list)
		return []any{saved, fmt.Sprint(err)}
	})
	for _, x := range list {
		m.ids = append(m.ids, x.ID)
	}
}

func (m *twin) save(r *rapid.T) { m.put([]memory.BaseMemory{m.memory(r)}) }

func (m *twin) many(r *rapid.T) {
	var list []memory.BaseMemory
	one := m.memory(r)
	for range rapid.SampledFrom([]int{2, 40, 300}).Draw(r, "n") {
		one.ID = memory.NewID(memory.MemoryID, *m.now)
		list = append(list, one)
	}
	list = append(list, m.memory(r))
	m.put(list)
}

func (m *twin) update(r *rapid.T) {
	if len(m.ids) == 0 {
		return
	}
	x := m.memory(r)
	x.ID = rapid.SampledFrom(m.ids).Draw(r, "id")
	m.put([]memory.BaseMemory{x})
}

func (m *twin) snapshot(r *rapid.T) {
	if len(m.ids) == 0 {
		return
	}
	x := memory.MemorySnapshot{
		ID: fmt.Sprintf("snapshot_0000000%d-0000-7000-8000-000000000000", rapid.IntRange(0, 5).Draw(r, "n")), Category: "c",
		KeyPoints: rapid.SliceOfN(words, 1, 4).Draw(r, "points"), MemoryRefs: rapid.SliceOfN(rapid.SampledFrom(m.ids), 0, 4).Draw(r, "refs"),
	}
	user := rapid.SampledFrom([]string{"", "ann"}).Draw(r, "user")
	m.both(func(s memory.Store) any { return fmt.Sprint(s.SaveSnapshot(m.ctx, user, x)) })
}

func (m *twin) delete(r *rapid.T) {
	which := memory.Selection{Users: rapid.SampledFrom([]memory.Users{memory.AllUsers(), memory.User("ann")}).Draw(r, "users")}
	switch rapid.IntRange(0, 3).Draw(r, "kind") {
	case 0:
		which.HasSession, which.Session = true, rapid.SampledFrom([]string{"", "s"}).Draw(r, "session")
	case 1:
		which.Before = memorytest.Start.Add(time.Duration(rapid.IntRange(0, 50).Draw(r, "before")) * time.Hour)
	default:
		if len(m.ids) == 0 {
			return
		}
		which.ID = rapid.SampledFrom(m.ids).Draw(r, "id")
	}
	which.DryRun = rapid.Bool().Draw(r, "dry")
	m.both(func(s memory.Store) any {
		d, err := s.Delete(m.ctx, which)
		return []any{d, fmt.Sprint(err)}
	})
}

// compare asks all stores the same.
func (m *twin) compare(r *rapid.T) {
	q := memory.Query{Text: strings.Join(rapid.SliceOfN(words, 1, 3).Draw(r, "query"), " "), Users: memory.AllUsers(), Now: memorytest.Start.Add(60 * time.Hour), Session: "s", Limit: 20}
	answer := func(s memory.Store) any {
		found, err := s.Search(m.ctx, &q)
		if err != nil {
			return err.Error()
		}
		st, err := s.Stats(m.ctx, memory.AllUsers())
		st.Bytes = 0
		var lines []string
		for _, x := range found.Memories {
			lines = append(lines, fmt.Sprint(x.Memory.ID, x.Relevance, x.Reason, x.Snapshots))
		}
		return []any{lines, st, fmt.Sprint(err)}
	}
	want := answer(m.stores[0])
	for _, s := range m.stores[1:] {
		if diff := cmp.Diff(want, answer(s)); diff != "" {
			r.Fatalf("searching %q (-model +file)\n%s", q.Text, diff)
		}
	}
}
