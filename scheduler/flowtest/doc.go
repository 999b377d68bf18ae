// Package flowtest runs test files of flows, which package suite has read: [Run] runs every case, alone in a world
// of its own, and returns the results of its checks. For example, a.test.yaml tests the flow a.yaml beside it.
//
// # A case
//
// A case runs once for each repeat, until no further repeat can change its verdict (case.go). Each repeat has an
// executor, a store of memories, a journal and a clock of its own (attempt.go), so that cases may run side by side
// and in any order. Effects on the world are denied, unless the case mocks or allows them (intercept.go): for
// example, a step that sends a request gets an error. Its models play the takes of cassettes, which all cases of a
// file share (models.go), or a script. When the run has ended, or has stopped at the step that the case names, its
// record becomes the evidence of its checks (evidence.go).
//
// # Outcomes
//
// A repeat passes, fails, or is an error. Errors are, for example, a missing take, a denied call, or a failed run
// whose failure no check looks at. An error is never a pass and never a fail, even if the call that met it
// swallowed it.
//
// Two runs of the same files give the same results to the byte, as long as no model is asked.
package flowtest
