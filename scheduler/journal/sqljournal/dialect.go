package sqljournal

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// dialect is the database of a [Journal] with the statements that differ between the two:
// [fileDialect] and [sharedDialect]. It is safe for concurrent use.
type dialect interface {
	database.Store
	fragments() *fragments

	// now returns $1 of a statement. timeOf returns the argument for another time.
	now() any
	timeOf(t time.Time) any
	// matchLabels returns a condition on the row r of a run, which has these labels. argument
	// adds an argument to the statement and returns its number, for example "$4".
	matchLabels(labels map[string]string, argument func(any) string) (condition string, err error)

	// enlistProcess makes sure that leases of this process would count, before it takes a run; holderArgs
	// are the arguments for that process; delistProcess is for its end.
	enlistProcess(ctx context.Context) error
	holderArgs() []any
	delistProcess() error
	// renewLeases renews the leases of logs and returns the rows of their runs. A run that is missing
	// there, or has another lease, was taken away.
	renewLeases(ctx context.Context, logs []*runLog) (map[int64]holding, error)

	// insertRun stores a run that begins, with its header, labels and payloads. created is false
	// if its id exists.
	insertRun(c database.Conn, b *beginning) (key int64, created bool, err error)
	insertEvents(c database.Conn, key, first int64, bodies [][]byte) error
	// insertBlobs stores payloads and records that a run has them.
	insertBlobs(c database.Conn, key int64, blobs stored.Blobs) error
	// deleteRows deletes a run and the payloads that no other run has. bytes is their size if
	// that is known then; reclaimSpace returns further bytes, which it gives back to the disk.
	deleteRows(c database.Conn, key int64) (bytes int64, err error)
	reclaimSpace(ctx context.Context) (bytes int64, err error)

	// submitChange queues the events of a change, which is lazy if its run does not wait for it. It
	// calls done later, unless it returns an error. isFull reports whether so many changes of a
	// run are queued that it should wait too; waitFor returns when none is.
	submitChange(l *runLog, ch *change, lazy bool) error
	isFull(l *runLog) bool
	waitFor(l *runLog)

	// notifyReaders notifies the subscribers of a run that there is something to read.
	notifyReaders(run string)
	subscribeTo(run string) subscription

	checkIntegrity(c database.Conn) error
	// markDamaged returns an error of data that contradict themselves with the remedy for that.
	markDamaged(err error) error
}

// fragments are parts of common statements. The numbers of arguments refer to the statement in which the fragment
// is used.
type fragments struct {
	// selectRuns selects the columns that scanRun reads, of runs with the alias r.
	selectRuns string
	// lock keeps other processes from changing a row r until the transaction ends.
	lock string
	// touch sets when a process last wrote to a run, to $1.
	touch string
	// hold sets which process holds a run, to the arguments of holder from $6 on, since $1.
	hold string
	// reviseHash sets the readable form of the digest $3.
	reviseHash string
}

// subscription waits for events of a run, for one goroutine.
type subscription interface {
	// Wait returns when there may be something to read. The error is ctx's, or one for a closed journal.
	Wait(ctx context.Context) error
	// Noticed receives when there may be something to read; nil if no notice ever comes.
	Noticed() <-chan struct{}
	Close()
}
