// Package memory is the contract of the long-term memory: memories of utterances, for example "I moved to Tokyo",
// snapshots that summarize several of them, meta snapshots over those, and the [Store] that keeps them. Calls use
// a store through a [SnapshotProcessor].
//
// A memory is stored verbatim and can be found at once, without a model. Snapshots are
// made later by jobs in the store; a model that is down or wrong delays or simplifies
// them, but nothing is lost.
//
// Users are walls: every read and every deletion names a user, or asks for all users.
package memory

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// BaseMemory is something that was said or learnt.
type BaseMemory struct {
	// ID is memory_ and a UUID; with "" the store creates one.
	ID string
	// NewID is the id that a memory without one gets if it is not a duplicate; with "" it is random. It is not
	// part of the memory, and stores clear it.
	NewID string
	// Content is the text.
	Content string
	// Timestamp is when it happened, in whole milliseconds; with zero the store sets the present time.
	Timestamp time.Time
	Context   Context
	// Extra are members that this version does not know. They are kept.
	Extra *value.Map
}

// Context is the origin of a memory.
type Context struct {
	// UserID is the user to whom the memory belongs; "" is a user like others.
	UserID string
	// SessionID is the conversation; "" for a memory without one.
	SessionID string
	// Other is the other_context: a text or an object. In an object, speaker is the name of the speaker and role
	// the chat role.
	Other value.Value
	// Extra are members that this version does not know. They are kept.
	Extra *value.Map
}

// runMember is the member of a stored context that names the run which saved the memory. It is among the Extra of [Context], so
// that stores of every version keep it.
const runMember = "run_id"

// RunID returns the run that saved the memory; "" if it is not known, for example of a memory that was imported.
func (c *Context) RunID() string {
	v, _ := c.Extra.Get(runMember)
	id, _ := v.Str()
	return id
}

// SetRunID names the run that saves the memory.
func (c *Context) SetRunID(id string) {
	extra := c.Extra.Clone()
	extra.Set(runMember, value.OfString(id))
	c.Extra = extra
}

// MemorySnapshot summarizes several memories: its key_points sum up its memory_refs.
type MemorySnapshot struct {
	// ID is snapshot_ and a UUID.
	ID         string
	KeyPoints  []string
	MemoryRefs []string
	Category   string
	Timestamp  time.Time
	// Importance is 0 to 1.
	Importance float64
	// Extra are further members. Extractive snapshots have {generated_by: extract}.
	Extra *value.Map
}

// MetaSnapshot describes the snapshots of a category, which are its snapshot_refs.
type MetaSnapshot struct {
	// ID is meta_ and a UUID.
	ID           string
	Category     string
	Keywords     []string
	SnapshotRefs []string
	Description  string
	Timestamp    time.Time
	Extra        *value.Map
}

// EncodeValue writes the members in the order of the file format.
func (m BaseMemory) EncodeValue() (value.Value, error) {
	context := value.Pairs("user_id", m.Context.UserID, "session_id", m.Context.SessionID)
	if !m.Context.Other.IsNull() {
		context.Set("other_context", m.Context.Other)
	}
	addExtra(context, m.Context.Extra)
	out := value.Pairs("id", m.ID, "content", m.Content, "timestamp", FormatTime(m.Timestamp), "context", context)
	addExtra(out, m.Extra)
	return value.OfMap(out), nil
}

// EncodeValue writes the members in the order of the file format.
func (s MemorySnapshot) EncodeValue() (value.Value, error) {
	out := value.Pairs("id", s.ID, "key_points", nonNil(s.KeyPoints), "memory_refs", nonNil(s.MemoryRefs), "category", s.Category,
		"timestamp", FormatTime(s.Timestamp), "importance", s.Importance)
	addExtra(out, s.Extra)
	return value.OfMap(out), nil
}

// EncodeValue writes the members in the order of the file format.
func (s MetaSnapshot) EncodeValue() (value.Value, error) {
	out := value.Pairs("id", s.ID, "category", s.Category, "keywords", nonNil(s.Keywords), "snapshot_refs", nonNil(s.SnapshotRefs),
		"description", s.Description, "timestamp", FormatTime(s.Timestamp))
	addExtra(out, s.Extra)
	return value.OfMap(out), nil
}

