package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/test/slow"
)

var start = time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)

func store(t *testing.T) *sqlmemory.Store {
	t.Helper()
	return memorytest.NewStore(t, func() time.Time { return start })
}

// filled is a store with everything that a directory can have.
func filled(t *testing.T) *sqlmemory.Store {
	t.Helper()
	s := store(t)
	saved, err := s.SaveMemories(t.Context(), []memory.BaseMemory{
		{Content: "one <b>\u2028", Context: memory.Context{UserID: "ann", SessionID: "s", Other: value.OfString("note")}, Extra: value.Pairs("tags", []int{1})},
		{Content: "二", Context: memory.Context{UserID: "ann"}},
		{Content: "three", Context: memory.Context{UserID: "bob"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dangling := memory.NewID(memory.MemoryID, start)
	var ids []string // in the order of their times: of equal ones the order is chance
	for i := range 3 {
		ids = append(ids, memory.NewID(memory.SnapshotID, start.Add(time.Duration(i)*time.Millisecond)))
	}
	for i, x := range []memory.MemorySnapshot{
		{KeyPoints: []string{"1"}, Category: "Food", MemoryRefs: []string{saved[0].ID, dangling}, Importance: 0.8},
		{KeyPoints: []string{"2"}, Category: "food "}, {Category: "Travel", MemoryRefs: []string{dangling}},
	} {
		x.ID = ids[i]
		if err := s.SaveSnapshot(t.Context(), "ann", x); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []memory.MetaSnapshot{{Category: "FOOD", Keywords: []string{"k"}, SnapshotRefs: ids[:1], Description: "d"}, {Category: "x"}} {
		x.ID = memory.NewID(memory.MetaID, start)
		if err := s.SaveMetaSnapshot(t.Context(), "ann", x); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// files are the contents of a directory by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var everybody = archive.Options{Users: memory.AllUsers()}

func export(t *testing.T, s memory.Store, users memory.Users) (dir string, r archive.Report) {
	t.Helper()
	dir = t.TempDir()
	r, err := archive.Export(t.Context(), s, users, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func TestRoundTrip(t *testing.T) {
	first, r := export(t, filled(t), memory.AllUsers())
	if r.Memories != 3 || r.Snapshots != 3 || r.MetaSnapshots != 2 {
		t.Errorf("exported %+v", r)
	}
	again := store(t)
	r, err := archive.Import(t.Context(), again, first, everybody)
	if err != nil || r.Memories != 3 || r.New != 3 || r.Snapshots != 3 || r.MetaSnapshots != 2 {
		t.Errorf("imported %+v, %v", r, err)
	}
	if len(r.Problems) != 2 || !strings.Contains(r.Problems[0], "which is not there") {
		t.Errorf("problems: %q", r.Problems)
	}
	second, _ := export(t, again, memory.AllUsers())
	if diff := cmp.Diff(files(t, first), files(t, second)); diff != "" {
		t.Error(diff)
	}
	index, err := value.ParseJSON([]byte(files(t, first)["index.json"]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"memories", "snapshots", "meta_snapshots", "categories"}, index.Map().Keys()); diff != "" {
		t.Error(diff)
	}
	if c, ok := index.At("/categories/FOOD"); ok {
		t.Errorf("a category is there twice: %s", c)
	}
	if c, _ := index.At("/categories/Food/snapshots"); len(c.List()) != 2 {
		t.Errorf("food: %s", c)
	}
	r, err = archive.Import(t.Context(), again, first, everybody)
	if err != nil || r.New != 0 || r.Memories != 3 {
		t.Errorf("imported again: %+v, %v", r, err)
	}
}

// Memories of the same time are read back in the order in which they were said.
func TestRoundTripOrder(t *testing.T) {
	s := store(t)
	var list []memory.BaseMemory
	for i := range 20 {
		list = append(list, memory.BaseMemory{ID: fmt.Sprintf("memory_%08d-0000-4000-8000-000000000000", 99-i*7%20), Content: fmt.Sprint(i), Timestamp: start})
	}
	if _, err := s.SaveMemories(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	kept := kept{s}
	mirrored := filepath.Join(t.TempDir(), "mirror")
	m, _ := mirror(t, kept, mirrored)
	later := memory.BaseMemory{ID: "memory_00000000-0000-4000-8000-000000000000", Content: "20", Timestamp: start}
	if _, err := m.SaveMemories(t.Context(), []memory.BaseMemory{later}); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	exported, _ := export(t, s, memory.AllUsers())
	for _, dir := range []string{exported, mirrored} {
		again := store(t)
		if _, err := archive.Import(t.Context(), again, dir, everybody); err != nil {
			t.Fatal(err)
		}
		n := 0
		for m, err := range again.Memories(t.Context(), memory.Selection{Users: memory.AllUsers()}) {
			if err != nil || m.Content != fmt.Sprint(n) {
				t.Fatalf("%d is %q, %v", n, m.Content, err)
			}
			n++
		}
		if n != 21 {
			t.Errorf("%d memories", n)
		}
	}
}

// weighed notes how much text a store was given at once.
type weighed struct {
	memory.Store
	most int
}

func (w *weighed) SaveMemories(ctx context.Context, list []memory.BaseMemory) ([]memory.Saved, error) {
	size := 0
	for i := range list {
		size += len(list[i].Content)
	}
	w.most = max(w.most, size)
	return w.Store.SaveMemories(ctx, list)
}

// However long the texts are, an import keeps few of them in memory.
func TestImportLongTexts(t *testing.T) {
	slow.Test(t)
	s := store(t)
	for i := range 20 {
		m := memory.BaseMemory{Content: strings.Repeat(fmt.Sprint(i, " "), 1<<17)}
		if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{m}); err != nil {
			t.Fatal(err)
		}
	}
	dir, _ := export(t, s, memory.AllUsers())
	var lines bytes.Buffer
	if _, err := archive.ExportLines(t.Context(), s, memory.AllUsers(), &lines); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(s memory.Store) (archive.Report, error){
		"directory": func(s memory.Store) (archive.Report, error) { return archive.Import(t.Context(), s, dir, everybody) },
		"lines": func(s memory.Store) (archive.Report, error) {
			return archive.ImportLines(t.Context(), s, "lines", bytes.NewReader(lines.Bytes()), everybody)
		},
	} {
		w := &weighed{Store: store(t)}
		if r, err := do(w); err != nil || r.New != 20 || w.most > 5<<20 {
			t.Errorf("%s: %+v, %v, %d bytes at once", name, r, err, w.most)
		}
	}
}

// Unfinished files of a killed process disappear with the next export.
func TestExportSweeps(t *testing.T) {
	s := filled(t)
	dir, _ := export(t, s, memory.AllUsers())
	before := files(t, dir)
	for name := range before {
		if strings.HasPrefix(name, "memories/") {
			if err := os.WriteFile(filepath.Join(dir, name+".tmp"), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := archive.Export(t.Context(), s, memory.AllUsers(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestExportOneUser(t *testing.T) {
	s := filled(t)
	dir, _ := export(t, s, memory.User("bob"))
	if left := files(t, dir); len(left) != 2 { // bob's memory and the index
		t.Errorf("%v", left)
	}
	if _, err := archive.Export(t.Context(), s, memory.User("bob"), dir, nil); err != nil {
		t.Errorf("again: %v", err)
	}
	all, _ := export(t, s, memory.AllUsers())
	before := files(t, all)
	if _, err := archive.Export(t.Context(), s, memory.User("bob"), all, nil); calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), `"ann"`) {
		t.Errorf("over a backup of all: %v", err)
	}
	if diff := cmp.Diff(before, files(t, all)); diff != "" {
		t.Error(diff)
	}
}

func TestExportOver(t *testing.T) {
	s := filled(t)
	dir, _ := export(t, s, memory.AllUsers())
	stranger := filepath.Join(dir, "memories", "mine.txt")
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), memory.Selection{Users: memory.User("ann")}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Export(t.Context(), s, memory.AllUsers(), dir, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "memories"))
	if err != nil || len(left) != 2 { // bob's and the stranger
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := archive.Export(t.Context(), s, memory.Users{}, dir, nil); calls.KindOf(err) != calls.Invalid {
		t.Errorf("nobody's: %v", err)
	}
	if _, err := archive.Export(t.Context(), s, memory.AllUsers(), stranger, nil); calls.KindOf(err) != calls.Invalid {
		t.Errorf("into a file: %v", err)
	}
}

func TestImportOfDamage(t *testing.T) {
	const id = "memory_01890a5d-ac96-774b-bcce-b302099a8057"
	write := func(dir, name, text string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"content": "good", "context": {"user_id": "ann"}}`
	for name, test := range map[string]struct {
		files map[string]string
		want  archive.Report
	}{
		"no index": {map[string]string{"memories/" + id + ".json": good},
			archive.Report{Memories: 1, New: 1, Problems: []string{"index.json: it cannot be read"}}},
		"broken index": {map[string]string{"index.json": "{", "memories/" + id + ".json": good},
			archive.Report{Memories: 1, New: 1, Problems: []string{"index.json: "}}},
		"dangling index": {map[string]string{"memories/" + id + ".json": good, "index.json": `{"memories": {"x": {"path": "memories/x.json"}, "y": {"path": "../y.json"}, "z": {}}}`},
			archive.Report{Memories: 1, New: 1, Problems: []string{"index.json: x: there is no file", `index.json: y: the path "../y.json" is outside`, "index.json: z: "}}},
		"elsewhere": {map[string]string{"index.json": `{"memories": {"x": {"path": "old/` + id + `.json"}}}`, "old/" + id + ".json": good},
			archive.Report{Memories: 1, New: 1}},
		"bad files": {map[string]string{"index.json": "{}", "memories/a.json": "{", "memories/b.json": `{"content": 1}`, "memories/c.json": good, "memories/d.json": `{"id": "` + id + `"}`,
			"memories/" + id + ".json": good, "snapshots/a.json": "[]", "snapshots/b.json": `{"id": "x"}`, "meta_snapshots/a.json": "[]", "meta_snapshots/b.json": `{"id": "x"}`},
			archive.Report{Memories: 1, New: 1, Problems: []string{"memories/a.json: ", "memories/b.json: content: want a string", "memories/c.json: invalid id", "memories/d.json: the content of a memory is empty",
				"snapshots/a.json: ", "snapshots/b.json: invalid id", "meta_snapshots/a.json: ", "meta_snapshots/b.json: invalid id"}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range test.files {
				write(dir, name, text)
			}
			s := store(t)
			r, err := archive.Import(t.Context(), s, dir, everybody)
			if err != nil {
				t.Fatal(err)
			}
			for i, problem := range r.Problems {
				if i < len(test.want.Problems) && strings.HasPrefix(problem, test.want.Problems[i]) {
					r.Problems[i] = test.want.Problems[i]
				}
			}
			if diff := cmp.Diff(test.want, r); diff != "" {
				t.Error(diff)
			}
			if m, err := s.LoadMemory(t.Context(), id); m == nil || err != nil || m.Content != "good" || !m.Timestamp.Equal(start) {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
	if _, err := archive.Import(t.Context(), store(t), t.TempDir(), everybody); calls.KindOf(err) != calls.NotFound {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := archive.Import(t.Context(), store(t), "no such directory", everybody); calls.KindOf(err) != calls.NotFound {
		t.Errorf("no directory: %v", err)
	}
	if _, err := archive.Import(t.Context(), store(t), t.TempDir(), archive.Options{}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("nobody's: %v", err)
	}
}

func TestImportKeepsWalls(t *testing.T) {
	s := filled(t)
	dir, _ := export(t, s, memory.AllUsers())
	one := store(t)
	r, err := archive.Import(t.Context(), one, dir, archive.Options{Users: memory.User("bob")})
	if err != nil || r.Memories != 1 || r.Snapshots != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// An id that is another's now stays out, the others come in.
	for name, text := range files(t, dir) {
		if strings.Contains(text, "三") || strings.Contains(text, "three") {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(text, `"bob"`, `"eve"`, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err = archive.Import(t.Context(), s, dir, everybody)
	if err != nil || r.Memories != 2 || !strings.Contains(strings.Join(r.Problems, "\n"), "belongs to another user") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLines(t *testing.T) {
	s := filled(t)
	var out bytes.Buffer
	n, err := archive.ExportLines(t.Context(), s, memory.AllUsers(), &out)
	if err != nil || n != 3 {
		t.Fatalf("%d, %v", n, err)
	}
	again := store(t)
	told := 0
	r, err := archive.ImportLines(t.Context(), again, "x.jsonl", strings.NewReader("\ufeff"+out.String()+"\n\n"), archive.Options{Users: memory.AllUsers(), Progress: func(done, of int) { told = done + of }})
	if err != nil || r.Memories != 3 || r.New != 3 || told != 6 {
		t.Errorf("%+v, %v, told %d", r, err, told)
	}
	var second bytes.Buffer
	if _, err := archive.ExportLines(t.Context(), again, memory.AllUsers(), &second); err != nil || second.String() != out.String() {
		t.Errorf("%v: %s", err, cmp.Diff(out.String(), second.String()))
	}
}

// A stream that breaks off, for example when the user cancels it, leaves nothing behind.
func TestSpoolBreaksOff(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	enough := errors.New("enough")
	stream := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(enough))
	if _, _, err := archive.Spool(stream); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestUtterances(t *testing.T) {
	s := store(t)
	text := `{"is_user": true, "content": "ok", "timestamp": "2026-03-05T09:00:00Z"}
{"is_user": false, "content": "ok"}
{"role": "user", "content": "ok"}
{"role": "user", "content": "ok"}
{"role": "user", "content": "x", "context": {"other_context": "{\"speaker\": \"Ann\"}", "session_id": "t"}}
{"content": "known", "context": {"other_context": {"speaker": "Ben"}}, "tag": 1}
`
	r, err := archive.ImportLines(t.Context(), s, "x.jsonl", strings.NewReader(text), archive.Options{Users: memory.User("ann"), Session: "s"})
	if err != nil || r.Memories != 6 || r.New != 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	var got []string
	for m, err := range s.Memories(t.Context(), memory.Selection{Users: memory.User("ann")}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{m.Content, m.Context.SessionID, m.Role(), m.Speaker(), value.OfMap(m.Extra).JSON()}, " "))
	}
	want := []string{"ok s user  {}", "ok s assistant  {}", "ok s user  {}", "ok s user  {}", "x t user Ann {}", `known s  Ben {"tag":1}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWrongLines(t *testing.T) {
	const id = `"id": "memory_01890a5d-ac96-774b-bcce-b302099a8057"`
	good := `{"content": "x", "context": {"user_id": "ann"}}` + "\n"
	for text, want := range map[string]string{
		good + good + "{":                       "x.jsonl:3: ",
		good + `{"content": "x", "is_user": 1}`: "x.jsonl:2: is_user: want a boolean",
		good + `{"content": "x", "role": 1}`:    "x.jsonl:2: role: want a string",
		good + "\n[]":                           "x.jsonl:3: want an object",
		good + `{"content": ""}`:                "x.jsonl:2: the content of a memory is empty",
		good + `{"content": "` + strings.Repeat("x", memory.MaxContent+1) + `"}`:                              "x.jsonl:2: the content of a memory has 1048577 bytes",
		`{"content": "x", "id": "1"}`:                                                                         "x.jsonl:1: invalid id",
		good + `{"content": "x", "timestamp": "soon"}`:                                                        "x.jsonl:2: timestamp: ",
		good + `{"content": "x", "user_id": "eve"}`:                                                           "x.jsonl:2: user_id stands beside the context, not in it",
		good + `{"content": "x", "session_id": "s"}`:                                                          "x.jsonl:2: session_id stands beside the context, not in it",
		good + `{"content": "x", "context": {"user_id": 1}}`:                                                  "x.jsonl:2: context: user_id: want a string",
		`{"content": "x", ` + id + `}` + "\n" + `{"content": "x", "context": {"user_id": "eve"}, ` + id + `}`: "x.jsonl:2: the id memory_01890a5d-ac96-774b-bcce-b302099a8057 belongs to another user",
	} {
		s := store(t)
		_, err := archive.ImportLines(t.Context(), s, "x.jsonl", strings.NewReader(text), everybody)
		if err == nil || calls.KindOf(err) != calls.Invalid || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if st, err := s.Stats(t.Context(), memory.AllUsers()); st.Memories != 0 || err != nil {
			t.Errorf("%s: %d memories were stored", text, st.Memories)
		}
	}
	if r, err := archive.ImportLines(t.Context(), store(t), "x.jsonl", strings.NewReader(good), archive.Options{Users: memory.User("bob")}); err != nil || r.Memories != 0 || r.Others != 1 {
		t.Errorf("another user's: %+v, %v", r, err)
	}
	file, closeFile, err := archive.Spool(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := archive.ImportLines(t.Context(), store(t), "-", file, everybody); err != nil || r.Memories != 1 {
		t.Errorf("spooled: %+v, %v", r, err)
	}
	if err := closeFile(); err != nil {
		t.Error(err)
	}
}

func FuzzImportLines(f *testing.F) {
	f.Add(`{"content": "x"}`)
	f.Add(`{"content": "x", "timestamp": "2024-12-24T14:08:07.103Z", "context": {"user_id": "a", "other_context": "{\"role\": \"user\"}"}, "z": 1e400}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := store(t)
		r, err := archive.ImportLines(t.Context(), s, "x", strings.NewReader(text), everybody)
		st, _ := s.Stats(t.Context(), memory.AllUsers())
		if err != nil && st.Memories > 0 {
			t.Fatalf("%v, but %d memories are stored", err, st.Memories)
		}
		if err != nil {
			return
		}
		var out, second bytes.Buffer
		if _, err := archive.ExportLines(t.Context(), s, memory.AllUsers(), &out); err != nil {
			t.Fatal(err)
		}
		again := store(t)
		if _, err := archive.ImportLines(t.Context(), again, "x", bytes.NewReader(out.Bytes()), everybody); err != nil {
			t.Fatalf("%+v: importing the export: %v", r, err)
		}
		if _, err := archive.ExportLines(t.Context(), again, memory.AllUsers(), &second); err != nil || second.String() != out.String() {
			t.Fatalf("%v: %s", err, cmp.Diff(out.String(), second.String()))
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add(`{"memories": {"x": {"path": "memories/x.json"}}}`, `{"content": "x"}`, `{"id": "snapshot_01890a5d-ac96-774b-bcce-b302099a8057", "key_points": ["a"], "memory_refs": ["x"]}`)
	f.Fuzz(func(t *testing.T, index, one, snapshot string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"index.json": index, "memories/memory_01890a5d-ac96-774b-bcce-b302099a8057.json": one, "snapshots/x.json": snapshot} {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := store(t)
		if _, err := archive.Import(t.Context(), s, dir, everybody); err != nil {
			t.Fatal(err)
		}
		first, _ := export(t, s, memory.AllUsers())
		again := store(t)
		if _, err := archive.Import(t.Context(), again, first, everybody); err != nil && calls.KindOf(err) != calls.NotFound {
			t.Fatal(err)
		}
		second, _ := export(t, again, memory.AllUsers())
		if diff := cmp.Diff(files(t, first), files(t, second)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A line that is not JSON is reported with its column, in both languages.
func TestWrongLineInChinese(t *testing.T) {
	_, err := archive.ImportLines(t.Context(), store(t), "x.jsonl", strings.NewReader(`{"content": "a"}`+"\n"+`{"content" "b"}`), archive.Options{Users: memory.AllUsers()})
	if err == nil {
		t.Fatal("it was taken")
	}
	en, zh := err.Error(), calls.MessageIn(err, "zh")
	if !strings.HasPrefix(en, "x.jsonl:2: column 12: ") || !strings.HasPrefix(zh, "x.jsonl:2: 第 12 列：") || strings.Count(zh, "12") != 1 || strings.HasSuffix(zh, "列：") {
		t.Errorf("got %q and %q", en, zh)
	}
}
