package suite

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// memoryWant is a memory as a test file writes it.
type memoryWant struct {
	ID        string `json:"id,omitempty" doc:"What checks know it by."`
	Content   string `json:"content" min:"1" doc:"The text."`
	Role      string `json:"role,omitempty" enum:"user|assistant" doc:"Who said it."`
	User      string `json:"user,omitempty" doc:"Whose memory it is. Default: the user of the flow."`
	Session   string `json:"session,omitempty" doc:"The conversation. Default: that of the flow."`
	Timestamp string `json:"timestamp,omitempty" doc:"When it was said. Default: the clock of the case, a minute before for each memory after it."`
}

var memorySchema = sync.OnceValue(schema.MustFor[memoryWant])

// memoryRecord is a memory, and its place in the file.
type memoryRecord struct {
	pos flow.Position
	memory.BaseMemory
	// name is its name in checks; "" is its id in the store.
	name string
}

// readMemory reads the memories of a case: a list, or a file.
func (r *reader) readMemory(pointer string, v value.Value) (records []*memoryRecord) {
	if file, isFile := v.Str(); isFile {
		return r.readMemoryFile(pointer, file)
	}
	for i, item := range v.List() {
		at := pointer + "/" + strconv.Itoa(i)
		if record := r.readRecord(item, func(below string) flow.Position { return r.at(at + below) }); record != nil {
			records = append(records, record)
		}
	}
	return records
}

func (r *reader) readMemoryFile(pointer, file string) (records []*memoryRecord) {
	path, content, err := r.folder().Read(file)
	if err != nil {
		r.reportOnce(r.at(pointer), wording.Say("cannot read %s: %w", file, calls.WithoutPath(err)), files.Hint(err))
		return nil
	}
	r.dataFiles[path] = true
	if !r.checkText(path, content) {
		return nil
	}
	line := 0
	for text := range bytes.Lines(value.WithoutMark(content)) {
		line++
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		pos := flow.Position{File: path, Line: line, Col: 1}
		v, err := value.ParseStrictJSON(text)
		if err != nil {
			r.reportOnce(pos, wording.Say("the line is not JSON: %w", err), wording.Text{})
			continue
		}
		if record := r.readRecord(v, func(string) flow.Position { return pos }); record != nil {
			records = append(records, record)
		}
	}
	return records
}

// readRecord reads a memory in the short form, or as memory export writes it.
func (r *reader) readRecord(v value.Value, at func(below string) flow.Position) *memoryRecord {
	record := &memoryRecord{pos: at("")}
	if _, isExported := v.Get("context"); isExported {
		if err := record.DecodeValue(v); err != nil {
			r.reportOnce(at(""), wording.OfError(err), wording.Text{})
			return nil
		}
		return record
	}
	problems := memorySchema().Check(v)
	for _, p := range problems {
		message, hint := p.Text()
		r.reportOnce(at(p.Pointer), message, hint)
	}
	var want memoryWant
	if problems != nil || value.Decode(v, &want) != nil {
		return nil
	}
	record.Content = want.Content
	record.Context.UserID, record.Context.SessionID = want.User, want.Session
	if want.Role != "" {
		record.SetRole(want.Role)
	}
	if want.Timestamp != "" {
		at := at("/timestamp")
		var err error
		record.Timestamp, err = memory.ParseTime(want.Timestamp)
		if err != nil {
			r.reportOnce(at, wording.OfError(err), wording.Text{})
		}
	}
	if _, err := memory.CheckID(memory.MemoryID, want.ID); err == nil {
		record.ID = want.ID
	} else {
		record.name = want.ID
	}
	return record
}

// inputsScope holds the names for templates of a flow's memory: the inputs, and the user of the run.
type inputsScope struct {
	inputs value.Value
	user   string
}

// Lookup finds inputs, the question and run.
func (s inputsScope) Lookup(name string) (value.Value, bool, error) {
	switch name {
	case "inputs":
		return s.inputs, true, nil
	case "question":
		v, ok := s.inputs.Get("question")
		return v, ok, nil
	case "run":
		return value.Must(calls.Run{User: s.user}), true, nil
	}
	return value.Value{}, false, nil
}

