package memory

import (
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Helpers that all stores share.

// NewForeignIDError returns the error for an id that belongs to another user.
func NewForeignIDError(id string) error {
	return calls.Errorf(calls.Invalid, "the id %s belongs to another user", id).WithHint("leave out the id to save a new memory")
}

// WrapIndex names the memory in a list of n that an error is about.
func WrapIndex(i, n int, err error) error {
	if n < 2 {
		return err
	}
	return &calls.Error{Kind: calls.KindOf(err), Hint: calls.HintOf(err), Err: wording.Errorf("memory %d of %d: %w", i+1, n, err)}
}

// IsDuplicate reports whether b, which has come without an id, equals a: the same text
// in the same context, whichever run has said so. Two utterances of a chat are equal only at the same moment.
func IsDuplicate(a, b *BaseMemory) bool {
	if a.Context.UserID != b.Context.UserID || a.Context.SessionID != b.Context.SessionID || ContentKey(a.Content) != ContentKey(b.Content) {
		return false
	}
	if a.Role() != "" && !a.Timestamp.Equal(b.Timestamp) {
		return false
	}
	return value.Equal(a.Context.Other, b.Context.Other) && value.Equal(value.OfMap(a.Extra), value.OfMap(b.Extra)) &&
		value.Equal(a.Context.extraWithoutRun(), b.Context.extraWithoutRun())
}

func (c *Context) extraWithoutRun() value.Value {
	extra := c.Extra.Clone()
	extra.Delete(runMember)
	return value.OfMap(extra)
}

// Normalize puts a snapshot into the form in which it is stored, or refuses it.
func (s *MemorySnapshot) Normalize(now time.Time) (err error) {
	s.ID, s.Timestamp, err = normalizeIDAndTime(SnapshotID, s.ID, s.Timestamp, now)
	s.Importance = min(1, max(0, s.Importance))
	return err
}

// Normalize puts a meta snapshot into the form in which it is stored, or refuses it.
func (s *MetaSnapshot) Normalize(now time.Time) (err error) {
	s.ID, s.Timestamp, err = normalizeIDAndTime(MetaID, s.ID, s.Timestamp, now)
	return err
}

func normalizeIDAndTime(kind Kind, id string, at, now time.Time) (string, time.Time, error) {
	if at.IsZero() {
		at = now
	}
	id, err := CheckID(kind, id)
	return id, at.UTC().Truncate(time.Millisecond), err
}

// Check normalizes the result of a job for storage, or refuses it.
func (j *Job) Check(now time.Time) error {
	if j.Detail != nil {
		return j.Detail.Normalize(now)
	}
	if j.Meta != nil {
		return j.Meta.Normalize(now)
	}
	return calls.Errorf(calls.Internal, "the job %q has no result", j.Token)
}
