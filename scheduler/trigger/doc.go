// Package trigger interprets what starts runs from outside: schedules, when they fire and
// how a fire is named, and webhooks, how their requests prove who sent them. It knows no
// flow, no store and no HTTP server: package scheduler/flow reads the data and asks it what
// is wrong, package scheduler/server/triggers acts on it.
package trigger
