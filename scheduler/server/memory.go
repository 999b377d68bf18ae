package server

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// registerMemory adds the endpoints for memories.
func (s *Server) registerMemory() {
	const list, one = base + "/memory", base + "/memory/{id}"
	gone := []int{http.StatusNotFound}
	addEndpoint(s, endpoint{method: http.MethodGet, path: list, id: "list-memories", summary: "List a user's memories, the newest first", scope: store.MemoryRead}, s.listMemories)
	addEndpoint(s, endpoint{method: http.MethodPost, path: list, id: "add-memory", summary: "Save a memory", scope: store.MemoryWrite, status: http.StatusCreated}, s.addMemory)
	addEndpoint(s, endpoint{method: http.MethodGet, path: one, id: "get-memory", summary: "Get a memory or a snapshot", scope: store.MemoryRead, errors: gone}, s.getMemory)
	addEndpoint(s, endpoint{method: http.MethodDelete, path: one, id: "delete-memory", summary: "Delete a memory", scope: store.MemoryWrite, errors: gone}, s.deleteMemory)
	addEndpoint(s, endpoint{method: http.MethodPost, path: list + "/search", id: "search-memories", summary: "Search a user's memories", scope: store.MemoryRead}, s.searchMemories)
	addEndpoint(s, endpoint{method: http.MethodGet, path: list + "/snapshots", id: "list-snapshots", summary: "List a user's snapshots", scope: store.MemoryRead}, s.listSnapshots)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: list + "/snapshots", id: "make-snapshots", summary: "Make snapshots of all that is new in a user's memory", scope: store.MemoryWrite,
		errors: []int{http.StatusBadGateway, http.StatusGatewayTimeout},
	}, s.makeSnapshots)
	addEndpoint(s, endpoint{method: http.MethodGet, path: list + "/stats", id: "get-memory-stats", summary: "Count a user's memories", scope: store.MemoryRead}, s.memoryStats)
	addEndpoint(s, endpoint{method: http.MethodGet, path: list + "/users", id: "list-memory-users", summary: "List the users who have memories", scope: store.Admin}, s.memoryUsers)
	addEndpoint(s, endpoint{method: http.MethodGet, path: list + "/export", id: "export-memories", summary: "Export memories as JSON lines", scope: store.MemoryRead, media: []string{jsonLines}}, s.exportMemories)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: list + "/import", id: "import-memories", summary: "Import memories from JSON lines: all of them, or none where a line is wrong", scope: store.MemoryWrite,
		bodyMedia: jsonLines,
	}, s.importMemories)
}

const jsonLines = "application/x-ndjson"

// OfUser is the input of endpoints about the memories of one user.
type OfUser struct {
	User string `query:"user" doc:"Whose memories; the token's user by default."`
}

// usersOf returns whose memories a request is about.
func (s *Server) usersOf(ctx context.Context, user, pointer string) (memory.Users, error) {
	name, err := s.memoryUser(ctx, user, pointer)
	return memory.User(name), err
}

// memoryUser returns the user whose memories a request is about.
func (s *Server) memoryUser(ctx context.Context, user, pointer string) (string, error) {
	p := principalOf(ctx)
	if p.Bound && user != "" && user != p.User {
		return "", foreignUser(user, pointer)
	}
	name := cmp.Or(user, p.User)
	if name == "" {
		return "", calls.Errorf(calls.Missing, "no user is given").WithHint("give user: the token is not bound to one")
	}
	return name, memory.CheckUser(name)
}

type listMemoriesInput struct {
	OfUser
	Session string `query:"session"`
	Before  string `query:"before" doc:"Only memories from before this time."`
	Limit   int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor  string `query:"cursor" doc:"next of the page before: another way to write before."`
}

// listMemories lists a user's memories, the newest first.
func (s *Server) listMemories(ctx context.Context, in *listMemoriesInput) (*body[page[value.Value]], error) {
	users, err := s.usersOf(ctx, in.User, "")
	if err != nil {
		return nil, err
	}
	which := memory.Selection{Users: users, Session: in.Session, HasSession: in.Session != ""}
	before, last, _ := strings.Cut(cmp.Or(in.Cursor, in.Before), cursorSeparator)
	if before != "" {
		which.Before, err = memory.ParseTime(before)
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "before: %w", err)
		}
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	list, err := memoriesAfter(ctx, p.Store, which, last, in.Limit+1)
	if err != nil {
		return nil, err
	}
	list, next := cutMemories(list, in.Limit)
	items := make([]value.Value, len(list))
	for i, m := range list {
		items[i] = value.Must(m)
	}
	return newPage(items, next), nil
}

// cursorSeparator is between the time of a cursor and the memory that the next ones come after.
const cursorSeparator = ","

