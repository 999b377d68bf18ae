package memory

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Store keeps memories and snapshots, searches them, and remembers which snapshots and vectors are still to be
// made. A program opens one and closes it at its end; it is safe for concurrent use. Users of a store should ask
// only for the role they need, for example a [Loader].
type Store interface {
	MemoryStorage
	Searcher
	Lister
	Historian
	JobQueue
	Vectors
	FactKeeper
	// Stats counts the stored memories, snapshots and jobs.
	Stats(ctx context.Context, users Users) (Stats, error)
	// Close closes the files. Everything saved before is safe.
	Close() error
}

// MemoryStorage saves, loads and deletes. The methods have the names of the documents in Go's way: save_memory is
// [Saver].SaveMemories, save_snapshot SaveSnapshot, save_meta_snapshot SaveMetaSnapshot; load_memory,
// load_snapshot and load_meta_snapshot are in [Loader]; cleanup_old_memories is [CleanupOldMemories]. If a method
// returns without an error, its changes survive the end of the process and of the machine. Like all roles of a
// [Store] it is safe for concurrent use.
type MemoryStorage interface {
	Saver
	Loader
	Deleter
}

// Saver saves memories and snapshots.
type Saver interface {
	// SaveMemories saves all or none. A memory with a known id replaces the stored one, whose old version goes to
	// the history; saving the same one again changes nothing, not even its time if none is given. A memory without
	// an id that equals a stored one, context included, counts as that one; utterances of a chat only if their
	// time is equal too. The id of another user's memory is refused.
	SaveMemories(ctx context.Context, memories []BaseMemory) ([]Saved, error)
	// SaveSnapshot saves or replaces a snapshot of a user's memories. References to missing memories and to other
	// users' memories are kept, but not followed.
	SaveSnapshot(ctx context.Context, user string, s MemorySnapshot) error
	// SaveMetaSnapshot saves or replaces a meta snapshot, as SaveSnapshot does a snapshot.
	SaveMetaSnapshot(ctx context.Context, user string, s MetaSnapshot) error
}

// Loader loads by id. Its methods return nil if the id is unknown.
type Loader interface {
	LoadMemory(ctx context.Context, id string) (*BaseMemory, error)
	LoadSnapshot(ctx context.Context, id string) (*MemorySnapshot, error)
	LoadMetaSnapshot(ctx context.Context, id string) (*MetaSnapshot, error)
}

// Deleter deletes memories.
type Deleter interface {
	// Delete deletes memories, also from the index and from the history. Snapshots made of them are rewritten from
	// the rest, without a model, or deleted with their last memory, and so are meta snapshots. A selection of
	// everything that a user has leaves nothing behind. The selected memories of one user are deleted all or none;
	// the result counts the deletions, also if there is an error.
	Delete(ctx context.Context, which Selection) (Deleted, error)
}

// Searcher searches memories.
type Searcher interface {
	// Search returns the memories that matter for a query, the best first. It is
	// deterministic: the time of the query is the present.
	Search(ctx context.Context, q *Query) (*Found, error)
}

// Lister lists the contents of a store, in a stable order.
type Lister interface {
	// Memories lists memories user by user, in the order of their time; memories of the same time in the order in
	// which they were saved.
	Memories(ctx context.Context, which Selection) iter.Seq2[BaseMemory, error]
	// Snapshots and MetaSnapshots list snapshots in the order of their ids. Of the
	// selection, only users, id and category count.
	Snapshots(ctx context.Context, which Selection) iter.Seq2[Owned[MemorySnapshot], error]
	MetaSnapshots(ctx context.Context, which Selection) iter.Seq2[Owned[MetaSnapshot], error]
}

// Historian keeps the old versions of memories.
type Historian interface {
	// History returns the old versions of a memory, the oldest first.
	History(ctx context.Context, id string) ([]BaseMemory, error)
}

// FactKeeper returns the facts that memories state.
type FactKeeper interface {
	// Facts returns the facts that a user's memories state, in the timelines of a time: facts that begin later are
	// left out.
	Facts(ctx context.Context, user string, now time.Time) (*StatedFacts, error)
	// RebuildFacts drops the facts of users and reads them again. It does nothing if facts are off.
	RebuildFacts(ctx context.Context, users Users) error
}

// StatedFacts are the facts that a user's memories state.
type StatedFacts struct {
	Timelines []facts.Timeline
	// Aliases are the names that mean the same subject.
	Aliases []facts.Alias
	// IDs are the ids of the memories, by the Seq of a fact.
	IDs map[uint32]string
}