// placeMemory sets, for the memories of a case, their users, sessions, times and ids.
func (r *reader) placeMemory(c *Case, records []*memoryRecord) {
	if len(records) == 0 {
		return
	}
	scope := inputsScope{c.Flow.Inputs.ApplyDefaults(c.Inputs), c.User}
	user, session := renderScope(c.Flow.User, scope), renderScope(c.Flow.Session, scope)
	c.MemoryNames = map[string]string{}
	for i, record := range records {
		m := record.BaseMemory
		if m.Context.UserID == "" {
			m.Context.UserID = user
		}
		if m.Context.SessionID == "" {
			m.Context.SessionID = session
		}
		if m.Context.UserID == "" {
			r.reportOnce(record.pos, wording.Say("the memory has no user, and the flow names none"), wording.Say("add user: NAME"))
			continue
		}
		if m.Timestamp.IsZero() {
			m.Timestamp = c.Now.Add(-time.Duration(len(records)-i) * time.Minute)
		}
		if m.ID == "" {
			key := strings.Join([]string{record.name, strconv.Itoa(i), m.Content}, "\x00")
			m.ID = memory.DeriveID(memory.MemoryID, key, m.Timestamp)
		}
		if record.name != "" {
			c.MemoryNames[m.ID] = record.name
		}
		if err := m.Normalize(m.Timestamp); err != nil {
			r.reportOnce(record.pos, wording.OfError(err), wording.Text{})
			continue
		}
		c.Memory = append(c.Memory, m)
	}
}

// checkMemories reports the memories that checks name and the case does not have. The flow can only find the
// memories of the case. There are exceptions, for example a flow that saves some itself, or a step whose output
// comes from a mock or the state.
func (r *reader) checkMemories(made *Case) {
	var known []string
	for _, m := range made.Memory {
		known = append(known, cmp.Or(made.MemoryNames[m.ID], m.ID))
	}
	inputs := made.Flow.Inputs.ApplyDefaults(made.Inputs)
	for _, expected := range made.Expect {
		for _, m := range expected.Memories(made.RowValue, inputs) {
			if slices.Contains(known, m.ID) || givesMemories(made, m.Step) || mayStore(made.Flow) {
				continue
			}
			hint := wording.Say("give it under memory, with this id")
			if near := value.Nearest(m.ID, known); near != "" {
				hint = wording.Say("did you mean %q?", near)
			}
			pos := m.Pos
			pos.File = r.shown
			r.reportOnce(pos, wording.Say("the case %q has no memory %q", made.Name, m.ID), hint)
		}
	}
}

// givesMemories reports whether a case has the output of a step.
func givesMemories(made *Case, step string) bool {
	found, ok := made.Flow.FindStep(step)
	hasMock := slices.ContainsFunc(made.Mocks, func(m Mock) bool {
		isCall := m.Call != "" && ok && m.Call == found.Call
		return isCall || m.Step != "" && (m.Step == step || strings.HasPrefix(step, m.Step+"/") || strings.HasPrefix(m.Step, step+"["))
	})
	return hasMock || slices.ContainsFunc(made.State, func(s EndedStep) bool { return s.Step == step })
}

// mayStore reports whether a flow may save memories: by a step, by one of a flow that it runs, or by a tool of an agent.
func mayStore(f *flow.Flow) bool {
	return slices.ContainsFunc(f.Steps, func(s *flow.Step) bool {
		if s.Sub != nil {
			return mayStore(s.Sub)
		}
		return s.Def.Info.Stores || runsInside(s)
	})
}

// renderScope returns the user or the session that a flow names.
func renderScope(p *flow.Param, scope inputsScope) string {
	if p == nil {
		return ""
	}
	v, err := p.Render(context.Background(), scope)
	if err != nil {
		return ""
	}
	text, _ := v.Str()
	return text
}
