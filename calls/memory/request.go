package memory

import (
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Request is a search as files and parameters write it: current_query, history and timestamp.
type Request struct {
	CurrentQuery string    `json:"current_query"`
	History      []Message `json:"history"`
	// Timestamp is the present; with "" the caller decides. An offset such as +08:00 sets the time zone in which
	// yesterday and today are counted; Z and a time without offset leave that to the caller.
	Timestamp string `json:"timestamp,omitempty"`
}

// Message is an utterance of the history: {is_user, content, timestamp} or {role,
// content}.
type Message struct {
	IsUser  bool
	Content string
}

// JSONSchema describes both forms.
func (Message) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("type", "object", "required", []string{"content"}, "properties", value.Pairs(
		"is_user", value.Pairs("type", "boolean"), "role", value.Pairs("type", "string"),
		"content", value.Pairs("type", []string{"string", "array", "null"}), "timestamp", value.Pairs("type", []string{"string", "number", "null"}),
	)))
}

// EncodeValue writes the shorter form.
func (m Message) EncodeValue() (value.Value, error) {
	return value.OfMap(value.Pairs("is_user", m.IsUser, "content", m.Content)), nil
}

// DecodeValue reads either form. Of content in parts, the texts count.
func (m *Message) DecodeValue(v value.Value) error {
	*m = Message{}
	content, ok := v.Get("content")
	if !ok {
		return wording.Errorf("want an object with content, got %s", v.Kind())
	}
	m.Content, _ = content.Str()
	for _, part := range content.List() {
		text, _ := part.Get("text")
		s, _ := text.Str()
		m.Content += s
	}
	if user, ok := v.Get("is_user"); ok {
		m.IsUser, ok = user.Bool()
		if !ok {
			return wording.Errorf("is_user: want a boolean, got %s", user.Kind())
		}
		return nil
	}
	role, _ := v.Get("role")
	name, _ := role.Str()
	m.IsUser = name == "user"
	return nil
}

// Query returns the query for a request of these users in that session. now is the
// present if the request has none.
func (r *Request) Query(users Users, session string, now time.Time) (*Query, error) {
	q := &Query{Users: users, Session: session, Text: r.CurrentQuery, Now: now}
	if r.Timestamp != "" {
		var err error
		q.Now, err = ParseTime(r.Timestamp)
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "timestamp: %w", err)
		}
		q.Now = q.Now.In(zoneOf(r.Timestamp, now.Location()))
	}
	for _, m := range r.History {
		if m.IsUser && m.Content != "" {
			q.Earlier = append(q.Earlier, m.Content)
		}
	}
	return q, nil
}

// Response is the answer to a request: relevant_memories, the best first.
type Response struct {
	RelevantMemories []RelevantMemory `json:"relevant_memories" doc:"The memories that matter, best first."`
	Notes            []string         `json:"notes,omitempty" doc:"What was not as it should be."`
}

// RelevantMemory is a memory in a response: memory_id, relevance_score and reason. The members below reason are included on
// request.
type RelevantMemory struct {
	MemoryID       string       `json:"memory_id"`
	RelevanceScore float64      `json:"relevance_score" min:"0" max:"1"`
	Reason         string       `json:"reason"`
	Content        string       `json:"content,omitempty"`
	Timestamp      string       `json:"timestamp,omitempty"`
	SnapshotIDs    *[]string    `json:"snapshot_ids,omitempty"`
	Context        *value.Value `json:"context,omitempty"`
	// Mark is [MarkContext] for a memory that was only found as a neighbour of a hit.
	Mark string `json:"mark,omitempty"`
}

// MarkContext marks a memory that is in a response because of the memories around it.
const MarkContext = "context"

// IncludeNeighbours asks for the neighbours of hits, which are below the default cut.
const IncludeNeighbours = "neighbours"

// Included returns the optional members of a response, besides id, score and reason: members of a memory, and
// further memories.
func Included() []string {
	return []string{"content", "timestamp", "snapshot_ids", "context", IncludeNeighbours}
}

// Response returns the search result as a response. include selects members of [Included].
func (f *Found) Response(include ...string) *Response {
	r := &Response{RelevantMemories: []RelevantMemory{}, Notes: f.Notes}
	for i := range f.Memories {
		s := &f.Memories[i]
		m := RelevantMemory{MemoryID: s.Memory.ID, RelevanceScore: s.Relevance, Reason: s.Reason}
		if slices.Contains(include, "content") {
			m.Content = s.Memory.Content
		}
		if slices.Contains(include, "timestamp") {
			m.Timestamp = FormatTime(s.Memory.Timestamp)
		}
		if slices.Contains(include, "snapshot_ids") {
			ids := nonNil(s.Snapshots)
			m.SnapshotIDs = &ids
		}
		if slices.Contains(include, "context") {
			context, _ := value.Must(s.Memory).Get("context")
			m.Context = &context
		}
		if s.Neighbour {
			m.Mark = MarkContext
		}
		r.RelevantMemories = append(r.RelevantMemories, m)
	}
	return r
}
