package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/calls/memory/sqlite"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler"
)

// openMemory opens the memory of the state directory, or makes it. A nil clock is
// the machine's.
func (a *app) openMemory(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error) {
	store, err := sqlite.Open(ctx, a.config.StateDir, sqlite.Options{Clock: clock, Log: terminal.NewWarningLog(a.Stderr)})
	if err != nil {
		return nil, exitError{exitFailed, err}
	}
	p := a.processor(store, clock)
	if dir := a.config.Memory.Mirror; dir != "" {
		mirror, err := archive.NewMirror(ctx, store, dir, p.Log)
		if err != nil {
			return nil, errors.Join(exitError{exitFailed, err}, store.Close())
		}
		p.Store = mirror
	}
	return p, nil
}

// processor is what uses a store, as the settings say.
func (a *app) processor(store memory.Store, clock func() time.Time) *memory.SnapshotProcessor {
	c := &a.config.Memory.Snapshot
	return &memory.SnapshotProcessor{
		Store: store, Clock: clock,
		Log:      terminal.NewWarningLog(a.Stderr),
		Memories: c.Memories, Idle: time.Duration(c.Idle), Snapshots: c.Snapshots, Embeddings: a.embeddings(),
	}
}

// meteredLLM counts what a model is paid for.
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

// makeSnapshots makes the snapshots that are due, or all with anything new, by the
// model of the settings.
func (a *app) makeSnapshots(ctx context.Context, p *memory.SnapshotProcessor, users memory.Users, all bool) (memory.Report, llm.Usage, error) {
	meter := &meteredLLM{}
	if c := a.config.Memory.Snapshot; c.LLM != "" && p.Generator == nil {
		provider, err := a.openProvider(c.LLM)
		if err != nil {
			return memory.Report{}, llm.Usage{}, err
		}
		meter.Provider = provider
		p.Generator = &memory.SnapshotGenerator{LLM: meter, Model: c.Model, Language: a.config.DefaultLanguage(), Clock: p.Clock}
		if a.config.Languages != "" {
			p.Generator.Languages = os.DirFS(a.config.Languages)
		}
	}
	report, err := p.Run(ctx, users, all)
	return report, meter.usage, err
}

// snapshotsMade says in words what was made; "" for nothing.
func snapshotsMade(r *memory.Report, usage llm.Usage) string {
	var parts []string
	if n := len(r.Snapshots); n > 0 {
		parts = append(parts, terminal.Count(n, "snapshot"))
	}
	if n := len(r.MetaSnapshots); n > 0 {
		parts = append(parts, terminal.Count(n, "meta snapshot"))
	}
	if r.Embedded > 0 {
		parts = append(parts, terminal.Count(r.Embedded, "vector"))
	}
	text := strings.Join(parts, ", ")
	if usage.Total() > 0 {
		text += fmt.Sprintf(" (%d tokens in, %d out)", usage.InputTokens, usage.OutputTokens)
	}
	return text
}

// lazyMemory is the memory of the state directory, or with ephemeral one that done
// removes. It is opened when it is needed; done closes it.
func (a *app) lazyMemory(clock func() time.Time, ephemeral bool) (lazy *memory.Lazy, done func()) {
	lazy = memory.NewLazy(func(ctx context.Context) (*memory.SnapshotProcessor, error) {
		if ephemeral {
			store, err := sqlite.OpenTemporary(ctx, sqlite.Options{Clock: clock})
			if err != nil {
				return nil, exitError{exitFailed, err}
			}
			return a.processor(store, clock), nil
		}
		return a.openMemory(ctx, clock)
	})
	return lazy, func() {
		if p := lazy.Opened(); p != nil {
			if err := p.Store.Close(); err != nil {
				fmt.Fprintf(a.Stderr, "warning: %v\n", err)
			}
		}
	}
}

// useMemory gives a run its memory. done ends it: what is due is made, as long as the
// settings allow.
func (a *app) useMemory(ctx context.Context, e *scheduler.StepExecutor, ephemeral bool) (done func()) {
	lazy, closeMemory := a.lazyMemory(e.Env.Clock, ephemeral)
	e.Env.Memory = lazy
	return func() {
		defer closeMemory()
		if p := lazy.Opened(); p != nil && !ephemeral && ctx.Err() == nil {
			a.drain(ctx, p)
		}
	}
}

// drainAlone is how long a run that is over goes on without a model to wait for.
const drainAlone = time.Second

// drain makes the snapshots that are due at the end of a run. What is left over, or
// fails, is done by a later one.
func (a *app) drain(ctx context.Context, p *memory.SnapshotProcessor) {
	limit := time.Duration(a.config.Memory.Snapshot.Drain)
	if limit == 0 {
		return
	}
	if a.config.Memory.Snapshot.LLM == "" && p.Embeddings == nil { // after a large import there are thousands, and none is in a hurry
		limit = min(limit, drainAlone)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	report, usage, err := a.makeSnapshots(ctx, p, memory.AllUsers(), false)
	if text := snapshotsMade(&report, usage); text != "" {
		fmt.Fprintf(a.Stderr, "made %s\n", text)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(a.Stderr, "note: some snapshots are still to be made: a later run does it, or scheduler memory snapshot run")
	case err != nil:
		fmt.Fprintf(a.Stderr, "warning: no snapshots were made: %v\n", err)
	}
}
