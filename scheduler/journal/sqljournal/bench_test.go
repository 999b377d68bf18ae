package sqljournal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

// BenchmarkAppend measures steps per second beside appending to a plain file with
// an fsync each, on the same disk at the same time, and prints the ratios. A step is the four events that a step
// makes, the last of which must be durable.
func BenchmarkAppend(b *testing.B) {
	const steps, parallel = 2000, 16
	var best struct{ raw, chain, fan, async float64 }
	for b.Loop() {
		for range 3 { // in turns: a disturbance then affects all
			best.raw = max(best.raw, perSecond(steps, func() { rawAppends(b, steps) }))
			best.chain = max(best.chain, perSecond(steps, func() { appendSteps(b, 1, steps, journal.Sync) }))
			best.fan = max(best.fan, perSecond(steps*4, func() { appendSteps(b, parallel, steps*4/parallel, journal.Sync) }))
			best.async = max(best.async, perSecond(steps*4, func() { appendSteps(b, 1, steps*4, journal.Async) }))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(best.raw, "fsyncs/s")
	b.ReportMetric(best.chain, "steps/s")
	b.ReportMetric(best.chain/best.raw, "chain/raw")
	b.ReportMetric(best.fan/best.raw, "fan/raw")
	b.ReportMetric(best.async/best.raw, "async/raw")
}

func perSecond(n int, do func()) float64 {
	start := time.Now()
	do()
	return float64(n) / time.Since(start).Seconds()
}

func rawAppends(b *testing.B, n int) {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 400) + "\n")
	for range n {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func appendSteps(b *testing.B, parallel, steps int, mode journal.Durability) {
	j, err := sqljournal.OpenFile(b.Context(), b.TempDir(), sqljournal.FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	params := value.OfMap(value.Pairs("template", "How is the weather in {{ inputs.city }}?", "city", "杭州"))
	output := value.OfMap(value.Pairs("text", strings.Repeat("It rains. ", 20)))
	took := 1.5
	var wg sync.WaitGroup
	for i := range parallel {
		log, err := j.Begin(b.Context(), &journal.RunHeader{ID: fmt.Sprint(i), StartedAt: time.Now(), Mode: mode})
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			defer log.Close()
			for n := range steps {
				events := make([]*journal.Event, 4)
				for k, t := range []journal.EventType{journal.StepReady, journal.StepStarted, journal.StepInput, journal.StepFinished} {
					events[k] = &journal.Event{Seq: int64(4*n + k + 1), Time: time.Now(), Run: fmt.Sprint(i), Type: t, Step: fmt.Sprint("step", n)}
				}
				events[1].Data = &journal.Data{Call: "template"}
				events[2].Data = &journal.Data{Params: &params, Input: &params}
				events[3].Data = &journal.Data{Output: &output, DurationMS: &took}
				if err := log.Append(b.Context(), events...); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