// Vectors keeps the vectors of memories. Once a model is in use, every new memory and
// every one whose text changes waits for a vector, from the commit that saves it on. It is
// a role of a [Store], and as safe for concurrent use.
type Vectors interface {
	ModelKeeper
	EmbeddingQueue
}

// ModelKeeper remembers the model whose vectors are in use.
type ModelKeeper interface {
	// UseModel makes a model the current one. Memories without a vector of that model wait for one.
	UseModel(ctx context.Context, m Model) error
	// Model returns the current model; its name is "" if no model is in use.
	Model(ctx context.Context) (Model, error)
}

// EmbeddingQueue hands out the memories that wait for a vector. Every process that uses the
// store may take part, with as many goroutines as it likes.
type EmbeddingQueue interface {
	// Unembedded returns at most n memories that wait, and reserves them for a while. Of
	// the claim, Now, Users and Lease count.
	Unembedded(ctx context.Context, c Claim, n int) ([]Embedding, error)
	// SaveEmbeddings stores vectors of that model. Vectors of memories that were deleted or
	// changed since, or of another model than the current one, are dropped.
	SaveEmbeddings(ctx context.Context, model string, list []Embedding) error
	// PostponeEmbeddings makes memories wait until a later time, with their attempts.
	PostponeEmbeddings(ctx context.Context, list []Embedding, until time.Time) error
}

// Owned is a snapshot and the user to whom it belongs.
type Owned[T any] struct {
	User     string
	Snapshot T
}

// ErrStale is the error of [JobQueue.Complete] for a result that is not kept.
var ErrStale = wording.Errorf("a snapshot was not kept: what it is of has changed meanwhile, or another process has made it")

// JobQueue hands out the snapshots that are to be made. Every process that uses the store
// may take part, with as many goroutines as it likes.
type JobQueue interface {
	// Claim returns a job that is due and reserves it for a while; nil if none is due.
	Claim(ctx context.Context, c Claim) (*Job, error)
	// Complete saves the result of a job and ends the job, both or none. It returns [ErrStale] if the reservation
	// has ended or some of the job's subject is deleted: the result is dropped, and the job is due again.
	Complete(ctx context.Context, job *Job) error
	// Postpone returns a job after a failure, to be tried again at a later time.
	Postpone(ctx context.Context, job *Job, until time.Time) error
}

// Claim selects the jobs that are due.
type Claim struct {
	Now time.Time
	// Users limits the jobs to the jobs of one user.
	Users Users
	// A snapshot is due after Memories new ones in a session, or Idle time after the last; a meta snapshot after
	// Snapshots new ones in a category.
	Memories, Snapshots int
	Idle                time.Duration
	// All makes every session and category with anything new due.
	All bool
	// Lease is how long the job stays reserved.
	Lease time.Duration
}

// Job is a snapshot to be made of memories, or a meta snapshot of snapshots. It belongs to the worker that claimed
// it, until the worker completes or postpones it, or its lease ends.
type Job struct {
	User, Session, Category string
	// Memories are the memories of a detail snapshot, Snapshots the snapshots of a meta snapshot.
	Memories  []BaseMemory
	Snapshots []MemorySnapshot
	// Attempts counts the failures so far.
	Attempts int
	// Detail or Meta is the result; one of them is set before Complete.
	Detail *MemorySnapshot
	Meta   *MetaSnapshot
	// Token belongs to the store.
	Token string
}

// How jobs are tried again.
const (
	lease       = 5 * time.Minute
	firstWait   = 30 * time.Second
	longestWait = time.Hour
	// maxAttempts is the number of failures of the model after which a job is done without
	// it.
	maxAttempts = 5
)

// MaxJob is the maximum number of memories or snapshots in a job.
const MaxJob = 32

// Saved is the result of saving a memory.
type Saved struct {
	ID    string    `json:"id"`
	State SaveState `json:"state"`
}

// SaveState is the outcome of saving a memory.
type SaveState string

// The results of saving a memory.
const (
	Created   SaveState = "created"
	Updated   SaveState = "updated"   // the id existed; the old version is in the history
	Unchanged SaveState = "unchanged" // the id existed with the same content
	Merged    SaveState = "merged"    // an equal memory existed, under the returned id
)

// Deleted counts deletions, or in a dry run the deletions that would be made. Rewritten counts the snapshots that
// were rewritten without the deleted memories.
type Deleted struct {
	Memories      int `json:"memories"`
	Snapshots     int `json:"snapshots"`
	MetaSnapshots int `json:"meta_snapshots"`
	Rewritten     int `json:"rewritten"`
}

