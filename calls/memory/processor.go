package memory

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// SnapshotProcessor saves memories, makes their snapshots and searches them. It is the
// memory of calls (see [calls.Env]). The program sets its fields and keeps it as long
// as its store is open; it is safe for concurrent use.
type SnapshotProcessor struct {
	Store Store
	// Generator writes the snapshots; nil extracts sentences of the memories.
	Generator *SnapshotGenerator
	// Embeddings adds search by meaning; nil searches by words alone.
	Embeddings *Embeddings
	// Clock is the present; nil is the machine's.
	Clock func() time.Time
	// IDSeed makes ids repeat: the ids of new memories without a role, and of snapshots, are derived from it and
	// from their content. With "" they are random. Tests of flows set it, so that prompts that show ids are the
	// same in each run.
	IDSeed string
	// Log gets failures; nil discards them.
	Log *slog.Logger
	// Memories, Idle and Snapshots are when a snapshot is due, see [Claim]; 0 means the
	// default.
	Memories, Snapshots int
	Idle                time.Duration
}

var _ calls.Memory = (*SnapshotProcessor)(nil)

// The usual triggers of snapshots.
const (
	DefaultMemories  = 8
	DefaultSnapshots = 3
	DefaultIdle      = 5 * time.Minute
)

func (p *SnapshotProcessor) now() time.Time {
	if p.Clock == nil {
		return time.Now()
	}
	return p.Clock()
}

// newID returns a new id: a random one, or with IDSeed one derived from the content.
func (p *SnapshotProcessor) newID(kind Kind, content any) string {
	if p.IDSeed == "" {
		return NewID(kind, p.now())
	}
	return DeriveID(kind, p.IDSeed+"\x00"+value.Must(content).JSON(), p.now())
}

func (p *SnapshotProcessor) log() *slog.Logger {
	if p.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return p.Log
}

// ProcessMemory (process_memory in the documents) saves a memory and returns its id. It can be found at once; its
// snapshot is made later, by [SnapshotProcessor.Run].
func (p *SnapshotProcessor) ProcessMemory(ctx context.Context, m BaseMemory) (id string, err error) {
	if p.IDSeed != "" && m.ID == "" && m.Role() == "" { // an equal one is a duplicate, which needs no id
		m.NewID = p.newID(MemoryID, m)
	}
	saved, err := p.Store.SaveMemories(ctx, []BaseMemory{m})
	if err != nil {
		if calls.KindOf(err) != calls.Invalid { // that is not the store's fault
			p.log().Error("a memory was not saved", "error", err)
		}
		return "", err
	}
	return saved[0].ID, nil
}

// GetRelevantMemories (get_relevant_memories in the documents) returns the memories that match
// a query, best first.
func (p *SnapshotProcessor) GetRelevantMemories(ctx context.Context, q *Query) (*Found, error) {
	found, err := p.searchMemories(ctx, *q)
	if err != nil {
		p.log().Error("memories could not be searched", "error", err)
		return nil, err
	}
	return found, nil
}

func (p *SnapshotProcessor) searchMemories(ctx context.Context, q Query) (found *Found, err error) {
	note := ""
	if p.Embeddings != nil && strings.TrimSpace(q.Text) != "" {
		q.Vector, note, err = p.Embeddings.embedQuery(ctx, p.Store, &q, p.now())
		if err != nil {
			return nil, err
		}
	}
	found, err = p.Store.Search(ctx, &q)
	if err == nil && note != "" {
		found.Notes = append(found.Notes, note)
	}
	return found, err
}

// Recent returns the newest utterances of a scope, oldest first: of its session, or of all sessions of its user.
func (p *SnapshotProcessor) Recent(ctx context.Context, scope calls.Scope, limit int) (turns []plugins.Turn, err error) {
	if limit <= 0 {
		return nil, nil
	}
	which := Selection{Users: User(scope.User), HasSession: !scope.AllSessions, Session: scope.Session, Utterances: true, Newest: limit}
	for m, err := range p.Store.Memories(ctx, which) {
		if err != nil {
			return nil, err
		}
		turns = append(turns, plugins.Turn{ID: m.ID, Role: m.Role(), Content: m.Content, Timestamp: m.Timestamp})
	}
	return turns, nil
}

