package scheduler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// BenchmarkJournal runs flows with the journal on disk, and beside it a loop that
// appends as much to a file and syncs it once per step: steps/s of each, and the
// ratio.
func BenchmarkJournal(b *testing.B) {
	const steps = 200
	for name, needs := range map[string]func(i int) string{
		"chain": func(i int) string { return fmt.Sprintf("[s%d]", i-1) },
		"fan":   func(int) string { return "[s0]" },
	} {
		b.Run(name, func(b *testing.B) {
			text := "steps:\n  - {id: s0, call: echo}\n"
			for i := 1; i < steps; i++ {
				text += fmt.Sprintf("  - {id: s%d, call: echo, needs: %s}\n", i, needs(i))
			}
			flow := schedulertest.Load(b, text)
			j, err := sqljournal.OpenFile(b.Context(), b.TempDir(), sqljournal.FileOptions{})
			if err != nil {
				b.Fatal(err)
			}
			exec := &scheduler.StepExecutor{Journal: j}
			file, err := os.Create(filepath.Join(b.TempDir(), "raw"))
			if err != nil {
				b.Fatal(err)
			}
			var ours, raw time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := scheduler.Collect(exec.Run(b.Context(), flow, value.Value{})); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
				start = time.Now()
				for range steps {
					if _, err := file.WriteString(strings.Repeat("x", 500)); err != nil {
						b.Fatal(err)
					}
					if err := file.Sync(); err != nil {
						b.Fatal(err)
					}
				}
				raw += time.Since(start)
			}
			b.ReportMetric(steps*float64(b.N)/ours.Seconds(), "steps/s")
			b.ReportMetric(steps*float64(b.N)/raw.Seconds(), "raw/s")
			b.ReportMetric(float64(raw)/float64(ours), "ratio")
			if err := file.Close(); err != nil {
				b.Error(err)
			}
			if err := j.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}
