package sqlmemory_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

const (
	storesAsked   = 400 // queries
	storesLimit   = 50
	storesClients = 16
	storesSaves   = 150 // of each client
)

// BenchmarkStores does the same to a shared store and to a file. It asserts nothing: a
// busy machine slows both, and the ratios count. The private server of tests does not wait for the
// disk: for the figures of durable saves set SCHEDULER_TEST_POSTGRES_URL to one that does.
func BenchmarkStores(b *testing.B) {
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
		{"save", compareSaves},
		{"many", func(b *testing.B, w *tabwriter.Writer) { compareSearches(b, w, n, max(1, n/benchUser)) }},
		{"one", func(b *testing.B, w *tabwriter.Writer) { compareSearches(b, w, n, 1) }},
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

// openBoth opens an empty store of each kind.
func openBoth(b *testing.B) (url string, stores [2]memory.Store) {
	b.Helper()
	url = pgdbtest.NewURL(b)
	file, err := sqlmemory.OpenFile(b.Context(), b.TempDir(), sqlmemory.FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := file.Close(); err != nil {
			b.Error(err)
		}
	})
	return url, [2]memory.Store{openShared(b, sqlmemory.SharedOptions{URL: url}), file}
}

// compareSaves saves memories one by one: from one client, from several with users of their
// own, and from several with one user.
func compareSaves(b *testing.B, w *tabwriter.Writer) {
	b.Helper()
	url, stores := openBoth(b)
	fmt.Fprintf(w, "durable saves (fsync is on: %t)\tPostgres\tSQLite\tratio\t\n", pgdbtest.QueryInt(b, url, "SELECT (current_setting('fsync') = 'on')::int") == 1)
	for _, c := range []struct {
		what    string
		clients int
		oneUser bool
	}{{"one client", 1, false}, {"16 clients", storesClients, false}, {"16 clients, one user", storesClients, true}} {
		var rates, medians, slow [2]float64
		for i, s := range stores {
			times, took := saveFrom(b, s, c.clients, c.oneUser)
			rates[i] = float64(len(times)) / took.Seconds()
			medians[i], slow[i] = quantile(times, 0.5), quantile(times, 0.99)
		}
		writeLine(w, c.what+", saves/s", rates, true)
		writeLine(w, "ms p50", medians, false)
		writeLine(w, "ms p99", slow, false)
	}
}

func saveFrom(b *testing.B, s memory.Store, clients int, oneUser bool) (times []time.Duration, took time.Duration) {
	b.Helper()
	c := memorytest.NewCorpus(1)
	lists := make([][]memory.BaseMemory, clients)
	for i := range lists {
		for j := range storesSaves {
			m := c.Next()
			m.Content = fmt.Sprintf("%s %d %d %d", m.Content, clients, i, j)
			m.Context.UserID = fmt.Sprint("client", i)
			if oneUser {
				m.Context.UserID = "shared"
			}
			lists[i] = append(lists[i], m)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	start := time.Now()
	for _, list := range lists {
		all.Go(func() {
			for i := range list {
				from := time.Now()
				if _, err := s.SaveMemories(context.Background(), list[i:i+1]); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				times = append(times, time.Since(from))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return times, time.Since(start)
}

// compareSearches imports n memories of a number of users into both and asks both.
func compareSearches(b *testing.B, w *tabwriter.Writer, n, users int) {
	b.Helper()
	url, stores := openBoth(b)
	var rates, medians, slow, sizes [2]float64
	var questions []memory.Query
	for i, s := range stores {
		rates[i], questions = importInto(b, s, n, users)
		st, err := s.Stats(b.Context(), memory.AllUsers())
		if err != nil {
			b.Fatal(err)
		}
		sizes[i] = float64(st.Bytes) / (1 << 20)
	}
	pgdbtest.Exec(b, url, "ANALYZE")
	var times [2][]time.Duration
	for round := range 2 { // the first fills the caches
		for j := range questions {
			for i, s := range stores {
				start := time.Now()
				if _, err := s.Search(b.Context(), &questions[j]); err != nil {
					b.Fatal(err)
				}
				if round > 0 {
					times[i] = append(times[i], time.Since(start))
				}
			}
		}
	}
	for i := range stores {
		medians[i], slow[i] = quantile(times[i], 0.5), quantile(times[i], 0.99)
	}
	fmt.Fprintf(w, "%d memories of %d users\tPostgres\tSQLite\tratio\t\n", n, users)
	writeLine(w, "import, memories/s", rates, true)
	writeLine(w, "a query, ms p50", medians, false)
	writeLine(w, "ms p99", slow, false)
	writeLine(w, "size, MB", sizes, false)
}

func importInto(b *testing.B, s memory.Store, n, users int) (perSecond float64, questions []memory.Query) {
	b.Helper()
	c, asker := memorytest.NewCorpus(users), memorytest.NewCorpus(users)
	took := time.Duration(0)
	for done := 0; done < n; done += benchBatch {
		list := make([]memory.BaseMemory, benchBatch)
		for i := range list {
			list[i] = c.Next()
		}
		start := time.Now()
		if _, err := s.SaveMemories(b.Context(), list); err != nil {
			b.Fatal(err)
		}
		took += time.Since(start)
		for range max(1, storesAsked*benchBatch/n) {
			questions = append(questions, asker.Question(list[len(questions)*7%len(list)], storesLimit))
		}
	}
	return float64(n) / took.Seconds(), questions
}

// writeLine prints a row; the ratio says how many times better Postgres is.
func writeLine(w *tabwriter.Writer, what string, figures [2]float64, more bool) {
	ratio := figures[1] / figures[0]
	if more {
		ratio = figures[0] / figures[1]
	}
	fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.2f x\t\n", what, figures[0], figures[1], ratio)
}