// Retrieve returns the memories of a scope that match a query, best first.
func (p *SnapshotProcessor) Retrieve(ctx context.Context, scope calls.Scope, query string, limit int) ([]plugins.Recalled, error) {
	if limit <= 0 {
		return nil, nil
	}
	found, err := p.GetRelevantMemories(ctx, &Query{
		Users: User(scope.User), Session: scope.Session, Text: query, Now: p.now(), Limit: limit, MinRelevance: DefaultMinRelevance,
	})
	if err != nil {
		return nil, err
	}
	for _, note := range found.Notes {
		p.log().Warn(note) // a warning has no other place
	}
	recalled := make([]plugins.Recalled, len(found.Memories))
	for i, s := range found.Memories {
		recalled[i] = plugins.Recalled{ID: s.Memory.ID, Text: s.Memory.Content, Score: s.Relevance}
	}
	return recalled, nil
}

// Report is the result of [SnapshotProcessor.Run].
type Report struct {
	Snapshots     []string `json:"snapshots" doc:"The ids of the snapshots that were made."`
	MetaSnapshots []string `json:"meta_snapshots" doc:"The ids of the meta snapshots that were made."`
	Postponed     int      `json:"postponed" doc:"How many the model failed at; they are tried again later."`
	Warnings      []string `json:"warnings,omitempty" doc:"What was wrong with answers of the model, and for whose memories."`
	Embedded      int      `json:"embedded" doc:"How many memories got their vector."`
	NotEmbedded   string   `json:"not_embedded,omitempty" doc:"Why others still wait for their vector."`

	modelFailure error
	failed       []*Job // the jobs for which the model provider failed
}

// ModelFailure returns why a snapshot was postponed, if a model provider failed; nil otherwise.
func (r *Report) ModelFailure() error { return r.modelFailure }

// Run makes the missing vectors and the snapshots that are due, or with all every snapshot of a session or category
// that has anything new, until none is left or ctx ends. A failure of the model is not an error: the job is
// postponed.
func (p *SnapshotProcessor) Run(ctx context.Context, users Users, all bool) (Report, error) {
	report := Report{Snapshots: []string{}, MetaSnapshots: []string{}}
	if err := users.Check(); err != nil {
		return report, err
	}
	// Neither model holds up the other.
	embedded := make(chan error, 1)
	go func() { embedded <- p.embedMissing(ctx, users, &report) }()
	err := p.makeSnapshots(ctx, users, all, &report)
	return report, cmp.Or(err, <-embedded)
}

