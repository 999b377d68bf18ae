package memory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Kind is the kind of thing that an id identifies: its prefix.
type Kind string

// The kinds of ids.
const (
	MemoryID   Kind = "memory"
	SnapshotID Kind = "snapshot"
	MetaID     Kind = "meta"
)

// NewID returns a new id: the kind, _ and a UUID of version 7, so that ids sort by
// time.
func NewID(kind Kind, now time.Time) string {
	var u uuid.UUID
	_, _ = rand.Read(u[:]) // it is documented never to fail
	return idOf(kind, now, u)
}

// DeriveID returns the id for a key: always the same for the same key and time.
func DeriveID(kind Kind, key string, at time.Time) string {
	sum := sha256.Sum256([]byte(key))
	return idOf(kind, at, uuid.UUID(sum[:16]))
}

// OwnID returns the id under which a memory is saved if the id was given by somebody who sees only this user's
// memories: the id itself if it belongs to one of them, else an id derived from it. An id of another user's memory
// and an unknown id are treated alike, so that the result does not reveal which of the two it is. The derived id
// is always the same: for example an import that is repeated saves the same memories again.
func OwnID(ctx context.Context, store Loader, user, id string) (string, error) {
	given, err := UUIDOf(MemoryID, id)
	if err != nil {
		return "", err
	}
	known, err := store.LoadMemory(ctx, id)
	if err != nil {
		return "", err
	}
	if known != nil && known.Context.UserID == user {
		return id, nil
	}
	var ms [8]byte
	copy(ms[2:], given[:6])
	return DeriveID(MemoryID, user+"\x00"+given.String(), time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:])))), nil
}

// idOf returns an id with a UUID of version 7 (RFC 9562, 5.7) made of a time and of u.
func idOf(kind Kind, at time.Time, u uuid.UUID) string {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(at.UnixMilli(), 0)))
	copy(u[:6], ms[2:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return string(kind) + "_" + u.String()
}

// CheckID returns an id in its canonical form. Because ids become file names, anything
// but a kind and a UUID is refused, with an [*calls.Error] of kind Invalid.
func CheckID(kind Kind, id string) (string, error) {
	u, err := UUIDOf(kind, id)
	if err != nil {
		return "", err
	}
	return string(kind) + "_" + u.String(), nil
}

// UUIDOf returns the UUID of an id.
func UUIDOf(kind Kind, id string) (uuid.UUID, error) {
	text, ok := strings.CutPrefix(id, string(kind)+"_")
	if ok && len(text) == 36 {
		if u, err := uuid.Parse(text); err == nil {
			return u, nil
		}
	}
	return uuid.UUID{}, calls.Errorf(calls.Invalid, "invalid id %.80q (want %s_ and a UUID)", id, kind).
		WithHint("leave out the id and use the one that is returned")
}

// FormatTime formats a time as 2006-01-02T15:04:05.000Z.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// zoneOf returns the zone that a time is written in, for example the offset +08:00, or otherwise if it names none.
// Z does not count as a zone: programs write it for any place (RFC 9557, section 2).
func zoneOf(text string, otherwise *time.Location) *time.Location {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || strings.HasSuffix(text, "Z") {
		return otherwise
	}
	_, offset := t.Zone()
	return time.FixedZone("", offset) // also if it is the offset of this machine
}

// ParseTimeIn is [ParseTime] for a person in a zone: 2026-05-01 is midnight there. The time that it returns is in
// the zone that it is written in, else in the person's.
func ParseTimeIn(text string, zone *time.Location) (time.Time, error) {
	t, err := ParseTime(text)
	if err != nil {
		return t, err
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err != nil { // without an offset
		t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
	}
	return t.In(zoneOf(text, zone)), nil
}

// ParseTime reads a time, to the millisecond: RFC 3339, or a date with or without a time of day, in UTC. It
// refuses the zero time, the first moment of the year 1, because it means that no time is given.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			t = t.UTC().Truncate(time.Millisecond)
			if t.Year() >= 0 && t.Year() <= 9999 && !t.IsZero() {
				return t, nil
			}
		}
	}
	return time.Time{}, wording.Errorf("invalid time %.60q (use 2006-01-02T15:04:05Z)", text)
}
