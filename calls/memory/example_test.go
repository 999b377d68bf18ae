package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

// A program opens a store, saves utterances, and searches them. No model is needed.
func Example() {
	ctx := context.Background()
	store, err := sqlmemory.OpenTemporary(ctx, sqlmemory.FileOptions{}) // or sqlmemory.OpenFile with a directory
	if err != nil {
		panic(err)
	}
	defer store.Close()
	processor := &memory.SnapshotProcessor{Store: store}

	when := time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)
	for _, text := range []string{"I like jasmine tea best.", "My sister lives in Oslo.", "The car is in the garage."} {
		_, err := processor.ProcessMemory(ctx, memory.BaseMemory{
			Content: text, Timestamp: when, Context: memory.Context{UserID: "lin"},
		})
		if err != nil {
			panic(err)
		}
	}

	found, err := processor.GetRelevantMemories(ctx, &memory.Query{
		Users: memory.User("lin"), Text: "Which tea do I like?", Now: when, MinRelevance: memory.DefaultMinRelevance,
	})
	if err != nil {
		panic(err)
	}
	for _, m := range found.Memories {
		fmt.Println(m.Memory.Content)
		fmt.Println(m.Reason)
	}
	// Output:
	// I like jasmine tea best.
	// matches “like”, “tea”
}

// Snapshots summarize memories. Without a model they consist of sentences of the
// memories; with one, set SnapshotProcessor.Generator.
func ExampleSnapshotProcessor_Run() {
	ctx := context.Background()
	store, err := sqlmemory.OpenTemporary(ctx, sqlmemory.FileOptions{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	processor := &memory.SnapshotProcessor{Store: store}
	m := memory.BaseMemory{Content: "The meeting moved to Monday.", Context: memory.Context{UserID: "lin", SessionID: "work"}}
	if _, err := processor.ProcessMemory(ctx, m); err != nil {
		panic(err)
	}

	report, err := processor.Run(ctx, memory.User("lin"), true)
	if err != nil {
		panic(err)
	}
	snapshot, err := store.LoadSnapshot(ctx, report.Snapshots[0])
	if err != nil {
		panic(err)
	}
	fmt.Println(snapshot.KeyPoints)
	// Output: [The meeting moved to Monday.]
}
