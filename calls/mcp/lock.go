package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Lock is the content of mcp.lock.json: the tools that servers offered when they were trusted.
type Lock struct {
	Version int            `json:"version"`
	Servers []LockedServer `json:"servers"`
}

// LockedServer is a trusted server.
type LockedServer struct {
	Name string `json:"name"`
	// Source is its URL, or its command with the arguments, as JSON.
	Source string `json:"source"`
	Tools  []Tool `json:"tools"`
}

// Tool is a server's description of a tool.
type Tool struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Input       value.Value `json:"input_schema"`
	Output      value.Value `json:"output_schema,omitzero"`
	// SHA256 is the hash of the server's whole description of the tool, in hex.
	SHA256 string `json:"sha256"`
}

const (
	lockVersion = 1
	// maxLock and maxTools bound the size of a lock file and the tools of a server.
	maxLock  = 16 << 20
	maxTools = 500
	// maxDescription bounds the description of a tool, in characters. Secrets are not masked in it: a person has
	// read it before it gets into a prompt, and its hash must not depend on the secrets of a run.
	maxDescription = 4000
)

// toolName matches the names that tools may have.
var toolName = value.CompileLater(`^[A-Za-z0-9_.-]{1,128}$`)

// newTool returns a tool as a server describes it. The error is why it cannot be used.
func newTool(t *sdk.Tool) (Tool, error) {
	if !toolName().MatchString(t.Name) {
		return Tool{}, wording.Errorf("the tool %q: invalid name", value.Truncate(t.Name, 80))
	}
	tool := Tool{Name: t.Name, Description: value.Truncate(t.Description, maxDescription)}
	var err error
	tool.Input, err = asWritten(t.InputSchema)
	if err != nil {
		return tool, wording.Errorf("the tool %s: input schema: %w", t.Name, err)
	}
	if t.OutputSchema != nil {
		tool.Output, err = asWritten(t.OutputSchema)
		if err != nil {
			return tool, wording.Errorf("the tool %s: output schema: %w", t.Name, err)
		}
	}
	tool.SHA256 = tool.hash()
	return tool, nil
}

// asWritten returns a value that the library has read as JSON again, with whole numbers as whole numbers.
func asWritten(x any) (value.Value, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return value.Value{}, err
	}
	return value.ParseJSON(text)
}

// hash returns the hash of all that is known of a tool.
func (t *Tool) hash() string {
	text, err := json.Marshal([]any{t.Name, t.Description, plainJSON(t.Input), plainJSON(t.Output)})
	if err != nil { // values are always JSON
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// plainJSON returns a value as encoding/json decodes it. That sorts members, whose order means nothing.
func plainJSON(v value.Value) (x any) {
	decoder := json.NewDecoder(bytes.NewReader(v.AppendJSON(nil)))
	decoder.UseNumber()
	_ = decoder.Decode(&x) // a value is always JSON
	return x
}

// changesIn names the parts that differ from the trusted tool; nothing if none does.
func (t *Tool) changesIn(now *Tool) wording.Text {
	var changed []wording.Text
	if t.Description != now.Description {
		changed = append(changed, wording.Say("its description"))
	}
	if !sameJSON(t.Input, now.Input) {
		changed = append(changed, wording.Say("what it takes"))
	}
	if !sameJSON(t.Output, now.Output) {
		changed = append(changed, wording.Say("what it puts out"))
	}
	return wording.Join(changed, ", ", "、")
}

func sameJSON(a, b value.Value) bool {
	x, errX := json.Marshal(plainJSON(a))
	y, errY := json.Marshal(plainJSON(b))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// readLock reads a lock file; without one, nothing is trusted.
func readLock(file string) (*Lock, error) {
	text, err := calls.ReadFile(file, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Version: lockVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	lock := &Lock{}
	doc, err := value.ParseJSON(text)
	if err == nil {
		err = value.Decode(doc, lock)
	}
	if err != nil {
		return nil, wording.Errorf("%s: %w", file, err)
	}
	if lock.Version != lockVersion {
		return nil, wording.Errorf("%s: version %d is not known (this program writes %d)", file, lock.Version, lockVersion)
	}
	for _, s := range lock.Servers {
		for _, t := range s.Tools {
			if t.SHA256 != t.hash() || !toolName().MatchString(t.Name) {
				return nil, wording.Errorf("%s: the tool %s of the server %s was edited by hand (scheduler mcp trust %s writes it)", file, t.Name, s.Name, s.Name)
			}
		}
	}
	return lock, nil
}

// findServer returns a trusted server; nil if the server is not trusted.
func (l *Lock) findServer(name string) *LockedServer {
	i := slices.IndexFunc(l.Servers, func(s LockedServer) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Servers[i]
}

// findTool returns a trusted tool; nil if the tool is not trusted.
func (s *LockedServer) findTool(name string) *Tool {
	i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Tools[i]
}

// withServer returns the lock with a server in it, or, without tools, without it.
func (l *Lock) withServer(server LockedServer, isTrusted bool) *Lock {
	next := &Lock{Version: lockVersion, Servers: []LockedServer{}}
	for _, s := range l.Servers {
		if s.Name != server.Name {
			next.Servers = append(next.Servers, s)
		}
	}
	if isTrusted {
		next.Servers = append(next.Servers, server)
	}
	slices.SortFunc(next.Servers, func(a, b LockedServer) int { return strings.Compare(a.Name, b.Name) })
	return next
}

// writeTo replaces the lock file: readers see the old one or the new one.
func (l *Lock) writeTo(file string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(l); err != nil {
		return err
	}
	return atomicfile.Write(file, text.Bytes(), 0o644)
}

func (s *LockedServer) toolNames() (names []string) {
	for i := range s.Tools {
		names = append(names, s.Tools[i].Name)
	}
	return names
}
