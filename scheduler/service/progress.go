package service

import (
	"strings"
	"sync"

	"github.com/callnode/scheduler/scheduler/journal"
)

// Progress is the progress of a run, for lists. Service.Progress makes it; it does not change.
type Progress struct {
	Done   int      `json:"done" doc:"How many steps of the flow are over."`
	Total  int      `json:"total" doc:"How many steps the flow has, as far as it is known."`
	Tokens int      `json:"tokens" doc:"What models have read and written."`
	Needs  []string `json:"needs,omitempty" doc:"What the run waits for: steps with JSON pointers, place/city."`
	Asks   string   `json:"asks,omitempty" doc:"The question of the run that waits, in words."`
}

// maxProgress bounds the runs whose progress is kept.
const maxProgress = 10000

// progressCache keeps the progress of runs up to their last event. A Service has one for
// its life; it is safe for concurrent use.
type progressCache struct {
	mu    sync.Mutex // guards byRun
	byRun map[string]knownProgress
}

type knownProgress struct {
	seq      int64
	progress *Progress
}

func (c *progressCache) get(info *journal.RunInfo) *Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.byRun[info.ID]; ok && known.seq == info.LastSeq {
		return known.progress
	}
	return nil
}

func (c *progressCache) put(info *journal.RunInfo, p *Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRun == nil || len(c.byRun) >= maxProgress {
		c.byRun = map[string]knownProgress{}
	}
	c.byRun[info.ID] = knownProgress{info.LastSeq, p}
}

func progressOf(state *journal.RunState) *Progress {
	p := &Progress{Tokens: state.Usage.Total()}
	for _, st := range state.Steps {
		if strings.ContainsAny(st.ID, "/[") {
			continue // it runs inside another step
		}
		p.Total++
		switch st.State { //nolint:exhaustive // the others are not over
		case journal.StepStatusFinished, journal.StepStatusSkipped, journal.StepStatusFailed, journal.StepStatusCancelled:
			p.Done++
		}
	}
	if len(state.Waiting) > 0 {
		p.Asks = state.Waiting[0].Question
	}
	for _, w := range state.Waiting {
		required, _ := w.RemainingSchema.Get("required")
		for _, pointer := range required.List() {
			name, _ := pointer.Str()
			p.Needs = append(p.Needs, w.Step+"/"+strings.TrimPrefix(name, "/"))
		}
	}
	return p
}
