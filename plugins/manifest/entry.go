package manifest

import (
	"bytes"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Entry is a trusted plugin in the lock file: its description of itself, its services, and the SHA-256 of its
// program. [NewEntry] or [ReadLock] makes one; it is not changed afterwards.
type Entry struct {
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Description string     `json:"description,omitempty"`
	SHA256      string     `json:"sha256"`
	Command     []string   `json:"command,omitempty"` // with its arguments
	Services    []string   `json:"services,omitempty"`
	Env         []string   `json:"env,omitempty"`
	Limits      Limits     `json:"limits,omitzero"`
	Session     bool       `json:"session,omitempty"`
	Functions   []Function `json:"functions"`
}

// Kind is the kind of a function.
type Kind string

// The kinds of functions of plugins.
const (
	Importance Kind = "importance"
	Variable   Kind = "variable"
	Call       Kind = "call"
	Check      Kind = "check"
)

// Function is one function of a plugin, which flows can name.
type Function struct {
	Name  string `json:"name"`
	Kind  Kind   `json:"kind"`
	DocEn string `json:"doc_en"`
	DocZh string `json:"doc_zh,omitempty"`
	// Params, Input and Output are JSON Schemas; null if the kind has none.
	Params    value.Value `json:"params,omitzero"`
	Input     value.Value `json:"input,omitzero"`
	Output    value.Value `json:"output,omitzero"`
	Init      bool        `json:"init,omitempty"`
	Retrieved bool        `json:"retrieved,omitempty"`
	LLM       bool        `json:"llm,omitempty"`
	Literal   []string    `json:"literal,omitempty"`
	Examples  []Example   `json:"examples,omitempty"`
}

// Example is a use of a call. With holds its parameters in YAML, Answers the model's answers to it, in order.
type Example struct {
	Title   string   `json:"title"`
	With    string   `json:"with"`
	Answers []string `json:"answers,omitempty"`
}

// Title returns the name by which flows use the function of a plugin.
func (f *Function) Title(plugin string) string {
	if f.Kind == Variable {
		return "vars." + f.Name
	}
	return plugin + "." + f.Name
}

// Doc returns the sentence about the function, in the languages that it has.
func (f *Function) Doc() calls.Text { return calls.Text{En: f.DocEn, Zh: f.DocZh} }

// Function returns the function of that name; nil if the plugin has none.
func (e *Entry) Function(name string) *Function {
	i := slices.IndexFunc(e.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Functions[i]
}

// Changes lists how the plugin that started differs from the trusted one, for people; empty if it does not. For
// example, it returns "its version is 1.1.0, not 1.0.0".
func (e *Entry) Changes(now *Entry) wording.Text {
	var changes []wording.Text
	if e.Version != now.Version {
		changes = append(changes, wording.Say("its version is %s, not %s", now.Version, e.Version))
	}
	if e.Session != now.Session {
		changes = append(changes, wording.Say("whether it serves Session changed"))
	}
	for i := range now.Functions {
		f := &now.Functions[i]
		old := e.Function(f.Name)
		if old == nil {
			changes = append(changes, wording.Say("%q is new", f.Name))
		} else if !bytes.Equal(value.Must(*old).AppendJSON(nil), value.Must(*f).AppendJSON(nil)) {
			changes = append(changes, wording.Say("%q changed", f.Name))
		}
	}
	for i := range e.Functions {
		if name := e.Functions[i].Name; now.Function(name) == nil {
			changes = append(changes, wording.Say("%q is gone", name))
		}
	}
	return wording.Join(changes, ", ", "、")
}
