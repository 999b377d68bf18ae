package service

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// StartRequest is a run that shall begin.
type StartRequest struct {
	Flow *flow.Flow
	// Inputs are those that [CheckInputs] returned.
	Inputs value.Value
	// Provider is the name of a model provider; "" is the choice of the flow and the settings.
	Provider string
	// Mode says what becomes of cassettes, as the setting llm.mode does; "" is the setting.
	Mode string
	// Now is the fixed time of the run's clock; zero is the clock of the machine.
	Now time.Time
	// Seed seeds the random numbers of the run; 0 is its id.
	Seed uint64
	// Ephemeral leaves no record behind; the memory of the run is empty at the beginning and
	// gone at the end.
	Ephemeral bool
	// Interactive is true where somebody is there to give an ephemeral run what it waits
	// for.
	Interactive bool
}

// runOptions are kept with a run, so that it goes on as it began.
type runOptions struct {
	LLM      string `json:"llm"`
	Mode     string `json:"mode,omitempty"`
	Seed     int64  `json:"seed"`
	Language string `json:"language"`
	// Dir is the working directory, where relative paths of plugins start.
	Dir string `json:"dir,omitempty"`
}

// Start prepares a run: [Session.Events] begins it.
func (s *Service) Start(ctx context.Context, r StartRequest) (*Session, []Note, error) {
	options := ExecutorOptions{Provider: r.Provider, Mode: r.Mode, Now: r.Now}
	e, notes, err := s.parts.Executor(r.Flow, options)
	if err != nil {
		return nil, notes, err
	}
	e.Seed, e.Language = r.Seed, s.parts.Languages().Default
	if r.Seed != 0 && r.Ephemeral { // a run without a record can be repeated to the letter
		id := uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%d %s %s", r.Seed, r.Now.Format(time.RFC3339Nano), r.Inputs)).String()
		e.NewRunID = func() string { return id }
		if !r.Now.IsZero() {
			e.Stopwatch = e.Env.Clock
		}
	}
	dir := s.parts.Dir
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			dir = "" // a directory that was removed
		}
	}
	e.Options = value.Must(runOptions{LLM: r.Provider, Mode: r.Mode, Seed: int64(r.Seed), Language: e.Language, Dir: dir})
	if !r.Ephemeral {
		if e.Journal, err = s.journal(ctx, true); err != nil {
			return nil, notes, err
		}
	} else if r.Interactive {
		e.Journal = s.parts.EphemeralJournal()
	}
	session := s.newSession(e, r.Flow, r.Ephemeral, r.Now)
	session.begin = e.Run(ctx, r.Flow, r.Inputs)
	return session, notes, nil
}
