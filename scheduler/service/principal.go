package service

import (
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Principal is whom a use case is carried out for: a server makes one for each request of
// what its token says. The zero value is the person at the command line, who may do
// everything. It is only data.
type Principal struct {
	// User is the owner of the runs that begin; "" leaves them without one.
	User string
	// Bound is true where runs of others do not exist for the principal, and its own must
	// not reach the memory of others.
	Bound bool
}

// Owner returns the owner of the principal's runs.
func (p Principal) Owner() scheduler.Owner { return scheduler.Owner{User: p.User, Bound: p.Bound} }

// CanSee reports whether a run exists for the principal.
func (p Principal) CanSee(run *journal.RunInfo) bool {
	return !p.Bound || run.Labels[journal.LabelOwner] == p.User
}
