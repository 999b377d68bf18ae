package memory

import (
	"context"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// MemoryStorage keeps memories and snapshots. What a method has returned without an
// error survives the end of the process and of the machine.
type MemoryStorage interface {
	// SaveMemories stores all or none. A memory of a known id replaces that one, whose
	// old version goes to the history; the same one again changes nothing, not even its
	// time where none is given. A memory
	// without an id that says exactly what a stored one does, in the same context, is
	// taken for that one; utterances of a chat only if their time is the same too.
	// The id of another user's memory is refused.
	SaveMemories(ctx context.Context, memories []BaseMemory) ([]Saved, error)
	// LoadMemory gives nil where there is none, as the two below do.
	LoadMemory(ctx context.Context, id string) (*BaseMemory, error)
	// SaveSnapshot stores a snapshot of a user's memories, or replaces it. Memories
	// that are not there or another's are not linked, but the reference is kept.
	SaveSnapshot(ctx context.Context, user string, s MemorySnapshot) error
	LoadSnapshot(ctx context.Context, id string) (*MemorySnapshot, error)
	// SaveMetaSnapshot is to snapshots what SaveSnapshot is to memories.
	SaveMetaSnapshot(ctx context.Context, user string, s MetaSnapshot) error
	LoadMetaSnapshot(ctx context.Context, id string) (*MetaSnapshot, error)
	// Delete removes memories, also from the index and from the history. Snapshots that
	// were made of them are made anew from what is left, without a model, or go with
	// the last memory, and so do meta snapshots. Of a selection of all that a user has,
	// nothing is left. Of each user all that is selected goes or nothing; what is counted
	// is gone, also where there is an error.
	Delete(ctx context.Context, which Selection) (Deleted, error)
}

// Store is a memory storage that can be searched and that remembers which snapshots
// have to be made. It is safe for concurrent use.
type Store interface {
	MemoryStorage
	Lister
	Queue
	Vectors
	// Search finds the memories that matter for a query. Deterministic: the time of the
	// query is the present.
	Search(ctx context.Context, q *Query) (*Found, error)
	// Stats counts what is stored.
	Stats(ctx context.Context, users Users) (Stats, error)
	// Close lets go of the files. What was saved before is safe.
	Close() error
}

// Lister lists what a store keeps, in a stable order.
type Lister interface {
	// Memories gives memories user by user, in order of their time; those of the same
	// time in the order in which they were saved.
	Memories(ctx context.Context, which Selection) iter.Seq2[BaseMemory, error]
	// Snapshots and MetaSnapshots give snapshots in order of their ids. Of the
	// selection, only users, id and category count.
	Snapshots(ctx context.Context, which Selection) iter.Seq2[Owned[MemorySnapshot], error]
	MetaSnapshots(ctx context.Context, which Selection) iter.Seq2[Owned[MetaSnapshot], error]
	// History gives the old versions of a memory, the oldest first.
	History(ctx context.Context, id string) ([]BaseMemory, error)
}

// Owned is a snapshot and whose it is.
type Owned[T any] struct {
	User     string
	Snapshot T
}

// Queue hands out the snapshots that have to be made. Every process that uses the
// store may take part.
type Queue interface {
	// Claim gives a job that is due and reserves it for a while; nil: there is none.
	Claim(ctx context.Context, c Claim) (*Job, error)
	// Complete saves what a job has made and settles it, both or none.
	Complete(ctx context.Context, job *Job) error
	// Postpone gives a job back after a failure, to be tried at a later time.
	Postpone(ctx context.Context, job *Job, until time.Time) error
}

// Claim says which jobs are due.
type Claim struct {
	Now time.Time
	// Users narrows the jobs to those of one user.
	Users Users
	// Memories new ones in a session make a snapshot due, or Idle time without one;
	// Snapshots new ones in a category a meta snapshot.
	Memories, Snapshots int
	Idle                time.Duration
	// All takes every session and category with anything new.
	All bool
	// Lease is for how long the job is reserved.
	Lease time.Duration
}

// Job is a snapshot to be made: of memories, or of snapshots.
type Job struct {
	User, Session, Category string
	// Memories are those of a detail snapshot, Snapshots those of a meta snapshot.
	Memories  []BaseMemory
	Snapshots []MemorySnapshot
	// Attempts is how often it failed.
	Attempts int
	// Detail or Meta is the result; one of them is set before Complete.
	Detail *MemorySnapshot
	Meta   *MetaSnapshot
	// Token is the store's own.
	Token string
}

// MaxJob is how many memories or snapshots a job has at most.
const MaxJob = 32

// Due says whether a session (detail) or a category is due with so many new ones,
// the last of which came at that time.
func (c *Claim) Due(detail bool, n int, last time.Time) bool {
	switch {
	case n == 0:
		return false
	case c.All:
		return true
	case detail:
		return n >= c.Memories || !c.Now.Before(last.Add(c.Idle))
	}
	return n >= c.Snapshots
}

// Check puts the result of a job into the form in which it is stored, or refuses it.
func (j *Job) Check(now time.Time) error {
	switch {
	case j.Detail != nil:
		return j.Detail.Normalize(now)
	case j.Meta != nil:
		return j.Meta.Normalize(now)
	}
	return calls.Errorf(calls.Internal, "the job %q has no result", j.Token)
}

// Saved is what became of a memory.
type Saved struct {
	ID    string    `json:"id"`
	State SaveState `json:"state"`
}

// SaveState says what saving did.
type SaveState string

// What saving can do.
const (
	Created   SaveState = "created"
	Updated   SaveState = "updated"   // another version of the id; the old one is in the history
	Unchanged SaveState = "unchanged" // the id was there with the same content
	Merged    SaveState = "merged"    // the same was there under the id that is given
)

// Users says whose memories are meant. The zero value means nobody, and is refused.
type Users struct {
	name      string
	said, all bool
}

// User means the memories of one user; "" is a user like others.
func User(name string) Users { return Users{name: name, said: true} }

// AllUsers means everybody's memories.
func AllUsers() Users { return Users{said: true, all: true} }

// One is the user, if it is one.
func (u Users) One() (name string, ok bool) { return u.name, u.said && !u.all }

// Check is an [*calls.Error] of kind Invalid where nobody said whose memories are
// meant.
func (u Users) Check() error {
	if !u.said {
		return calls.Errorf(calls.Invalid, "it is not said whose memories are meant").
			WithHint("name a user, or say all_users")
	}
	return nil
}

// Has says whether a user is among them.
func (u Users) Has(user string) bool { return u.said && (u.all || u.name == user) }

// Selection picks memories. All that is set must hold.
type Selection struct {
	Users Users
	// ID is one memory, or one snapshot.
	ID string
	// Session is one session, where HasSession is set.
	Session    string
	HasSession bool
	// Before and Since bound the timestamp: < Before, >= Since.
	Before, Since time.Time
	// Utterances are memories with a chat role only.
	Utterances bool
	// Newest gives the newest so many of a user, oldest first; 0: all.
	Newest int
	// Category is that of snapshots, compared without case.
	Category string
	// DryRun counts what Delete would delete.
	DryRun bool
	// KeepSnapshots lets Delete keep snapshots whose last memory goes.
	KeepSnapshots bool
	// Progress may be told of how many users Delete has done; nil is nobody.
	Progress Progress
}

// Progress is shown to somebody who waits.
type Progress interface{ Show(done, of int) }

// Deleted counts what was deleted, or would be; Rewritten the snapshots that were
// made anew without what was deleted.
type Deleted struct {
	Memories      int `json:"memories"`
	Snapshots     int `json:"snapshots"`
	MetaSnapshots int `json:"meta_snapshots"`
	Rewritten     int `json:"rewritten"`
}

// Add counts others too.
func (d *Deleted) Add(o Deleted) {
	d.Memories += o.Memories
	d.Snapshots += o.Snapshots
	d.MetaSnapshots += o.MetaSnapshots
	d.Rewritten += o.Rewritten
}

// Stats counts what is stored.
type Stats struct {
	Users         int `json:"users"`
	Sessions      int `json:"sessions"`
	Memories      int `json:"memories"`
	Snapshots     int `json:"snapshots"`
	MetaSnapshots int `json:"meta_snapshots"`
	Versions      int `json:"old_versions"`
	Jobs          int `json:"jobs"`
	// Vectors counts those of the model in use, Unembedded the memories that wait for one.
	Vectors    int       `json:"vectors"`
	Unembedded int       `json:"unembedded"`
	Bytes      int64     `json:"bytes"`
	Oldest     time.Time `json:"oldest,omitzero"`
	Newest     time.Time `json:"newest,omitzero"`
}

// Query asks for memories.
type Query struct {
	Users Users
	// Text is the question, Earlier what the user said before it, the newest last.
	Text    string
	Earlier []string
	// Vector is the meaning of the query, where there are embeddings; nil searches by
	// words alone.
	Vector *QueryVector
	// Now is the present.
	Now time.Time
	// AsOf leaves out what happened after Now.
	AsOf bool
	// Session is where it is asked: its memories count a little more. OnlySession finds
	// no others.
	Session     string
	OnlySession bool
	// Before and Since bound the timestamp, where they are set.
	Before, Since time.Time
	// Other is the other context: memories that share members with it count a little
	// more.
	Other value.Value
	// Limit is how many are wanted at most, MinRelevance what their relevance must be
	// above; 0 leaves out none of them.
	Limit        int
	MinRelevance float64
}

// DefaultMinRelevance is the relevance above which a memory is worth showing.
const DefaultMinRelevance = 0.5

// DefaultLimit is how many memories are given where nobody says.
const DefaultLimit = 10

// Found is what a search found, best first.
type Found struct {
	Memories []Scored
	// Notes say what was not as it should be, such as embeddings that are not there.
	Notes []string
}

// Scored is a memory with how much it matters.
type Scored struct {
	Memory BaseMemory
	// Relevance is 0 to 1, the higher the better.
	Relevance float64
	// Reason says why, in the language of the query.
	Reason string
	// Snapshots are the ids of those that refer to the memory.
	Snapshots []string
}
