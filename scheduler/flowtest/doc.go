// Package flowtest runs the test files of flows, which package suite has read: [Run] runs every case, alone in a world of
// its own, and returns what its checks found.
//
// # A case
//
// A case runs once for each repeat, until no further repeat can change its verdict (case.go). Each repeat has an
// executor, a store of memories, a journal and a clock of its own (attempt.go), so that cases may run side by side and in any
// order. What a run would do to the world is denied, unless the case mocks or allows it (intercept.go). Its models play the
// takes of cassettes, which all cases of a file share (models.go), or a script. When the run has ended, or has
// stopped at the step that the case names, what it left becomes the evidence of its checks (evidence.go).
//
// # Outcomes
//
// A repeat passes, fails, or is an error: a take that is missing, a call that is denied, a run that failed where no check
// looks at that. An error is never a pass and never a fail, whatever the call that met it made of it.
//
// Two runs of the same files give the same results to the byte, as long as no model is asked.
package flowtest
