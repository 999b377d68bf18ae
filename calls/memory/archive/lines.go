package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// maxLine bounds a line of JSON Lines.
const maxLine = 16 << 20

// ImportLines saves the memories of a file of JSON Lines. Each line is a memory or an utterance: {is_user,
// content, timestamp} or {role, content}. The file is read twice: if a line is invalid, the error names it and
// nothing is saved. Lines without a user or a session get the user or session of the options; memories of users
// who are not selected are counted and left out.
func ImportLines(ctx context.Context, store Destination, name string, file io.ReadSeeker, options Options) (r Report, err error) {
	if err := options.Users.Check(); err != nil {
		return r, err
	}
	total, others, err := checkLines(ctx, store, name, file, options)
	if err != nil {
		return r, err
	}
	r.Others = others
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return r, wording.Errorf("importing %s: %w", name, err)
	}
	var batch []memory.BaseMemory
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		saved, err := store.SaveMemories(ctx, batch)
		if err != nil {
			return wording.Errorf("importing %s: %w", name, err)
		}
		r.addSaved(saved)
		batch, size = batch[:0], 0
		if options.Progress != nil {
			options.Progress(r.Memories, total)
		}
		return nil
	}
	now, read := time.Now(), 0
	err = readLines(ctx, store, name, file, options, func(_ int, m memory.BaseMemory) error {
		if !options.Users.Has(m.Context.UserID) {
			return nil
		}
		read++
		if m.Timestamp.IsZero() {
			known, err := memoryExists(ctx, store, m.ID)
			if err != nil {
				return wording.Errorf("importing %s: %w", name, err)
			}
			if !known { // one after the other, so that repeated utterances are kept
				m.Timestamp = now.Add(time.Duration(read-total) * time.Millisecond)
			}
		}
		batch = append(batch, m)
		size += len(m.Content)
		if len(batch) < 5*batchSize && size < batchBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return r, err
	}
	return r, flush()
}

// memoryExists reports whether there is a memory with that id.
func memoryExists(ctx context.Context, store Destination, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	old, err := store.LoadMemory(ctx, id)
	return old != nil, err
}

// checkLines validates all lines; n counts the memories to save, others the memories of users who are not
// selected.
func checkLines(ctx context.Context, store Destination, name string, file io.Reader, options Options) (n, others int, err error) {
	owners := map[string]string{}
	err = readLines(ctx, store, name, file, options, func(line int, m memory.BaseMemory) error {
		user, given := m.Context.UserID, m.ID != ""
		if err := m.Normalize(m.Timestamp); err != nil {
			return wrapLine(name, line, err)
		}
		if !options.Users.Has(user) {
			others++
			return nil
		}
		n++
		if !given {
			return nil
		}
		owner, known := owners[m.ID]
		if !known {
			old, err := store.LoadMemory(ctx, m.ID)
			if err != nil {
				return err
			}
			if old != nil {
				owner, known = old.Context.UserID, true
			}
		}
		if known && owner != user {
			return wrapLine(name, line, memory.NewForeignIDError(m.ID))
		}
		owners[m.ID] = user
		return nil
	})
	return n, others, err
}

func wrapLine(name string, line int, err error) error {
	return &calls.Error{Kind: calls.Invalid, Hint: calls.HintOf(err), Err: wording.Errorf("%s:%d: %w", name, line, err)}
}

// readLines reads the memories of the lines; empty lines are skipped.
func readLines(ctx context.Context, store Destination, name string, file io.Reader, options Options, use func(line int, m memory.BaseMemory) error) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for line := 1; lines.Scan(); line++ {
		if line&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text := bytes.TrimSpace(lines.Bytes())
		if line == 1 {
			text = value.WithoutMark(text)
		}
		if len(text) == 0 {
			continue
		}
		m, err := options.parseLine(text)
		if err != nil {
			return wrapLine(name, line, err)
		}
		if options.OwnIDs && m.ID != "" {
			m.ID, err = memory.OwnID(ctx, store, m.Context.UserID, m.ID)
			if calls.KindOf(err) == calls.Invalid {
				return wrapLine(name, line, err)
			}
			if err != nil {
				return wording.Errorf("importing %s: %w", name, err)
			}
		}
		if err := use(line, m); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return calls.Errorf(calls.Invalid, "%s: a line is longer than %d bytes", name, maxLine)
		}
		return wording.Errorf("importing %s: %w", name, err)
	}
	return nil
}

