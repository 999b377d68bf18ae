package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Journal is the append-only record of runs: the data with which a run continues after its process ended, and that
// people look up later. The packages sqljournal and memory have implementations. All methods are safe for
// concurrent use; several processes may share a file or a database.
type Journal interface {
	RunRecorder
	RunReader
	RunKeeper
	// ID names the store, the same in every process that shares it.
	ID(ctx context.Context) (string, error)
	// CheckWritable returns an error if no run could be recorded now, for example because the disk is full.
	CheckWritable(ctx context.Context) error
	// Close commits the accepted events and then releases the runs still held.
	Close() error
}

// RunRecorder lets a process run a flow durably. It is a role of a [Journal], and as safe for
// concurrent use.
type RunRecorder interface {
	// Begin records a new run and holds it. An id that exists is an error of kind
	// Invalid.
	Begin(ctx context.Context, run *RunHeader) (RunLog, error)
	// Reopen holds an existing run, to continue it. If its last holder died before obeying a request to cancel it,
	// the run is cancelled first. The error is a *[HeldError] while another holds it, one of kind NotFound for an
	// unknown id.
	Reopen(ctx context.Context, id string) (RunLog, error)
}

// RunLog is a run that is held: no other process can write to it. [RunRecorder] makes one for
// each hold; it is safe for concurrent use.
type RunLog interface {
	EventWriter
	HeldReader
	Hold
}

// EventWriter adds to a run that is held. It is a role of a [RunLog], and as safe for concurrent use. Once a write
// has failed, it refuses every further one with the same error; reopen the run to continue.
type EventWriter interface {
	// Append adds events to the run, in order. They are durable when it returns; in mode [Async] it does not wait for
	// that, and an error shows at a later call. Their Seq must continue after the last one, and Run be the id of this
	// run; all of a batch is stored, or nothing. Once begun, it is not aborted when ctx ends.
	Append(ctx context.Context, events ...*Event) error
	// Revise replaces the text of the flow, with all that is Before it.
	Revise(ctx context.Context, text FlowText) error
}

// HeldReader reads the data that a run needs to continue. It is a role of a [RunLog], and as safe for concurrent
// use.
type HeldReader interface {
	// Header returns the run's header, Info its state when it was opened.
	Header(ctx context.Context) (*RunHeader, error)
	Info() RunInfo
	// Events is [EventReader] Events with the bytes of images in place.
	Events(ctx context.Context, from int64) iter.Seq2[*Event, error]
}

// Hold is the hold of a process on a run: a lease that the journal renews by itself. It ends with
// Close, or a few seconds after the process died. It is a role of a [RunLog], and as safe for
// concurrent use.
type Hold interface {
	// Watch returns a context that ends with parent, when the run should be cancelled (cause [ErrCancelRequested]),
	// or when the lease is lost (a *[HeldError]). Call stop when it is not needed any more.
	Watch(parent context.Context) (ctx context.Context, stop context.CancelFunc)
	// Close commits the added events and releases the run. It may be called twice.
	Close() error
}

// RunReader reads runs, held or not. It is a role of a [Journal], and as safe for concurrent use; its results are
// only data and belong to the caller.
type RunReader interface {
	RunFinder
	EventReader
}

// RunFinder returns the states of runs. It is a role of a [RunReader].
type RunFinder interface {
	// Run returns the state of a run. The error is of kind NotFound for an unknown id.
	Run(ctx context.Context, id string) (*RunInfo, error)
	// Header returns the run's header.
	Header(ctx context.Context, id string) (*RunHeader, error)
	// Runs lists runs, the newest first: the last to begin, independent of its clock.
	Runs(ctx context.Context, filter RunFilter) iter.Seq2[*RunInfo, error]
}

// EventReader reads the events of runs. Images are not shown: in a text, their bytes are replaced by
// data:TYPE;sha256=HEX;size=BYTES, with the digest of the decoded bytes. It is a role of a [RunReader].
type EventReader interface {
	// Events returns the events of a run with a Seq of at least from, in order.
	Events(ctx context.Context, id string, from int64) iter.Seq2[*Event, error]
	// Follow yields the events of a run with a Seq greater than after, existing ones and then future ones, until the
	// run is over or waits and no process holds it. It returns ctx's error if that ends before.
	Follow(ctx context.Context, id string, after int64) iter.Seq2[*Event, error]
	// Subscribe returns a channel that receives when a run may have events which were written after Subscribe, by any
	// process, and a function that ends the subscription. Notice may be lost, so also check from time to time. The
	// channel is nil if the store has no notices.
	Subscribe(id string) (noticed <-chan struct{}, stop func())
}