// Add adds the counts of o.
func (d *Deleted) Add(o Deleted) {
	d.Memories += o.Memories
	d.Snapshots += o.Snapshots
	d.MetaSnapshots += o.MetaSnapshots
	d.Rewritten += o.Rewritten
}

// Stats counts the contents of a store.
type Stats struct {
	Users         int `json:"users"`
	Sessions      int `json:"sessions"`
	Memories      int `json:"memories"`
	Snapshots     int `json:"snapshots"`
	MetaSnapshots int `json:"meta_snapshots"`
	Versions      int `json:"old_versions"`
	Jobs          int `json:"jobs"`
	// Vectors counts the vectors of the current model, Unembedded the memories that wait for one.
	Vectors    int       `json:"vectors"`
	Unembedded int       `json:"unembedded"`
	Bytes      int64     `json:"bytes"`
	Oldest     time.Time `json:"oldest,omitzero"`
	Newest     time.Time `json:"newest,omitzero"`
}

// UserIndex is one user's memories as [SearchUser] needs them. A store makes one for each
// search, which uses it from one goroutine.
type UserIndex interface {
	rank.Source
	// Index must not change during a search.
	Index() *rank.Index
	// SessionNumber returns the index's number for a session, or [rank.None].
	SessionNumber(name string) int32
	// Vectors calls each with the packed vectors of a model, in any order. The slice is
	// valid during the call.
	Vectors(ctx context.Context, model string, each func(seq uint32, packed []byte)) error
	// KeyPoints returns the key points of snapshots by their ids. It is called before Load.
	KeyPoints(ctx context.Context, ids []string) (map[string][]string, error)
	// Load returns the memories of these numbers, in their order.
	Load(ctx context.Context, seqs []uint32) ([]BaseMemory, error)
}

// Query is a search for memories.
type Query struct {
	Users Users
	// Text is the question; Earlier are the user's utterances before it, the newest last.
	Text    string
	Earlier []string
	// Vector is the embedding of the query; nil searches by words alone.
	Vector *QueryVector
	// Now is the present.
	Now time.Time
	// AsOf omits memories of a time after Now.
	AsOf bool
	// Session is the session of the question: its memories count a little more. OnlySession
	// omits all others.
	Session     string
	OnlySession bool
	// Before and Since bound the timestamp, if they are set.
	Before, Since time.Time
	// Other is the other_context of the question: memories that share members with it count
	// a little more.
	Other value.Value
	// Limit is the maximum number of memories, 0 for [DefaultLimit]. Their relevance is
	// above MinRelevance; 0 omits none.
	Limit        int
	MinRelevance float64
	// Neighbours includes mere neighbours of a hit in its session, although their relevance is below the cut.
	Neighbours bool
	// NoFacts leaves the answers of facts out.
	NoFacts bool
	// Language is the language of the reasons; "" is the language of Text.
	Language string
}

// DefaultMinRelevance is the relevance above which a memory is worth showing.
const DefaultMinRelevance = 0.5

// DefaultLimit is the default of Query.Limit.
const DefaultLimit = 10

// Found is the result of a search.
type Found struct {
	Memories []Scored
	// Notes are sentences about limits of the search, such as missing embeddings.
	Notes []string
}

// Scored is a memory with its relevance for a query.
type Scored struct {
	Memory BaseMemory
	// Relevance is 0 to 1, higher is better.
	Relevance float64
	// Neighbour reports whether only the memories around it match the query.
	Neighbour bool
	// Reason explains the relevance in the language of the query.
	Reason string
	// Snapshots are the ids of the snapshots that refer to the memory.
	Snapshots []string
	// Fact is the fact by which the memory answers the query or no longer holds; nil if facts do not answer.
	Fact *facts.Judged
}

func (q *Query) effectiveLimit() int {
	if q.Limit <= 0 {
		return DefaultLimit
	}
	return q.Limit
}

// isBelowCut reports whether a relevance is too low. With MinRelevance 0, no relevance is.
func (q *Query) isBelowCut(relevance float64) bool {
	return q.MinRelevance > 0 && relevance <= q.MinRelevance
}

// compare orders the better first, then the newer, then by id.
func (s *Scored) compare(o *Scored) int {
	return cmp.Or(cmp.Compare(o.Relevance, s.Relevance), o.Memory.Timestamp.Compare(s.Memory.Timestamp), cmp.Compare(s.Memory.ID, o.Memory.ID))
}
