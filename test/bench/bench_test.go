package bench

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

var shapes = []struct {
	name  string
	edges func(n int) edges
}{{"chain", chain}, {"fan", fan}}

var sizes = []int{10, 100, 1000, 10000}

func both(tb testing.TB, e edges) (our, peer runner) {
	tb.Helper()
	peer, err := einos(tb.Context(), e)
	if err != nil {
		tb.Fatal(err)
	}
	return ours(e), peer
}

// TestBothRun keeps the comparison honest: both engines run every shape.
func TestBothRun(t *testing.T) {
	for _, shape := range shapes {
		our, peer := both(t, shape.edges(12))
		for name, run := range map[string]runner{"ours": our, "eino": peer} {
			if err := run(t.Context()); err != nil {
				t.Errorf("%s %s: %v", name, shape.name, err)
			}
		}
	}
}

// BenchmarkTable measures both engines in turns and prints their costs side by
// side. It asserts nothing: a busy machine slows both.
func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		printTable(b)
	}
}

func printTable(tb testing.TB) {
	tb.Helper()
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(columns ...any) {
		for _, c := range columns {
			fmt.Fprintf(w, "%v\t", c)
		}
		fmt.Fprintln(w)
	}
	line("per step:", "steps", "ns", "eino ns", "ratio", "cpu ns", "eino cpu ns", "allocs", "eino allocs", "ratio")
	for _, shape := range shapes {
		var ofHundred cost
		for _, n := range sizes {
			our, peer := both(tb, shape.edges(n))
			a, b := measure(tb, our, n), measure(tb, peer, n)
			line(shape.name, n, round(a.wall), round(b.wall), times(b.wall/a.wall), round(a.cpu), round(b.cpu),
				times(a.allocs), times(b.allocs), times(b.allocs/a.allocs))
			switch n {
			case 100:
				ofHundred = a
			case 10000:
				line("", "10000/100", times(a.wall/ofHundred.wall), "", "", times(a.cpu/ofHundred.cpu), "", "", "", "")
			}
		}
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
}

func round(x float64) string { return fmt.Sprintf("%.0f", x) }
func times(x float64) string { return fmt.Sprintf("%.1f", x) }

// cost is per step.
type cost struct{ wall, cpu, allocs float64 }

// measure takes the best of some rounds: slower rounds were disturbed. A run that takes long is a round of its
// own.
func measure(tb testing.TB, run runner, steps int) cost {
	tb.Helper()
	const rounds, long = 5, 100 * time.Millisecond
	once := func() time.Duration {
		start := time.Now()
		if err := run(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		return time.Since(start)
	}
	best := cost{}
	first := once()
	for range rounds {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		cpu := cpuTime(tb)
		runs, wall := 0.0, time.Duration(0)
		for runs == 0 || wall < long {
			wall += once()
			runs++
		}
		cpu = cpuTime(tb) - cpu
		runtime.ReadMemStats(&after)
		per := runs * float64(steps)
		c := cost{float64(wall) / per, float64(cpu) / per, float64(after.Mallocs-before.Mallocs) / per}
		if best.wall == 0 || c.wall < best.wall {
			best = c
		}
		if first > 10*long {
			break
		}
	}
	return best
}

// cpuTime is the processor time that this process has used: other programs on
// the machine do not count.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