// makeSnapshots runs the jobs that are due. With all, a user or a flow waits for them: jobs for which a provider
// failed are due at once when it is asked again, for example by a run that is resumed.
func (p *SnapshotProcessor) makeSnapshots(ctx context.Context, users Users, all bool, report *Report) (err error) {
	defer func() {
		for _, job := range report.failed {
			wait := jobWait(job)
			if all {
				wait = 0
			}
			err = cmp.Or(err, p.Store.Postpone(context.WithoutCancel(ctx), job, p.now().Add(wait)))
		}
	}()
	for ctx.Err() == nil {
		job, err := p.Store.Claim(ctx, Claim{
			Now: p.now(), Users: users, All: all, Lease: lease,
			Memories: cmp.Or(p.Memories, DefaultMemories), Snapshots: cmp.Or(p.Snapshots, DefaultSnapshots), Idle: cmp.Or(p.Idle, DefaultIdle),
		})
		if err != nil {
			p.log().Error("no snapshot job could be taken", "error", err)
			return err
		}
		if job == nil {
			return nil
		}
		if err := p.runJob(ctx, job, report); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// runJob makes one snapshot, or postpones it.
func (p *SnapshotProcessor) runJob(ctx context.Context, job *Job, report *Report) error {
	err := p.generateSnapshot(ctx, job, report)
	if err == nil {
		err = p.Store.Complete(context.WithoutCancel(ctx), job) // it is made, and paid for
		if errors.Is(err, ErrStale) {
			report.Warnings = append(report.Warnings, wording.OfError(err).In(p.language())+job.place().In(p.language()))
			return nil
		}
		if err != nil {
			p.log().Error("a snapshot was not saved", "error", err)
			return err
		}
		if job.Detail != nil {
			report.Snapshots = append(report.Snapshots, job.Detail.ID)
		} else {
			report.MetaSnapshots = append(report.MetaSnapshots, job.Meta.ID)
		}
		return nil
	}
	wait := jobWait(job)
	if errors.Is(ctx.Err(), context.Canceled) { // not the model's fault, as its being slow is
		wait = 0
		job.Attempts--
	} else {
		report.Postponed++
		if calls.KindOf(err) == calls.Provider {
			report.modelFailure = err
			report.failed = append(report.failed, job)
		}
		p.log().Warn("a snapshot is postponed", "user", job.User, "session", job.Session, "category", job.Category, "again after", wait, "error", err)
		if calls.KindOf(err) == calls.Provider {
			return nil // makeSnapshots gives it back
		}
	}
	return errors.Join(ctx.Err(), p.Store.Postpone(context.WithoutCancel(ctx), job, p.now().Add(wait)))
}

// jobWait returns how long a job is postponed.
func jobWait(job *Job) time.Duration { return min(longestWait, firstWait<<min(job.Attempts, 10)) }

// generateSnapshot sets the result of a job.
func (p *SnapshotProcessor) generateSnapshot(ctx context.Context, job *Job, report *Report) error {
	g := SnapshotGenerator{Clock: p.Clock}
	language := p.language()
	warn := func(warning string) { report.Warnings = append(report.Warnings, warning+job.place().In(language)) }
	if p.Generator != nil {
		if job.Attempts < maxAttempts {
			g = *p.Generator
		} else {
			warn(wording.Say("the model failed %d times, so a snapshot has sentences of the memories", job.Attempts).In(language))
		}
	}
	g.Warn = warn
	if len(job.Memories) > 0 {
		s, err := g.GenerateDetailSnapshot(ctx, job.Memories, p.newID(SnapshotID, job.Memories), p.knownCategories(ctx, job.User)...)
		job.Detail = &s
		return err
	}
	m, err := g.GenerateMetaSnapshot(ctx, job.Snapshots, p.newID(MetaID, job.Snapshots))
	job.Meta = &m
	return err
}

// language returns the language of warnings.
func (p *SnapshotProcessor) language() string {
	if p.Generator == nil {
		return ""
	}
	return p.Generator.Language
}

// place returns the user and the session or category of a job, in brackets.
func (j *Job) place() wording.Text {
	if j.Session != "" {
		return wording.Say(" (user %s, session %s)", j.User, j.Session)
	}
	if j.Category != "" {
		return wording.Say(" (user %s, category %s)", j.User, j.Category)
	}
	return wording.Say(" (user %s)", j.User)
}

// maxCategories bounds the categories in a prompt.
const maxCategories = 30

// knownCategories returns some categories of the user. An error is ignored: the next access to the store meets it
// again.
func (p *SnapshotProcessor) knownCategories(ctx context.Context, user string) (list []string) {
	seen := map[string]bool{CategoryKey(Uncategorized): true}
	for x, err := range p.Store.MetaSnapshots(ctx, Selection{Users: User(user)}) {
		if err != nil || len(list) == maxCategories {
			break
		}
		if key := CategoryKey(x.Snapshot.Category); !seen[key] {
			seen[key] = true
			list = append(list, x.Snapshot.Category)
		}
	}
	return list
}

// embedMissing embeds the memories without a vector and reports the result.
func (p *SnapshotProcessor) embedMissing(ctx context.Context, users Users, report *Report) error {
	if p.Embeddings == nil {
		return nil
	}
	d := &embeddingRun{Embeddings: p.Embeddings, store: p.Store, users: users, now: p.now, log: p.log()}
	err := d.run(ctx)
	report.Embedded = d.done
	if d.failure != nil {
		report.NotEmbedded = d.failure.Error()
	}
	if err != nil && !errors.Is(err, ctx.Err()) {
		p.log().Error("vectors were not saved", "error", err)
	}
	return err
}
