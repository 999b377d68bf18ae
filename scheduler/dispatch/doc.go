// Package dispatch carries runs out in the background of a server: it begins them while slots are free, queues the
// others durably, lets any number of readers follow them, and continues the runs that other processes left. It
// knows no HTTP: a [Dispatcher] is built on the use cases of a [service.Service].
//
// The files:
//
//   - dispatcher.go: the [Dispatcher]; the runs that are known here, and their way from the first event to the last
//   - requests.go: the requests of clients: start, resume, cancel
//   - slots.go: slots for runs at work; users take turns
//   - hub.go, follow.go, frame.go: readers of runs, the events that are kept for them, an event as readers get it
//   - recover.go, tries.go: runs that other processes left, and the counts of their vain continuations; approvals whose time is over
//   - machines.go: runs that other machines carry out, for example workers of a Temporal server
//   - queue/: which runs wait for a process, and why
//
// The life of a run that is queued, for example the ninth of a server with max_runs: 8:
//
//  1. [Dispatcher.Start] finds no free slot. It reserves a place in the queue, or refuses the run with [ErrQueueFull].
//  2. The run is recorded in the journal without an event. From here on a restart of the process does not lose it: recovery
//     queues it again, here or in another process that shares the journal.
//  3. Its turn comes when a run ends: the users take turns, each with the run that has waited longest. A run that is
//     cancelled before leaves the queue.
//  4. The dispatcher reads the flow from the journal and continues the run, as if it had been interrupted. A run
//     that another process has taken meanwhile is left alone. If this process lacks something, such as a plugin,
//     the run is left to other processes.
//  5. Each event is durable first, then shown to the readers.
//  6. With the last event the run is not known here any more, its slot is free, and the next run is admitted. A run that
//     waits for a person is over in this sense, too: an answer resumes it through [Dispatcher.Resume].
//  7. If the process ends before, [Dispatcher.Close] hands the run over; after kill -9 the lease ends, and
//     recovery of the next process continues it. A run that ends its processes again and again pauses, and fails
//     after a day.
package dispatch