// nonNil returns a list that is encoded as [] rather than null.
func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func addExtra(to, extra *value.Map) {
	for key, v := range extra.All() {
		if _, taken := to.Get(key); !taken {
			to.Set(key, v)
		}
	}
}

// DecodeValue reads a memory. The store fills in a missing id or timestamp.
func (m *BaseMemory) DecodeValue(v value.Value) error {
	*m = BaseMemory{}
	f, err := newFields(v)
	if err != nil {
		return err
	}
	f.readText("id", &m.ID)
	f.readText("content", &m.Content)
	f.readTime("timestamp", &m.Timestamp)
	context, ok := f.takeMember("context")
	m.Extra = f.unknownMembers()
	if f.err != nil || !ok || context.IsNull() {
		return f.err
	}
	c, err := newFields(context)
	if err != nil {
		return wording.Errorf("context: %w", err)
	}
	c.readText("user_id", &m.Context.UserID)
	c.readText("session_id", &m.Context.SessionID)
	m.Context.Other, _ = c.takeMember("other_context")
	m.Context.Extra = c.unknownMembers()
	if c.err != nil {
		return wording.Errorf("context: %w", c.err)
	}
	return nil
}

// DecodeValue reads a snapshot.
func (s *MemorySnapshot) DecodeValue(v value.Value) error {
	*s = MemorySnapshot{}
	f, err := newFields(v)
	if err != nil {
		return err
	}
	f.readText("id", &s.ID)
	f.readTexts("key_points", &s.KeyPoints)
	f.readTexts("memory_refs", &s.MemoryRefs)
	f.readText("category", &s.Category)
	f.readTime("timestamp", &s.Timestamp)
	if importance, ok := f.takeMember("importance"); ok {
		s.Importance, ok = importance.Float()
		if !ok {
			f.addError("importance: want a number, got %s", importance.Kind())
		}
		s.Importance = min(1, max(0, s.Importance))
	}
	s.Extra = f.unknownMembers()
	return f.err
}

// DecodeValue reads a meta snapshot.
func (s *MetaSnapshot) DecodeValue(v value.Value) error {
	*s = MetaSnapshot{}
	f, err := newFields(v)
	if err != nil {
		return err
	}
	f.readText("id", &s.ID)
	f.readText("category", &s.Category)
	f.readTexts("keywords", &s.Keywords)
	f.readTexts("snapshot_refs", &s.SnapshotRefs)
	f.readText("description", &s.Description)
	f.readTime("timestamp", &s.Timestamp)
	s.Extra = f.unknownMembers()
	return f.err
}

// fields reads the members of an object one by one and keeps the first error.
type fields struct {
	left *value.Map
	err  error
}

func newFields(v value.Value) (*fields, error) {
	if v.Kind() != value.Object {
		return nil, wording.Errorf("want an object, got %s", v.Kind())
	}
	return &fields{left: v.Map().Clone()}, nil
}

func (f *fields) addError(format string, args ...any) {
	if f.err == nil {
		f.err = wording.Errorf(format, args...)
	}
}

func (f *fields) takeMember(key string) (value.Value, bool) {
	v, ok := f.left.Get(key)
	if ok {
		f.left.Delete(key)
	}
	return v, ok
}

func (f *fields) readText(key string, to *string) {
	if v, ok := f.takeMember(key); ok && !v.IsNull() {
		*to, ok = v.Str()
		if !ok {
			f.addError("%s: want a string, got %s", key, v.Kind())
		}
	}
}

func (f *fields) readTexts(key string, to *[]string) {
	v, ok := f.takeMember(key)
	if !ok || v.IsNull() {
		return
	}
	if v.Kind() != value.List {
		f.addError("%s: want an array of strings, got %s", key, v.Kind())
	}
	for i, item := range v.List() {
		text, ok := item.Str()
		if !ok {
			f.addError("%s/%d: want a string, got %s", key, i, item.Kind())
		}
		*to = append(*to, text)
	}
}

func (f *fields) readTime(key string, to *time.Time) {
	var text string
	f.readText(key, &text)
	if text == "" {
		return
	}
	var err error
	*to, err = ParseTime(text)
	if err != nil {
		f.addError("%s: %w", key, err)
	}
}