// memoriesAfter returns n memories, the newest first: the ones after the memory with the id last, which is of the
// last millisecond of the selection; with "", or if that one is gone, from the first on.
func memoriesAfter(ctx context.Context, s memory.Store, which memory.Selection, last string, n int) ([]memory.BaseMemory, error) {
	for which.Newest = n; ; which.Newest *= 4 {
		var list []memory.BaseMemory
		for m, err := range s.Memories(ctx, which) {
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		}
		slices.Reverse(list)
		isWhole := len(list) < which.Newest
		at := slices.IndexFunc(list, func(m memory.BaseMemory) bool { return m.ID == last })
		mayFollow := last != "" && at < 0 && !isWhole && list[len(list)-1].Timestamp.Equal(which.Before.Add(-time.Millisecond))
		rest := list[at+1:]
		if !mayFollow && (isWhole || len(rest) >= n) {
			return rest[:min(n, len(rest))], nil
		}
	}
}

// cutMemories returns at most limit memories, and the cursor of the next ones.
// Memories of the same millisecond stay together, as far as they fit.
func cutMemories(list []memory.BaseMemory, limit int) (some []memory.BaseMemory, next string) {
	if len(list) <= limit {
		return list, ""
	}
	boundary := list[limit].Timestamp
	cut := slices.IndexFunc(list, func(m memory.BaseMemory) bool { return m.Timestamp.Equal(boundary) })
	next = memory.FormatTime(boundary.Add(time.Millisecond))
	if cut == 0 {
		return list[:limit], next + cursorSeparator + list[limit-1].ID
	}
	return list[:cut], next
}

type addMemoryInput struct {
	Body struct {
		Content   string      `json:"content" minLength:"1"`
		User      string      `json:"user,omitempty"`
		Session   string      `json:"session,omitempty"`
		Role      string      `json:"role,omitempty" doc:"The chat role of who said it."`
		Timestamp string      `json:"timestamp,omitempty" doc:"When it happened; now by default."`
		Context   value.Value `json:"context,omitempty" doc:"More about it: a text or an object."`
	}
}

// addMemory saves a memory.
func (s *Server) addMemory(ctx context.Context, in *addMemoryInput) (*body[memory.Saved], error) {
	user, err := s.memoryUser(ctx, in.Body.User, "/user")
	if err != nil {
		return nil, err
	}
	m := memory.BaseMemory{Content: in.Body.Content, Context: memory.Context{UserID: user, SessionID: in.Body.Session, Other: in.Body.Context}}
	if in.Body.Timestamp != "" {
		m.Timestamp, err = memory.ParseTime(in.Body.Timestamp)
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "timestamp: %w", err)
		}
	}
	if in.Body.Role != "" {
		m.SetRole(in.Body.Role)
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	saved, err := p.Store.SaveMemories(ctx, []memory.BaseMemory{m})
	if err != nil {
		return nil, err
	}
	return &body[memory.Saved]{saved[0]}, nil
}

// OneMemory is the input of endpoints about one memory or snapshot.
type OneMemory struct {
	OfUser
	ID string `path:"id" doc:"The id of a memory, a snapshot or a meta snapshot."`
}

type getMemoryInput struct {
	OneMemory
	History bool `query:"history" doc:"Adds old_versions, what the memory was before it was saved again, the newest first."`
}

// getMemory returns a memory or a snapshot of the caller's user.
func (s *Server) getMemory(ctx context.Context, in *getMemoryInput) (*body[value.Value], error) {
	p, which, err := s.selectID(ctx, &in.OneMemory)
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(in.ID, "_")
	var found *value.Value
	switch memory.Kind(kind) {
	case memory.SnapshotID:
		found, err = firstOf(p.Store.Snapshots(ctx, which))
	case memory.MetaID:
		found, err = firstOf(p.Store.MetaSnapshots(ctx, which))
	case memory.MemoryID:
		found, err = firstOf(p.Store.Memories(ctx, which))
		if err == nil && found != nil && in.History {
			err = addOldVersions(ctx, p.Store, in.ID, found.Map())
		}
	}
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, notFound("there is no memory %q", value.Truncate(in.ID, 80))
	}
	return &body[value.Value]{*found}, nil
}

// selectID returns the memory, and the selection of an id in it: among everyone's memories if the caller is not
// bound.
func (s *Server) selectID(ctx context.Context, in *OneMemory) (*memory.SnapshotProcessor, memory.Selection, error) {
	which := memory.Selection{Users: memory.AllUsers(), ID: in.ID}
	var err error
	if in.User != "" || principalOf(ctx).Bound {
		which.Users, err = s.usersOf(ctx, in.User, "")
		if err != nil {
			return nil, which, err
		}
	}
	p, err := s.options.Service.Memory(ctx)
	return p, which, err
}

