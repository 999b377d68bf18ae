package memory

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
)

// Kind is what an id names: its prefix says so.
type Kind string

// The kinds of ids.
const (
	MemoryID   Kind = "memory"
	SnapshotID Kind = "snapshot"
	MetaID     Kind = "meta"
)

// NewID makes an id: the kind, _ and a UUID of version 7, so that ids sort by the
// time they were made.
func NewID(kind Kind, now time.Time) string {
	var u uuid.UUID
	_, _ = rand.Read(u[:]) // it is documented never to fail
	return idOf(kind, now, u)
}

// DeriveID is the id of what has a key of its own: the same for the same key and time.
func DeriveID(kind Kind, key string, at time.Time) string {
	sum := sha256.Sum256([]byte(key))
	return idOf(kind, at, uuid.UUID(sum[:16]))
}

// idOf makes a UUID of version 7 (RFC 9562, 5.7) of a time and of bits that tell it
// from the others of that time.
func idOf(kind Kind, at time.Time, u uuid.UUID) string {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(at.UnixMilli(), 0)))
	copy(u[:6], ms[2:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return string(kind) + "_" + u.String()
}

// CheckID gives an id in its usual form. Ids become file names: what is not a kind
// and a UUID is refused, with an [*calls.Error] of kind Invalid.
func CheckID(kind Kind, id string) (string, error) {
	u, err := UUIDOf(kind, id)
	if err != nil {
		return "", err
	}
	return string(kind) + "_" + u.String(), nil
}

// UUIDOf is the UUID of an id.
func UUIDOf(kind Kind, id string) (uuid.UUID, error) {
	text, ok := strings.CutPrefix(id, string(kind)+"_")
	if ok && len(text) == 36 {
		if u, err := uuid.Parse(text); err == nil {
			return u, nil
		}
	}
	return uuid.UUID{}, calls.Errorf(calls.Invalid, "the id %.80q is not %s_ and a UUID", id, kind).
		WithHint("leave the id out and take the one that is given back")
}

// FormatTime writes a time as 2006-01-02T15:04:05.000Z.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// ParseTime reads a time, to the millisecond: RFC 3339, or a date with or without a
// time of day, in UTC.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			if t = t.UTC().Truncate(time.Millisecond); t.Year() >= 0 && t.Year() <= 9999 {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is no time (write 2006-01-02T15:04:05Z)", text)
}