// RunKeeper has the operations of users on runs. It is a role of a [Journal], and as safe for concurrent use.
type RunKeeper interface {
	// Cancel asks the process that holds the run to stop it, which takes up to a second or two. If the holder
	// releases a run that is not over (it waits, or was to continue elsewhere), the run is cancelled too. A run
	// without a holder is cancelled at once, with a flow.cancelled event. A run that is over is an error of kind
	// Invalid.
	Cancel(ctx context.Context, id string) error
	// Release takes a run from its holder: every further write of that one fails with a
	// *[HeldError]. It is for a holder that cannot be alive though its lease seems to last:
	// the machine was started again, its container is gone, its clock was set back. From a
	// process of this machine that is alive a run is not taken, which is an error of kind
	// Invalid.
	Release(ctx context.Context, id string) error
	// Prune deletes runs for good and frees their space on the disk.
	Prune(ctx context.Context, prune Prune) (*Pruned, error)
}

// Durability is when an event is safe from a crash.
type Durability string

// The modes of durability.
const (
	// Sync events are on the disk when Append returns.
	Sync Durability = "sync"
	// Async events are on the disk at most 50 ms later.
	Async Durability = "async"
)

// FlowText is the source of a flow: all that a later process needs to load it, even if its files have changed.
type FlowText struct {
	Source []byte
	// Files has the files that the flow names, by path: Flow.Files of the package flow.
	Files map[string][]byte
	// File is the path of the flow file that an edited text is from; "" is [RunHeader] File.
	File string
	// Since is the Seq of the first event of an edited text, and Before the text that the run had until then: its steps
	// ran with that. They are 0 and nil for the text that the run began with.
	Since  int64
	Before *FlowText
}

// Hash returns the SHA-256 of the source, in hex.
func (t FlowText) Hash() string {
	sum := sha256.Sum256(t.Source)
	return hex.EncodeToString(sum[:])
}

// RunHeader is the data with which a run begins. The engine makes it for [RunRecorder]; a journal makes a new one
// for each reader.
type RunHeader struct {
	ID   string
	Flow string
	// File is the path of the flow file that the run began with: absolute, or relative to the folder of the
	// project, with slashes. The paths of the text's Files are alike.
	File   string
	Text   FlowText
	Inputs value.Value
	// Conversation is the list of messages that the caller sent before the question; null for
	// none, and in runs of older programs.
	Conversation value.Value
	// Labels select runs in lists: see [RunFilter]. Names such as [LabelOwner] mean the same for every program.
	Labels map[string]string
	// Program is the version of the program that began the run; "" if unknown.
	Program string
	// Options has the other data with which the program continues as it began, for example the name of the provider
	// and the seed. An object, or null.
	Options   value.Value
	StartedAt time.Time
	// Mode is Sync if it is empty.
	Mode Durability
}

// The names of labels that programs agree on. All others are the user's.
const (
	// LabelOwner is the user whose run it is.
	LabelOwner = "owner"
	// LabelOrigin names the source of the run: cli, api, openai, mcp or trigger.
	LabelOrigin = "origin"
	// LabelSession is the session that it belongs to.
	LabelSession = "session"
	// LabelRunsOn names the remote runner of the run, for example temporal; without it every process may continue the
	// run.
	LabelRunsOn = "runs_on"
	// LabelForkedFrom is the run whose steps it has kept.
	LabelForkedFrom = "forked_from"
	// LabelChildOf is the run that waits for it: see step.child.
	LabelChildOf = "child_of"
)

// RunInfo is the state of a run. Its JSON is a line of `runs list`. A journal makes one for each caller, to whom
// it belongs.
type RunInfo struct {
	ID        string    `json:"run"`
	Flow      string    `json:"flow"`
	State     RunStatus `json:"state"`
	StartedAt time.Time `json:"started_at"`
	// Labels has its header's labels; nil if it has none.
	Labels map[string]string `json:"labels,omitempty"`
	// UpdatedAt is the time of the last event.
	UpdatedAt time.Time `json:"updated_at"`
	// TouchedAt is when a process last wrote to it, to some seconds: by the clock of the journal, while UpdatedAt
	// uses the run's clock, which may be set to any time.
	TouchedAt time.Time `json:"-"`
	// Cursor is the place of the run among all runs of its journal: see [RunFilter].
	Cursor string `json:"-"`
	// LastSeq is the Seq of the last event; 0 before the first.
	LastSeq int64 `json:"-"`
	// Summary is a question, a reply and the cost, for lists.
	Summary Summary `json:"-"`
	// Holder is the process that holds the run; nil for none.
	Holder *Holder `json:"-"`
	// Abandoned is set if the last holder died without releasing the run.
	Abandoned bool `json:"-"`
	// CancelRequested is set when the holder was asked to stop the run.
	CancelRequested bool `json:"-"`
}

