// Package trigger interprets outside starts of runs: schedules, with their fires and the names of fires, and
// webhooks, with the proof of a request's sender. For example, the schedule "0 9 * * *" in Europe/Berlin fires at
// 9 o'clock in summer and winter. It knows no flow, no store and no HTTP server: package scheduler/flow reads the
// data and asks it for errors, package scheduler/server/triggers acts on it.
package trigger
