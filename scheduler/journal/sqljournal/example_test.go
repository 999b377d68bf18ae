package sqljournal_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

// A run is recorded, its process ends, and another one finds out which steps are left.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	j, err := sqljournal.OpenFile(ctx, dir, sqljournal.FileOptions{})
	if err != nil {
		panic(err)
	}
	defer j.Close()

	log, err := j.Begin(ctx, &journal.RunHeader{ID: "r1", Flow: "weather", StartedAt: time.Now()})
	if err != nil {
		panic(err)
	}
	output := value.OfMap(value.Pairs("text", "It rains."))
	err = log.Append(ctx,
		&journal.Event{Seq: 1, Run: "r1", Type: journal.FlowStarted},
		&journal.Event{Seq: 2, Run: "r1", Type: journal.StepFinished, Step: "recall", Data: &journal.Data{Output: &output}},
		&journal.Event{Seq: 3, Run: "r1", Type: journal.StepStarted, Step: "answer", Data: &journal.Data{Call: "chat"}},
	)
	if err != nil {
		panic(err)
	}
	if err := log.Close(); err != nil {
		panic(err)
	}

	log, err = j.Reopen(ctx, "r1")
	if err != nil {
		panic(err)
	}
	defer log.Close()
	state, err := journal.Fold(log.Events(ctx, 1))
	if err != nil {
		panic(err)
	}
	fmt.Println(state.State, "up to event", state.LastSeq)
	for _, step := range state.Steps {
		fmt.Println(step.ID, step.State, step.Output)
	}
	// Output:
	// running up to event 3
	// recall finished {"text":"It rains."}
	// answer running null
}
