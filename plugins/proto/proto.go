// Package proto is the wire protocol of plugins: plugin.proto and the code generated from it, the handshake, and
// the conversions of the contract's types. For example, [FromState] converts a [plugins.State] to the message
// State.
package proto

import (
	"embed"
	"encoding/json"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/plugins"
)

//go:generate ./generate.sh

//go:embed plugin.proto transport.proto
var sources embed.FS

// Sources returns the .proto files: the SDK of Node reads them when it starts.
func Sources() fs.FS { return sources }

// Agreements of host and plugin before the first request.
const (
	// Version is the version of plugin.proto.
	Version = 1
	// CookieKey and CookieValue are the environment variable by which a program
	// knows that it was started as a plugin.
	CookieKey   = "SCHEDULER_PLUGIN"
	CookieValue = "start-me-through-scheduler"
	// LifeKey names the environment variable with the number of a file descriptor
	// that reads end of file when the host is gone.
	LifeKey = "SCHEDULER_PLUGIN_LIFE"
	// MaxMessageKey names the environment variable with the size in bytes that no
	// message exceeds.
	MaxMessageKey = "SCHEDULER_PLUGIN_MAX_MESSAGE"
	// DefaultMaxMessage is the size if the variable is not set.
	DefaultMaxMessage = 16 << 20
)

// Clean returns s as a text that can be sent: bytes that are not UTF-8 become U+FFFD. For example, the bytes
// "a\xffb" become "a\uFFFDb".
func Clean(s string) string {
	if utf8.ValidString(s) { // faster: it looks at eight bytes at once
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// FromState returns the wire form of a state, without the retrieved memories.
func FromState(s plugins.State) *State {
	p := &State{
		Input: Clean(s.Input), User: Clean(s.User), Session: Clean(s.Session),
		Language: Clean(s.Language), Now: formatTime(s.Now),
	}
	for _, t := range s.History {
		p.History = append(p.History, &Turn{Role: Clean(t.Role), Content: Clean(t.Content), Timestamp: formatTime(t.Timestamp)})
	}
	if len(s.Vars) > 0 {
		p.Vars = make(map[string][]byte, len(s.Vars))
		for name, v := range s.Vars {
			p.Vars[Clean(name)] = v
		}
	}
	return p
}

// ToState returns the state of a wire form. Times that cannot be read are zero.
func ToState(p *State) plugins.State {
	s := plugins.State{
		Input: p.GetInput(), User: p.GetUser(), Session: p.GetSession(),
		Language: p.GetLanguage(), Now: parseTime(p.GetNow()),
	}
	for _, t := range p.GetHistory() {
		s.History = append(s.History, plugins.Turn{Role: t.GetRole(), Content: t.GetContent(), Timestamp: parseTime(t.GetTimestamp())})
	}
	if len(p.GetVars()) > 0 {
		s.Vars = make(map[string]json.RawMessage, len(p.GetVars()))
		for name, v := range p.GetVars() {
			s.Vars[name] = v
		}
	}
	return s
}

// formatTime returns the wire form of a time; "" for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// parseTime returns the time of a wire form; zero if it cannot be read.
func parseTime(text string) time.Time {
	if text == "" { // the usual case: an error costs more than a time
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// FromItems returns the wire form of items.
func FromItems(items []plugins.Item) []*Item {
	all := make([]Item, len(items)) // one allocation for all
	out := make([]*Item, len(items))
	for i, item := range items {
		out[i] = &all[i]
		out[i].Name, out[i].Text, out[i].Data = Clean(item.Name), Clean(item.Text), item.Data
	}
	return out
}

// ToItems returns the items of a wire form.
func ToItems(list []*Item) []plugins.Item {
	items := make([]plugins.Item, len(list))
	for i, p := range list {
		items[i] = plugins.Item{Name: p.GetName(), Text: p.GetText(), Data: p.GetData()}
	}
	return items
}

// FromVerdicts returns the wire form of verdicts.
func FromVerdicts(verdicts []plugins.Verdict) []*Verdict {
	all := make([]Verdict, len(verdicts)) // one allocation for all
	out := make([]*Verdict, len(verdicts))
	for i, v := range verdicts {
		out[i] = &all[i]
		out[i].Include, out[i].Score, out[i].Reason = v.Include, v.Score, Clean(v.Reason)
	}
	return out
}

// ToVerdicts returns the verdicts of a wire form.
func ToVerdicts(list []*Verdict) []plugins.Verdict {
	verdicts := make([]plugins.Verdict, len(list))
	for i, p := range list {
		verdicts[i].Include, verdicts[i].Score, verdicts[i].Reason = p.GetInclude(), p.Score, p.GetReason()
	}
	return verdicts
}

// FromRecalled returns the wire form of memories.
func FromRecalled(found []plugins.Recalled) []*Recalled {
	out := make([]*Recalled, len(found))
	for i, r := range found {
		out[i] = &Recalled{Text: Clean(r.Text), Score: r.Score}
	}
	return out
}

// ToRecalled returns the memories of a wire form.
func ToRecalled(list []*Recalled) []plugins.Recalled {
	found := make([]plugins.Recalled, len(list))
	for i, p := range list {
		found[i] = plugins.Recalled{Text: p.GetText(), Score: p.GetScore()}
	}
	return found
}