// addOldVersions adds the earlier versions of a memory, the newest first, to its document.
func addOldVersions(ctx context.Context, store memory.Historian, id string, doc *value.Map) error {
	old, err := store.History(ctx, id)
	if err != nil {
		return err
	}
	versions := make([]value.Value, 0, len(old))
	for _, one := range slices.Backward(old) {
		v, err := encodeJSON(one)
		if err != nil {
			return err
		}
		versions = append(versions, v)
	}
	doc.Set("old_versions", value.OfList(versions...))
	return nil
}

// firstOf returns the first of a list as JSON; nil if there is none.
func firstOf[T any](list iter.Seq2[T, error]) (*value.Value, error) {
	for x, err := range list {
		if err != nil {
			return nil, err
		}
		v, err := encodeJSON(x)
		return &v, err
	}
	return nil, nil
}

// encodeJSON returns a memory or a snapshot as JSON.
func encodeJSON(x any) (value.Value, error) {
	switch one := x.(type) {
	case memory.Owned[memory.MemorySnapshot]:
		return value.Of(one.Snapshot)
	case memory.Owned[memory.MetaSnapshot]:
		return value.Of(one.Snapshot)
	}
	return value.Of(x)
}

// deleteMemory deletes a memory of the caller's user.
func (s *Server) deleteMemory(ctx context.Context, in *OneMemory) (*body[memory.Deleted], error) {
	p, which, err := s.selectID(ctx, in)
	if err != nil {
		return nil, err
	}
	deleted, err := p.Store.Delete(ctx, which)
	if err != nil {
		return nil, err
	}
	if deleted.Memories == 0 {
		return nil, notFound("there is no memory %q", value.Truncate(in.ID, 80))
	}
	return &body[memory.Deleted]{deleted}, nil
}

type searchMemoriesInput struct {
	Body struct {
		Query        string   `json:"query" minLength:"1"`
		User         string   `json:"user,omitempty"`
		Session      string   `json:"session,omitempty" doc:"The session of the question: its memories count a little more."`
		Limit        int      `json:"limit,omitempty" minimum:"1" maximum:"200" doc:"10 by default."`
		MinRelevance *float64 `json:"min_relevance,omitempty" minimum:"0" maximum:"1" doc:"Only memories above; 0.5 by default, 0 cuts nothing off."`
		AsOf         string   `json:"as_of,omitempty" doc:"The present: later memories are left out."`
	}
}

// searchMemories searches a user's memories.
func (s *Server) searchMemories(ctx context.Context, in *searchMemoriesInput) (*body[shaped[memory.Response]], error) {
	users, err := s.usersOf(ctx, in.Body.User, "/user")
	if err != nil {
		return nil, err
	}
	user, _ := users.One()
	q := &memory.Query{
		Users: users, Session: in.Body.Session, Text: in.Body.Query, Now: s.options.Service.TimeOf(user, time.Now()), Limit: cmp.Or(in.Body.Limit, memory.DefaultLimit), MinRelevance: memory.DefaultMinRelevance,
		Language: s.languageOf(ctx),
	}
	if in.Body.MinRelevance != nil {
		q.MinRelevance = *in.Body.MinRelevance
	}
	if in.Body.AsOf != "" {
		q.Now, err = memory.ParseTimeIn(in.Body.AsOf, q.Now.Location())
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "as_of: %w", err)
		}
		q.AsOf = true
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	found, err := p.GetRelevantMemories(ctx, q)
	if err != nil {
		return nil, err
	}
	return &body[shaped[memory.Response]]{shaped[memory.Response]{value.Must(found.Response("content", "timestamp", "context", "snapshot_ids"))}}, nil
}

type listSnapshotsInput struct {
	OfUser
	Listing
}

