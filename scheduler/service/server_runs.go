package service

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// The parts of a server that begin runs: the values of the label [journal.LabelOrigin].
const (
	StartedByAPI     = "api"
	StartedByOpenAI  = "openai"
	StartedByMCP     = "mcp"
	StartedByTrigger = "trigger"
)

// IsServerRun reports whether a server began a run: a [Dispatcher] recovers it by itself.
func IsServerRun(info *journal.RunInfo) bool {
	return slices.Contains([]string{StartedByAPI, StartedByOpenAI, StartedByMCP, "server", StartedByTrigger}, info.Labels[journal.LabelOrigin])
}

// NewRunID returns the id of a new run.
func NewRunID() string { return uuid.Must(uuid.NewV7()).String() }

// ResumeWith is the data with which a run continues: nothing, answers, or an edited flow.
type ResumeWith struct {
	Answers []scheduler.Answer
	Flow    *flow.Flow
	// Wait is how long the run may wait for a slot.
	Wait time.Duration
}

// SlotWait limits how long a request waits for a slot for its run, if it waits.
const SlotWait = 10 * time.Second
