package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

var table = flag.Bool("table", false, "measure both engines and print a table")

var shapes = []struct {
	name  string
	edges func(n int) edges
}{{"chain", chain}, {"fan", fan}}

var sizes = []int{10, 100, 1000, 10000}

// TestBothRun keeps the benchmark honest: both engines run every shape.
func TestBothRun(t *testing.T) {
	for _, shape := range shapes {
		for name, run := range both(t, shape.edges(12)) {
			if err := run(t.Context()); err != nil {
				t.Errorf("%s %s: %v", name, shape.name, err)
			}
		}
	}
}

func both(tb testing.TB, e edges) map[string]runner {
	tb.Helper()
	peer, err := einos(tb.Context(), e)
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]runner{"ours": ours(e), "eino": peer}
}

func BenchmarkRun(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range sizes {
			for _, engine := range []string{"ours", "eino"} {
				run := both(b, shape.edges(n))[engine]
				b.Run(fmt.Sprintf("%s/%d/%s", shape.name, n, engine), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if err := run(context.Background()); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
				})
			}
		}
	}
}

// TestTable measures both engines in turns and prints their costs side by side.
// It asserts nothing: a busy machine slows both.
func TestTable(t *testing.T) {
	if !*table {
		t.Skip("run with -table")
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "shape\tsteps\tours ns/step\teino ns/step\ttimes faster\tours cpu ns/step\teino cpu ns/step\tours allocs/step\teino allocs/step\t")
	for _, shape := range shapes {
		for _, n := range sizes {
			runs := both(t, shape.edges(n))
			a, b := measure(t, runs["ours"], n), measure(t, runs["eino"], n)
			fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.1f\t%.0f\t%.0f\t%.1f\t%.1f\t\n", shape.name, n,
				a.wall, b.wall, b.wall/a.wall, a.cpu, b.cpu, a.allocs, b.allocs)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// cost is per step.
type cost struct{ wall, cpu, allocs float64 }

// measure takes the best of several rounds: what is slower was disturbed.
func measure(t *testing.T, run runner, steps int) cost {
	t.Helper()
	var best cost
	for range 5 {
		var c cost
		cpu := cpuTime(t)
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			cpu = cpuTime(t)
			for range b.N {
				if err := run(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		per := float64(r.N) * float64(steps)
		c.wall = float64(r.T.Nanoseconds()) / per
		c.cpu = float64(cpuTime(t)-cpu) / per
		c.allocs = float64(r.MemAllocs) / per
		if best.wall == 0 || c.wall < best.wall {
			best = c
		}
	}
	return best
}

// cpuTime is the processor time that this process has used: other programs on
// the machine do not count.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