// ErrJSON returns the error for invalid JSON in a line; err is the parser's, which
// counts lines too.
func ErrJSON(err error) error {
	text := wording.OfError(err)
	column, en, _ := strings.Cut(strings.TrimPrefix(text.En, "1:"), ": ")
	_, zh, _ := strings.Cut(text.Zh, ": ")
	return wording.Errorf("column %s: %s", column, wording.Text{En: en, Zh: zh})
}

// parseLine parses a line.
func (o *Options) parseLine(text []byte) (m memory.BaseMemory, err error) {
	v, err := value.ParseStrictJSON(text)
	if err != nil {
		return m, ErrJSON(err)
	}
	if err := m.DecodeValue(v); err != nil {
		return m, err
	}
	context, _ := v.Get("context")
	for _, name := range [...]string{"user_id", "session_id"} {
		_, flat := v.Get(name)
		_, said := context.Get(name)
		// Without its user it would belong to another user; a memory with a context may have members of other
		// names beside it.
		belongsInside := name == "user_id" || context.IsNull()
		if flat && !said && belongsInside {
			return m, calls.Errorf(calls.Invalid, "%s stands beside the context, not in it", name).
				WithHint(`write "context": {"%s": ...}`, name)
		}
	}
	if user, ok := o.Users.One(); ok {
		if _, said := context.Get("user_id"); !said {
			m.Context.UserID = user
		}
	}
	if _, said := context.Get("session_id"); !said {
		m.Context.SessionID = o.Session
	}
	return m, setRole(&m)
}

// setRole moves the role of an utterance to the other context.
func setRole(m *memory.BaseMemory) error {
	role := ""
	if v, ok := m.Extra.Get("is_user"); ok {
		isUser, ok := v.Bool()
		if !ok {
			return wording.Errorf("is_user: want a boolean, got %s", v.Kind())
		}
		role = "assistant"
		if isUser {
			role = "user"
		}
	}
	if v, ok := m.Extra.Get("role"); ok {
		role, ok = v.Str()
		if !ok {
			return wording.Errorf("role: want a string, got %s", v.Kind())
		}
	}
	if role == "" {
		return nil
	}
	m.SetRole(role)
	m.Extra = m.Extra.Clone()
	m.Extra.Delete("is_user")
	m.Extra.Delete("role")
	if m.Extra.Len() == 0 {
		m.Extra = nil
	}
	return nil
}

// Spool copies a stream that can be read once, such as standard input, to a temporary
// file. closeFile removes it.
func Spool(r io.Reader) (file io.ReadSeeker, closeFile func() error, err error) {
	f, err := os.CreateTemp("", "memories-*.jsonl")
	if err != nil {
		return nil, nil, err
	}
	closeFile = func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }
	_, err = io.Copy(f, r)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeFile())
	}
	return f, closeFile, nil
}

// ExportLines writes the memories of users as JSON Lines.
func ExportLines(ctx context.Context, store memory.Lister, users memory.Users, w io.Writer) (n int, err error) {
	out := bufio.NewWriter(w)
	for m, err := range store.Memories(ctx, memory.Selection{Users: users}) {
		if err != nil {
			return n, err
		}
		line := value.Must(m).JSON()
		if strings.Contains(line, "\n") {
			return n, calls.Errorf(calls.Internal, "the memory %s has a line break in its JSON", m.ID)
		}
		if _, err := out.WriteString(line + "\n"); err != nil {
			return n, wording.Errorf("exporting memories: %w", err)
		}
		n++
	}
	return n, out.Flush()
}