// Interrupted reports whether a running run has no process: it has died, or handed the run over.
func (r *RunInfo) Interrupted() bool {
	return r.State == RunRunning && r.Holder == nil && r.LastSeq > 0
}

// Queued reports whether the run has not begun yet and no process holds it: it waits to
// be resumed for the first time.
func (r *RunInfo) Queued() bool {
	return r.State == RunRunning && r.Holder == nil && r.LastSeq == 0
}

// Holder is a process that holds a run. A journal makes it for each reader.
type Holder struct {
	PID  int
	Host string
	// Since is the time at which it took the run; zero if not known.
	Since time.Time
	// Until is the time at which the lease ends unless renewed; zero if it does not end.
	Until time.Time
}

// HeldError is the error of a run that another process holds. A journal makes it; it does not
// change.
type HeldError struct {
	Run string
	// Holder is nil if the run was taken away and is free again, or deleted.
	Holder *Holder
}

// String names the process, and since when it holds the run.
func (h *Holder) String() string { return h.Name().En }

// Name is String in the built-in languages.
func (h *Holder) Name() wording.Text {
	if h.Since.IsZero() {
		return wording.Say("the process %d on %s", h.PID, wording.Of(h.Host))
	}
	return wording.Say("the process %d on %s, since %s", h.PID, wording.Of(h.Host), h.Since.Local().Format(time.DateTime))
}

// Error names the process, since when it holds the run, and the end of its lease.
func (e *HeldError) Error() string { return e.text().En }

// In is Error in a language.
func (e *HeldError) In(language string) string { return e.text().In(language) }

func (e *HeldError) text() wording.Text {
	if e.Holder == nil {
		return wording.Say("the run %s does not belong to this process any more", e.Run)
	}
	if e.Holder.Until.IsZero() {
		return wording.Say("the run %s is held by another process: %v", e.Run, e.Holder)
	}
	return wording.Say("the run %s is held by another process: %v, until %s, and longer while it lives",
		e.Run, e.Holder, clockTime(e.Holder.Until, time.Now()))
}

// clockTime returns a time in the local zone, with its day if that is not today.
func clockTime(t, now time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// ErrCancelRequested is the cause when a run is cancelled from outside.
var ErrCancelRequested error = calls.Errorf(calls.Canceled, "the run was cancelled from outside")

// ErrSecretLost is the error of a step that needs a secret that the journal does not keep: resuming the run does
// not help.
var ErrSecretLost = wording.Errorf("a secret stood in what was known, and the journal does not keep secrets")

// RunFilter picks runs of a journal: the runs that fit every field that is set. The caller makes it; a journal
// only reads it.
type RunFilter struct {
	// States are the wanted states; none means all.
	States []RunStatus
	// Flow is the name of the flow.
	Flow string
	// Labels are labels that a run must have, with these values.
	Labels map[string]string
	// Since and Before bound when the run began, by its own clock: at Since or later, and
	// before Before.
	Since, Before time.Time
	// After is the Cursor of the last listed run: the list continues after it, even if that run is gone.
	After string
	// DownTo is the Cursor of a run at which the list ends, without that run, even if it is gone.
	DownTo string
	// Limit is how many there may be; 0 is all.
	Limit int
}

// Prune picks the runs to delete: the runs that fit every field that is set. Runs that a process holds are never
// deleted, and without Force the runs that an unfinished run waits for stay.
type Prune struct {
	// Runs are ids; none means all runs.
	Runs []string
	// Before: the run was not written to since, see [RunInfo] TouchedAt.
	Before time.Time
	// States are the states to delete; none means finished, failed and cancelled.
	States []RunStatus
	// Labels are labels that a run must have, with these values.
	Labels map[string]string
	// Keep is how many of the runs that fit stay, the newest ones.
	Keep int
	// Force deletes running and waiting runs too.
	Force bool
}

// Pruned reports the runs that [RunKeeper] Prune has deleted. It belongs to the caller.
type Pruned struct {
	Runs []string
	// Bytes is by how much the journal became smaller.
	Bytes int64
}
