package service

import (
	"cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Principal is the user for whom a use case runs. The zero value is the person at the machine, who sees every run
// and reaches every memory. A server makes one for each request, from its token; it is a plain value.
type Principal struct {
	// User owns the started runs: run.user in templates, and the label owner. "" is no particular user.
	User string
	// Bound is true if the user must not access other users' data: their runs are not found, and their memory is
	// refused, also in runs that continue later.
	Bound bool
	// Name stands in the record of decisions, for example the name of a token; "" is operator.
	Name string
	// CannotApprove is set for a caller without the right to decide about approvals that an operator decides about.
	CannotApprove bool
}

// deciderOf returns the principal as one who answers a run of an owner.
func (p Principal) deciderOf(owner string) scheduler.Decider {
	d := scheduler.Decider{Name: cmp.Or(p.User, p.Name), IsOperator: !p.Bound && !p.CannotApprove}
	d.IsUser = p.User != "" && p.User == owner
	return d
}

// checkUser returns an error of kind Invalid if the user's name is not allowed.
func (p Principal) checkUser() error {
	if p.Bound && p.User == "" {
		return calls.Errorf(calls.Invalid, "a bound principal needs a user")
	}
	if !calls.IsValidText(p.User) {
		return calls.Errorf(calls.Invalid, "the user %q is not valid UTF-8", p.User)
	}
	return nil
}

// Owner returns the owner of the runs that the principal starts.
func (p Principal) Owner() scheduler.Owner { return scheduler.Owner{User: p.User, Bound: p.Bound} }

// CanSee reports whether a run exists for the principal.
func (p Principal) CanSee(run *journal.RunInfo) bool {
	isOwner := p.User != "" && run.Labels[journal.LabelOwner] == p.User
	return !p.Bound || isOwner
}

// resumedOwner returns the owner of a resumed run: the user who started it, bound as then, even if another user
// resumes it.
func (p Principal) resumedOwner(labels map[string]string, wasBound bool) scheduler.Owner {
	return scheduler.Owner{User: labels[journal.LabelOwner], Bound: wasBound || p.Bound}
}

// ownRuns narrows the labels that runs must have to the principal's own runs. ok is false if that leaves none.
func (p Principal) ownRuns(labels map[string]string) (own map[string]string, ok bool) {
	if !p.Bound {
		return labels, true
	}
	own = map[string]string{}
	for name, text := range labels {
		own[name] = text
	}
	asked, named := own[journal.LabelOwner]
	isOfOther := named && asked != p.User
	if p.User == "" || isOfOther {
		return nil, false
	}
	own[journal.LabelOwner] = p.User
	return own, true
}

// memoryOf returns the user whose memory a single call works in. The error is of kind Invalid if that is another
// user's.
func (p Principal) memoryOf(user string) (string, error) {
	if !p.Bound || user == p.User {
		return user, nil
	}
	if user == "" {
		return p.User, nil
	}
	return "", calls.Errorf(calls.Invalid, "the memory of %q is not open to the user %q", user, p.User)
}