func (f *fields) unknownMembers() *value.Map {
	if f.left.Len() == 0 {
		return nil
	}
	return f.left
}

// Speaker returns the speaker's name according to the other context, which is an object with speaker or just the
// name; else "".
func (m *BaseMemory) Speaker() string {
	if name := m.otherText("speaker"); name != "" {
		return strings.TrimSpace(name)
	}
	text, _ := m.Context.Other.Str()
	return rank.SpeakerOf(text)
}

// Role returns the chat role of an utterance according to the other context; else "".
func (m *BaseMemory) Role() string { return m.otherText("role") }

// SetRole puts a chat role into the other context. A text there becomes an object
// {text, role}.
func (m *BaseMemory) SetRole(role string) {
	object := m.otherObject()
	other := object.Map().Clone()
	if k := object.Kind(); k != value.Object && k != value.Null {
		other.Set("text", object)
	}
	other.Set("role", value.OfString(role))
	m.Context.Other = value.OfMap(other)
}

// otherObject returns the other context, parsed if it is the JSON of an object.
func (m *BaseMemory) otherObject() value.Value {
	o := m.Context.Other
	if text, ok := o.Str(); ok && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if parsed, err := value.ParseJSON([]byte(text)); err == nil {
			return parsed
		}
	}
	return o
}

// otherText returns a text in the other context.
func (m *BaseMemory) otherText(key string) string {
	v, _ := m.otherObject().Get(key)
	s, _ := v.Str()
	return s
}

// MaxContent bounds the content of a memory, in bytes: a larger one would match
// everything and slow down every search.
const MaxContent = 1 << 20

// Normalize puts a memory into the form in which it is stored, with an id and a time.
// It refuses empty or too large content, wrong ids, texts that are not UTF-8, and times
// out of range with an [*calls.Error] of kind Invalid.
func (m *BaseMemory) Normalize(now time.Time) error {
	if strings.TrimSpace(m.Content) == "" {
		return calls.Errorf(calls.Invalid, "the content of a memory is empty").WithHint("give content, a text")
	}
	if n := len(m.Content); n > MaxContent {
		return calls.Errorf(calls.Invalid, "the content of a memory has %d bytes; the limit is %d", n, MaxContent).WithHint("save it in parts, such as paragraphs")
	}
	if !utf8.ValidString(m.Content) {
		return calls.Errorf(calls.Invalid, "the content of a memory is not valid UTF-8").WithHint("convert it first, as iconv does: `iconv -f LATIN1 -t UTF-8`")
	}
	if err := CheckUser(m.Context.UserID); err != nil {
		return err
	}
	if err := CheckSession(m.Context.SessionID); err != nil {
		return err
	}
	if err := cmp.Or(CheckLine("user", m.Context.UserID), CheckLine("session", m.Context.SessionID)); err != nil {
		return err
	}
	if m.Timestamp.IsZero() {
		m.Timestamp = now
	}
	m.Timestamp = m.Timestamp.UTC().Truncate(time.Millisecond)
	if y := m.Timestamp.Year(); y < 0 || y > 9999 {
		return calls.Errorf(calls.Invalid, "invalid timestamp: the year %d is not between 0 and 9999", y)
	}
	if m.ID == "" {
		m.ID = m.NewID
	}
	m.NewID = ""
	if m.ID == "" {
		m.ID = NewID(MemoryID, now)
		return nil
	}
	id, err := CheckID(MemoryID, m.ID)
	m.ID = id
	return err
}

// IsRepetitionOf reports whether saving m would not change old, which has the same id. dated is false if m has
// come without a time.
func (m *BaseMemory) IsRepetitionOf(old *BaseMemory, dated bool) bool {
	again := *m
	if !dated {
		again.Timestamp = old.Timestamp
	}
	return old.Equal(&again)
}

// Equal reports whether two memories are equal apart from their ids.
func (m *BaseMemory) Equal(o *BaseMemory) bool {
	a, b := *m, *o
	a.ID, b.ID = "", ""
	return value.Equal(value.Must(a), value.Must(b))
}
