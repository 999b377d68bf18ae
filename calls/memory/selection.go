package memory

import (
	"time"

	"github.com/callnode/scheduler/calls"
)

// Users selects users: [User] or [AllUsers]. The zero value is refused, so that a mistake does not read or delete
// the memories of all users. It is a value and does not change.
type Users struct {
	name      string
	said, all bool
}

// User selects the memories of one user; "" is a user like others.
func User(name string) Users { return Users{name: name, said: true} }

// AllUsers selects the memories of all users.
func AllUsers() Users { return Users{said: true, all: true} }

// One returns the user if a single one is selected.
func (u Users) One() (name string, ok bool) { return u.name, u.said && !u.all }

// Check returns an [*calls.Error] of kind Invalid for the zero value.
func (u Users) Check() error {
	if !u.said {
		return calls.Errorf(calls.Invalid, "no user is given").
			WithHint("give a user, or all_users for the memories of everybody")
	}
	return CheckUser(u.name)
}

// Has reports whether a user is selected.
func (u Users) Has(user string) bool { return u.said && (u.all || u.name == user) }

// Selection selects memories. All fields that are set must match.
type Selection struct {
	Users Users
	// ID selects one memory, or one snapshot.
	ID string
	// Session selects one session, if HasSession is set.
	Session    string
	HasSession bool
	// Before and Since bound the timestamp: < Before, >= Since.
	Before, Since time.Time
	// Utterances selects memories with a chat role.
	Utterances bool
	// Newest limits the result to the newest memories of a user, oldest first; 0 sets no limit.
	Newest int
	// Category selects snapshots, regardless of case.
	Category string
	// DryRun makes Delete count only.
	DryRun bool
	// KeepSnapshots makes Delete keep snapshots whose last memory is deleted.
	KeepSnapshots bool
	// Progress gets the number of users that Delete has finished; it may be nil.
	Progress Progress
}

// Matches reports whether the selection has a memory. Newest is ignored.
func (s *Selection) Matches(m *BaseMemory) bool {
	hasID := s.ID == "" || s.ID == m.ID
	inSession := !s.HasSession || s.Session == m.Context.SessionID
	beforeEnd := s.Before.IsZero() || m.Timestamp.Before(s.Before)
	afterStart := s.Since.IsZero() || !m.Timestamp.Before(s.Since)
	hasRole := !s.Utterances || m.Role() != ""
	return s.Users.Has(m.Context.UserID) &&
		hasID && inSession &&
		beforeEnd && afterStart && hasRole
}

// IsEverything reports whether the selection is everything that its users have. That is more than memories:
// deleting it leaves nothing of them, not even snapshots whose memories are deleted.
func (s *Selection) IsEverything() bool {
	rest := *s
	rest.Users, rest.DryRun, rest.Progress = Users{}, false, nil
	return rest == Selection{}
}

// Progress shows how far a long operation is, and is called from one goroutine.
type Progress interface{ Show(done, of int) }
