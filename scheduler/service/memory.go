package service

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Memory returns the memory, opened once for all runs and requests.
func (s *Service) Memory(ctx context.Context) (*memory.SnapshotProcessor, error) {
	p, err := s.memories.Open(ctx)
	return p, markUnavailable(err)
}

// SnapshotReport lists the snapshots that [Service.MakeSnapshots] made, and the model's usage.
type SnapshotReport struct {
	memory.Report
	Usage llm.Usage
}

// IsEmpty reports whether nothing was made, and the model was paid nothing.
func (r *SnapshotReport) IsEmpty() bool {
	return len(r.Snapshots)+len(r.MetaSnapshots)+r.Embedded+r.Usage.Total() == 0
}

// Text describes the snapshots in words.
func (r *SnapshotReport) Text() wording.Text {
	var parts []wording.Text
	if n := len(r.Snapshots); n > 0 {
		parts = append(parts, wording.Count(n, "snapshot"))
	}
	if n := len(r.MetaSnapshots); n > 0 {
		parts = append(parts, wording.Count(n, "meta snapshot"))
	}
	if r.Embedded > 0 {
		parts = append(parts, wording.Count(r.Embedded, "vector"))
	}
	text := wording.Join(parts, ", ", "，")
	if r.Usage.Total() > 0 {
		text = wording.Say("%s (%d tokens in, %d out)", text, r.Usage.InputTokens, r.Usage.OutputTokens)
	}
	return text
}

// MakeSnapshots makes the snapshots of users that are due, or, with all, those with anything new, by the model of
// the settings. The report covers the snapshots made until the error.
func (s *Service) MakeSnapshots(ctx context.Context, p *memory.SnapshotProcessor, users memory.Users, all bool) (*SnapshotReport, error) {
	generator, err := s.parts.Snapshots()
	if err != nil {
		return &SnapshotReport{}, err
	}
	meter := &meteredLLM{}
	mine := *p // others use it at the same time
	if generator != nil {
		meter.Provider = generator.LLM
		generator.LLM, generator.Clock = meter, p.Clock
		mine.Generator = generator
	}
	report, err := mine.Run(ctx, users, all)
	return &SnapshotReport{report, meter.usage}, err
}

// meteredLLM counts a model's usage.
type meteredLLM struct {
	llm.Provider
	mu    sync.Mutex
	usage llm.Usage
}

// Chat counts the usage of the answers.
func (m *meteredLLM) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for delta, err := range m.Provider.Chat(ctx, req) {
			if delta.Usage != nil {
				m.mu.Lock()
				m.usage.Add(*delta.Usage)
				m.mu.Unlock()
			}
			if !yield(delta, err) {
				return
			}
		}
	}
}

// Drain is how long the end of a run may take to make the snapshots that are due; 0 makes
// none.
type Drain time.Duration

// drainAlone limits that time if no model has to be waited for: after a large import there are thousands of
// snapshots, and none is in a hurry.
const drainAlone = time.Second

// drainSnapshots makes the snapshots that are due. A later call makes those that are left over or failed.
func (s *Service) drainSnapshots(ctx context.Context, p *memory.SnapshotProcessor, limit Drain) []Note {
	if limit == 0 {
		return nil
	}
	generator, err := s.parts.Snapshots()
	if err == nil && generator == nil && p.Embeddings == nil {
		limit = min(limit, Drain(drainAlone))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(limit))
	defer cancel()
	report, err := s.MakeSnapshots(ctx, p, memory.AllUsers(), false)
	var notes []Note
	if !report.IsEmpty() {
		notes = append(notes, Note{Text: wording.Say("made %s", report.Text())})
	}
	if ctx.Err() != nil {
		notes = append(notes, Note{Level: LevelNote, Text: wording.Say("some snapshots are still to be made: a later run does it, or scheduler memory snapshot run")})
	} else if err != nil {
		notes = append(notes, newWarning("no snapshots were made: %v", err))
	}
	for _, warning := range report.Warnings {
		notes = append(notes, newWarning("%s", warning))
	}
	return notes
}

// KeepSnapshots makes the snapshots that are due every interval, until ctx ends: the background work of a process
// that runs many flows. tell receives failures, which are tried again, and faults of the model's answers.
func (s *Service) KeepSnapshots(ctx context.Context, interval time.Duration, tell func(problem error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p := s.memories.Opened()
		if p == nil {
			continue // no run has remembered anything
		}
		report, err := s.MakeSnapshots(ctx, p, memory.AllUsers(), false)
		for _, warning := range report.Warnings {
			tell(wording.Errorf("%s", warning))
		}
		if err != nil && ctx.Err() == nil {
			tell(err)
		}
	}
}
