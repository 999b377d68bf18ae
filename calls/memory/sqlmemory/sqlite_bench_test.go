package sqlmemory_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

// The benchmark beside FTS5: the same memories in this store and in plain tables of the same SQLite with an FTS5
// index, with the same questions, in one run. FTS5 gets the terms that our index has, with the user as a further
// term, and the query as an OR of the same terms; both give the best 50 with their rows. It asserts nothing: a
// busy machine slows both, and only the ratios count.
//
// BENCH_MEMORIES is the number of memories, by default 100,000. A million take about a quarter of an hour:
//
//	BENCH_MEMORIES=1000000 go test -run '^$' -bench FTS5 -timeout 1h ./calls/memory/sqlmemory
const benchVariable = "BENCH_MEMORIES"

const (
	benchUser   = 1000 // memories of a user
	benchBatch  = 1000 // memories in a transaction
	benchAsked  = 200  // queries
	benchSingle = 10   // single saves in a round: in turns, so that all are disturbed alike
	benchRounds = 300  // in which each user gets enough to be folded
	benchLimit  = 50
)

func BenchmarkFTS5(b *testing.B) {
	n := 100_000
	if text := os.Getenv(benchVariable); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		if err != nil {
			b.Fatalf("%s: %v", benchVariable, err)
		}
	}
	for _, part := range []struct {
		name string
		run  func(*testing.B, *tabwriter.Writer)
	}{
		{"save", single},
		{"many", func(b *testing.B, w *tabwriter.Writer) { compare(b, w, n, n/benchUser) }},
		{"one", func(b *testing.B, w *tabwriter.Writer) { compare(b, w, n, 1) }},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				fmt.Println()
				w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
				part.run(b, w)
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// peer is plain tables in a file with the same settings.
type peer struct {
	db                           *sql.DB
	begin, memory, words, commit *sql.Stmt
	search                       *sql.Stmt
	n                            int
}

func openPeer(b *testing.B, words bool) *peer {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "peer.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-16384)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	p := &peer{db: db}
	if _, err := db.ExecContext(context.Background(), "CREATE TABLE memory(rid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user TEXT NOT NULL, session TEXT NOT NULL, time INTEGER NOT NULL, content TEXT NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	prepare := func(query string) *sql.Stmt {
		stmt, err := db.PrepareContext(context.Background(), query)
		if err != nil {
			b.Fatal(err)
		}
		return stmt
	}
	p.begin, p.commit = prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
	p.memory = prepare("INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?)")
	if words {
		if _, err := db.ExecContext(context.Background(), "CREATE VIRTUAL TABLE words USING fts5(terms, content='')"); err != nil {
			b.Fatal(err)
		}
		p.words = prepare("INSERT INTO words(rowid, terms) VALUES (?, ?)")
		p.search = prepare(`SELECT m.id, m.user, m.session, m.time, m.content, w.rank FROM (SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50) w
			JOIN memory m ON m.rid = w.rowid ORDER BY w.rank`)
	}
	return p
}

func (p *peer) save(b *testing.B, list []memory.BaseMemory) {
	b.Helper()
	run := func(stmt *sql.Stmt, args ...any) {
		if _, err := stmt.ExecContext(context.Background(), args...); err != nil {
			b.Fatal(err)
		}
	}
	run(p.begin)
	for i := range list {
		m := &list[i]
		p.n++
		run(p.memory, p.n, memory.NewID(memory.MemoryID, m.Timestamp), m.Context.UserID, m.Context.SessionID, m.Timestamp.UnixMilli(), m.Content)
		if p.words != nil {
			run(p.words, p.n, m.Context.UserID+" "+strings.Join(terms(m.Content), " "))
		}
	}
	run(p.commit)
}

// terms returns the terms of a text in our index.
func terms(text string) (list []string) {
	for _, f := range rank.Analyze(text, "").Terms {
		for range f.N {
			list = append(list, f.Term)
		}
	}
	return list
}

func (p *peer) ask(b *testing.B, q *memory.Query, scoped bool) (n int) {
	b.Helper()
	match := strings.Join(terms(strings.TrimPrefix(q.Text, "what was the ")), " OR ")
	if scoped {
		user, _ := q.Users.One()
		match = user + " AND (" + match + ")"
	}
	rows, err := p.search.QueryContext(context.Background(), match)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	for rows.Next() {
		var id, user, session, content string
		var at int64
		var score float64
		if err := rows.Scan(&id, &user, &session, &at, &content, &score); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}

// single saves memories one by one, each on the disk before the next, beside an
// insert into one plain table and one with FTS5.
func single(b *testing.B, w *tabwriter.Writer) {
	b.Helper()
	s := openBench(b)
	plain, words := openPeer(b, false), openPeer(b, true)
	c := memorytest.NewCorpus(10)
	var times [3][]time.Duration
	for range benchRounds {
		for which, save := range []func(memory.BaseMemory){
			func(m memory.BaseMemory) { saveBench(b, s, []memory.BaseMemory{m}) },
			func(m memory.BaseMemory) { plain.save(b, []memory.BaseMemory{m}) },
			func(m memory.BaseMemory) { words.save(b, []memory.BaseMemory{m}) },
		} {
			for range benchSingle {
				m := c.Next()
				start := time.Now()
				save(m)
				times[which] = append(times[which], time.Since(start))
			}
		}
	}
	fmt.Fprintf(w, "a durable save\tours\tpeer\tratio\t\n")
	line(w, "ms p50, beside a plain insert", quantile(times[0], 0.5), quantile(times[1], 0.5), false)
	line(w, "mean", mean(times[0]), mean(times[1]), false)
	line(w, "p99", quantile(times[0], 0.99), quantile(times[1], 0.99), false)
	line(w, "ms p50, beside an insert with FTS5", quantile(times[0], 0.5), quantile(times[2], 0.5), false)
}

func openBench(b *testing.B) *sqlmemory.Store {
	b.Helper()
	s, err := sqlmemory.OpenFile(b.Context(), b.TempDir(), sqlmemory.FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func saveBench(b *testing.B, s *sqlmemory.Store, list []memory.BaseMemory) {
	b.Helper()
	if _, err := s.SaveMemories(context.Background(), list); err != nil {
		b.Fatal(err)
	}
}

// compare imports n memories of a number of users into both and asks both.
func compare(b *testing.B, w *tabwriter.Writer, n, users int) {
	b.Helper()
	scoped := users > 1
	resetPeak()
	build := func(save func([]memory.BaseMemory)) (perSecond float64, questions []memory.Query) {
		c := memorytest.NewCorpus(users)
		asker := memorytest.NewCorpus(users)
		took := time.Duration(0)
		for done := 0; done < n; done += benchBatch {
			list := make([]memory.BaseMemory, benchBatch)
			for i := range list {
				list[i] = c.Next()
			}
			start := time.Now()
			save(list)
			took += time.Since(start)
			if done/benchBatch%max(1, n/benchBatch/benchAsked) == 0 {
				questions = append(questions, asker.Question(list[done/benchBatch*7%len(list)], benchLimit))
			}
		}
		for len(questions) < benchAsked {
			questions = append(questions, questions[len(questions)/2])
		}
		return float64(n) / took.Seconds(), questions
	}
	s, p := openBench(b), openPeer(b, true)
	ours, questions := build(func(list []memory.BaseMemory) { saveBench(b, s, list) })
	found := 0
	ask := func(q *memory.Query) {
		got, err := s.Search(context.Background(), q)
		if err != nil {
			b.Fatal(err)
		}
		found += len(got.Memories)
	}
	for i := range questions { // the peak includes caches
		ask(&questions[i])
	}
	peak := peakMB()
	resetPeak()
	theirs, _ := build(func(list []memory.BaseMemory) { p.save(b, list) })
	for i := range questions[:20] {
		p.ask(b, &questions[i], scoped)
	}
	var times [2][]time.Duration
	peers := 0
	found = 0
	for i := range questions {
		start := time.Now()
		ask(&questions[i])
		middle := time.Now()
		peers += p.ask(b, &questions[i], scoped)
		times[0], times[1] = append(times[0], middle.Sub(start)), append(times[1], time.Since(middle))
	}
	fmt.Fprintf(w, "%d memories of %d users\tours\tFTS5\tratio\t\n", n, users)
	line(w, "import, memories/s", ours, theirs, true)
	line(w, "a query, ms p50", quantile(times[0], 0.5), quantile(times[1], 0.5), false)
	line(w, "p99", quantile(times[0], 0.99), quantile(times[1], 0.99), false)
	line(w, "rows per query", float64(found)/float64(len(questions)), float64(peers)/float64(len(questions)), true)
	line(w, "file, MB", sizeMB(b, s.File()), p.size(b), false)
	line(w, "peak of the process, MB", peak, peakMB(), false)
}

// line prints a row; the ratio says how many times better ours is.
func line(w *tabwriter.Writer, what string, ours, theirs float64, more bool) {
	ratio := theirs / ours
	if more {
		ratio = ours / theirs
	}
	fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.2f x\t\n", what, ours, theirs, ratio)
}

func quantile(list []time.Duration, q float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return float64(list[int(q*float64(len(list)-1))]) / float64(time.Millisecond)
}

func mean(list []time.Duration) float64 {
	sum := time.Duration(0)
	for _, d := range list {
		sum += d
	}
	return float64(sum) / float64(len(list)) / float64(time.Millisecond)
}

func (p *peer) size(b *testing.B) float64 {
	b.Helper()
	var pages, size float64
	if err := p.db.QueryRowContext(context.Background(), "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").Scan(&pages, &size); err != nil {
		b.Fatal(err)
	}
	return pages * size / (1 << 20)
}

func sizeMB(b *testing.B, file string) float64 {
	b.Helper()
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size()) / (1 << 20)
}

// peakMB is the most memory that this process had since resetPeak, or 0 if the system does not report it.
func peakMB() float64 {
	text, _ := os.ReadFile("/proc/self/status") // not there: 0
	for l := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64) // the kernel wrote it
			return kb / 1024
		}
	}
	return 0
}

// resetPeak starts the measurement again, without the remains of other parts.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // without it the peak is of the whole process
}