// listSnapshots lists a user's snapshots and meta snapshots by their ids.
func (s *Server) listSnapshots(ctx context.Context, in *listSnapshotsInput) (*body[page[value.Value]], error) {
	users, err := s.usersOf(ctx, in.User, "")
	if err != nil {
		return nil, err
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	items := []value.Value{}
	collect := func(x any, err error) error {
		if err == nil {
			var v value.Value
			v, err = encodeJSON(x)
			items = append(items, v)
		}
		return err
	}
	which := memory.Selection{Users: users}
	for x, err := range p.Store.Snapshots(ctx, which) {
		if err := collect(x, err); err != nil {
			return nil, err
		}
	}
	for x, err := range p.Store.MetaSnapshots(ctx, which) {
		if err := collect(x, err); err != nil {
			return nil, err
		}
	}
	return pageOf(items, &in.Listing, func(v value.Value) string { return textOf(v, "id") }), nil
}

// madeSnapshots lists the snapshots that a request made.
type madeSnapshots struct{ memory.Report }

// makeSnapshots makes a user's snapshots at once, whether they are due or not. If the model provider fails, that is the error; snapshots that
// were made before are kept, and a further request tries the others again.
func (s *Server) makeSnapshots(ctx context.Context, in *OfUser) (*body[madeSnapshots], error) {
	users, err := s.usersOf(ctx, in.User, "")
	if err != nil {
		return nil, err
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	report, err := s.options.Service.MakeSnapshots(ctx, p, users, true)
	if err == nil {
		err = report.ModelFailure()
	}
	if err != nil {
		return nil, err
	}
	return &body[madeSnapshots]{madeSnapshots{report.Report}}, nil
}

// memoryStats counts a user's memories; an administrator may leave the user out.
func (s *Server) memoryStats(ctx context.Context, in *OfUser) (*body[memory.Stats], error) {
	users, err := s.usersOrAll(ctx, in.User)
	if err != nil {
		return nil, err
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := p.Store.Stats(ctx, users)
	return &body[memory.Stats]{stats}, err
}

// usersOrAll returns a user, or everyone for an administrator who names none.
func (s *Server) usersOrAll(ctx context.Context, user string) (memory.Users, error) {
	p := principalOf(ctx)
	if !p.Bound && requestOf(ctx).caller.token.Allows(store.Admin) && user == "" {
		return memory.AllUsers(), nil
	}
	return s.usersOf(ctx, user, "")
}

// memoryUserItem is a user who has memories.
type memoryUserItem struct {
	User     string `json:"user"`
	Memories int    `json:"memories"`
}

// memoryUsers lists the users who have memories.
func (s *Server) memoryUsers(ctx context.Context, in *Listing) (*body[page[memoryUserItem]], error) {
	if p := refuseBound(ctx); p != nil {
		return nil, p
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	var items []memoryUserItem
	for m, err := range p.Store.Memories(ctx, memory.Selection{Users: memory.AllUsers()}) {
		if err != nil {
			return nil, err
		}
		if n := len(items); n == 0 || items[n-1].User != m.Context.UserID {
			items = append(items, memoryUserItem{User: m.Context.UserID})
		}
		items[len(items)-1].Memories++
	}
	return pageOf(items, in, func(i memoryUserItem) string { return i.User }), nil
}

// exportMemories writes a user's memories as JSON lines; other users' memories are for administrators.
func (s *Server) exportMemories(ctx context.Context, in *OfUser) (*stream, error) {
	users, err := s.usersOrAll(ctx, in.User)
	if err != nil {
		return nil, err
	}
	if !principalOf(ctx).Bound {
		if p := checkScope(requestOf(ctx).caller, store.Admin); p != nil {
			return nil, p
		}
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	return &stream{func(hctx huma.Context) {
		r, w := humago.Unwrap(hctx)
		w.Header().Set("Content-Type", jsonLines)
		if _, err := archive.ExportLines(r.Context(), p.Store, users, w); err != nil {
			s.options.Log.Error("an export broke off", "request", requestOf(r.Context()).id, "error", err)
			panic(http.ErrAbortHandler) // the client must not treat it as complete
		}
	}}, nil
}

// importTimeout limits the time in which a client must send an import.
const importTimeout = 10 * time.Minute

type importMemoriesInput struct {
	OfUser
	Session string `query:"session" doc:"The session of lines that name none."`
}

// importMemories saves memories of JSON lines.
func (s *Server) importMemories(ctx context.Context, in *importMemoriesInput) (*body[archive.Report], error) {
	users, err := s.usersOrAll(ctx, in.User)
	if err != nil {
		return nil, err
	}
	p, err := s.options.Service.Memory(ctx)
	if err != nil {
		return nil, err
	}
	req := requestOf(ctx)
	_ = req.rc.SetReadDeadline(time.Now().Add(importTimeout)) // not all connections have one
	file, closeFile, err := archive.Spool(req.http.Body)
	if err != nil {
		return nil, bodyProblem(err)
	}
	defer func() { _ = closeFile() }() // it was only read
	report, err := archive.ImportLines(ctx, p.Store, wording.Say("the body").In(s.languageOf(ctx)), file, archive.Options{Users: users, Session: in.Session, OwnIDs: principalOf(ctx).Bound})
	return &body[archive.Report]{report}, err
}

// bodyProblem returns why a body could not be read or kept.
func bodyProblem(err error) error {
	var tooLarge *http.MaxBytesError
	var ofDisk *fs.PathError
	switch {
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, "invalid", wording.Say("the body is too large"), wording.Say("send it in parts"))
	case errors.As(err, &ofDisk):
		return err
	}
	return brokenBody()
}

// brokenBody is the answer to a body that breaks off, or is not framed as HTTP wants it: the fault of the client, not of the server.
func brokenBody() *Problem {
	return newProblem(http.StatusBadRequest, "invalid", wording.Say("the body breaks off or is damaged"), wording.Say("send the request again"))
}
