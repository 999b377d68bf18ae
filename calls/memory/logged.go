package memory

import (
	"context"
	"errors"
	"log/slog"

	"github.com/callnode/scheduler/calls"
)

// NewLogged returns a store that logs each change and each search at the level debug, and each failure as a
// warning. The manager, the cleanup and the archive work through a store, so the log has their work too. It holds
// ids, users and counts, and no content. A mistake of the caller, for example a malformed id, and cancelled work
// do not count as failures.
func NewLogged(store Store, log *slog.Logger) Store { return &logged{store, log} }

// logged is the store of [NewLogged]. It lives as long as the store in it, and is as safe for
// concurrent use.
type logged struct {
	Store
	log *slog.Logger
}

// report logs an action and its outcome, and returns the error.
func (l *logged) report(ctx context.Context, action string, err error, attrs ...any) error {
	switch kind := calls.KindOf(err); {
	case err == nil:
		l.log.DebugContext(ctx, "the memory store worked", append([]any{"method", action}, attrs...)...)
	case kind != calls.Invalid && kind != calls.NotFound && ctx.Err() == nil:
		l.log.WarnContext(ctx, "the memory store failed", "method", action, "error", err)
	}
	return err
}

func (l *logged) SaveMemories(ctx context.Context, memories []BaseMemory) ([]Saved, error) {
	saved, err := l.Store.SaveMemories(ctx, memories)
	states := map[SaveState]int{}
	for _, s := range saved {
		states[s.State]++
	}
	return saved, l.report(ctx, "SaveMemories", err, "memories", len(memories), "created", states[Created], "updated", states[Updated], "merged", states[Merged])
}

func (l *logged) SaveSnapshot(ctx context.Context, user string, s MemorySnapshot) error {
	return l.report(ctx, "SaveSnapshot", l.Store.SaveSnapshot(ctx, user, s), "user", user, "id", s.ID)
}

func (l *logged) SaveMetaSnapshot(ctx context.Context, user string, s MetaSnapshot) error {
	return l.report(ctx, "SaveMetaSnapshot", l.Store.SaveMetaSnapshot(ctx, user, s), "user", user, "id", s.ID)
}

func (l *logged) LoadMemory(ctx context.Context, id string) (*BaseMemory, error) {
	m, err := l.Store.LoadMemory(ctx, id)
	return m, l.report(ctx, "LoadMemory", err, "id", id, "found", m != nil)
}

func (l *logged) LoadSnapshot(ctx context.Context, id string) (*MemorySnapshot, error) {
	s, err := l.Store.LoadSnapshot(ctx, id)
	return s, l.report(ctx, "LoadSnapshot", err, "id", id, "found", s != nil)
}

func (l *logged) LoadMetaSnapshot(ctx context.Context, id string) (*MetaSnapshot, error) {
	s, err := l.Store.LoadMetaSnapshot(ctx, id)
	return s, l.report(ctx, "LoadMetaSnapshot", err, "id", id, "found", s != nil)
}

func (l *logged) Delete(ctx context.Context, which Selection) (Deleted, error) {
	deleted, err := l.Store.Delete(ctx, which)
	user, _ := which.Users.One()
	return deleted, l.report(ctx, "Delete", err, "user", user, "before", which.Before, "dry_run", which.DryRun,
		"memories", deleted.Memories, "snapshots", deleted.Snapshots, "meta_snapshots", deleted.MetaSnapshots)
}

func (l *logged) Search(ctx context.Context, q *Query) (*Found, error) {
	found, err := l.Store.Search(ctx, q)
	n := 0
	if found != nil {
		n = len(found.Memories)
	}
	user, _ := q.Users.One()
	return found, l.report(ctx, "Search", err, "user", user, "found", n)
}

func (l *logged) Complete(ctx context.Context, job *Job) error {
	err := l.Store.Complete(ctx, job)
	if errors.Is(err, ErrStale) {
		return err // no failure: its report has it
	}
	return l.report(ctx, "Complete", err, "user", job.User, "session", job.Session, "category", job.Category)
}
