// Package journaltest is the conformance suite of journals. For example, it checks that a journal refuses an event
// whose number leaves a gap.
package journaltest

import "testing"

// Run checks the requirements for every journal. newStore returns the Open of an empty store.
func Run(t *testing.T, newStore func(t *testing.T) Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"a run is kept as it was", testRoundTrip},
		{"the state follows from the events", testStates},
		{"the summary follows from the events", testSummary},
		{"events have no gaps", testSeq},
		{"a failed write closes the log", testFailedWrite},
		{"big payloads come back", testBigPayloads},
		{"what looks like a reference is none", testLookalikes},
		{"images are not shown", testImages},
		{"deep values", testDeep},
		{"events from a seq on", testEventsFrom},
		{"runs are listed", testRuns},
		{"runs are found by labels, flow and time", testFilter},
		{"a run is followed", testFollow},
		{"subscribing", testSubscribe},
		{"a journal has a name", testID},
		{"unknown runs", testUnknown},
		{"only one holds a run", testHeld},
		{"a run is not taken from a process that is alive", testReleaseAlive},
		{"going on with a run", testReopen},
		{"another text of the flow", testRevise},
		{"cancelling a run that is held", testCancelHeld},
		{"cancelling a run whose holder goes", testCancelLetGo},
		{"cancelling a run that no process holds", testCancelFree},
		{"pruning", testPrune},
		{"pruning leaves what runs", testPruneForce},
		{"pruning leaves what others wait for", testPruneChildren},
		{"many runs at once", testConcurrent},
		{"contexts", testContexts},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newBench(t, newStore(t))) })
	}
}

// RunShared checks the further requirements for a journal that several processes share.
func RunShared(t *testing.T, newStore func(t *testing.T) Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"the lease of a dead process runs out", testDeadHolder},
		{"a run is taken from its holder", testRelease},
		{"a late holder may go on", testLateHolder},
		{"cancelling stops a late holder", testCancelLate},
		{"a request to cancel outlives the holder", testCancelUnheeded},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newBench(t, newStore(t))) })
	}
}
