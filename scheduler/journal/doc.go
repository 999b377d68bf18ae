// Package journal is the contract of the record of runs. Everything that happens in a run is an [Event], for
// example that a step has finished; a [Journal] stores the events in order, and a [RunState] is a run rebuilt from
// them ([Fold]). The engine writes and resumes through a [RunLog], which it holds by a lease; the command line and
// others read runs through a [RunReader].
//
// The backends are in the packages below: sqljournal, in a SQLite file that several processes share or a
// Postgres database that several machines share, and memory. journaltest is the conformance suite of any
// backend; transfer copies runs from one to another.
package journal
