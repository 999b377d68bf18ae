package host

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/plugins/proto"
)

// Entry is a trusted plugin in the lock file: what it said of itself, what it may
// use, and the SHA-256 of its program.
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

// Kind is what sort of function it is.
type Kind string

// The kinds of functions of plugins.
const (
	Importance Kind = "importance"
	Variable   Kind = "variable"
	Call       Kind = "call"
)

// Function is one thing of a plugin that flows can name.
type Function struct {
	Name  string `json:"name"`
	Kind  Kind   `json:"kind"`
	DocEn string `json:"doc_en"`
	DocZh string `json:"doc_zh,omitempty"`
	// Params, Input and Output are JSON Schemas; null where the kind has none.
	Params    value.Value `json:"params,omitzero"`
	Input     value.Value `json:"input,omitzero"`
	Output    value.Value `json:"output,omitzero"`
	Init      bool        `json:"init,omitempty"`
	Retrieved bool        `json:"retrieved,omitempty"`
	LLM       bool        `json:"llm,omitempty"`
	Literal   []string    `json:"literal,omitempty"`
	Examples  []Example   `json:"examples,omitempty"`
}

// Example is a use of a call; With is YAML.
type Example struct {
	Title   string   `json:"title"`
	With    string   `json:"with"`
	Answers []string `json:"answers,omitempty"`
}

// Title is how flows name the function of a plugin.
func (f *Function) Title(plugin string) string {
	if f.Kind == Variable {
		return "vars." + f.Name
	}
	return plugin + "." + f.Name
}

// Doc is the sentence about the function.
func (f *Function) Doc() calls.Text { return calls.Text{En: f.DocEn, Zh: f.DocZh} }

// function finds a function by name.
func (e *Entry) function(name string) *Function {
	i := slices.IndexFunc(e.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Functions[i]
}

// Bounds of what a plugin says of itself.
const (
	maxFunctions = 1000
	maxText      = 10_000
)

// newEntry makes an entry of what a plugin said. The error names all that is wrong.
func newEntry(m *Manifest, sum string, d *proto.Description) (*Entry, error) {
	e := &Entry{
		Name: m.Name, Version: m.Version, Description: m.Description, SHA256: sum,
		Command:  append([]string{m.Command}, m.Args...),
		Services: m.Services, Env: m.Env, Limits: m.Limits, Session: d.GetSession(),
	}
	var problems []error
	if d.GetName() != m.Name {
		problems = append(problems, fmt.Errorf("it calls itself %q, its %s %q", d.GetName(), ManifestName, m.Name))
	}
	if d.GetVersion() != m.Version {
		problems = append(problems, fmt.Errorf("it says that its version is %q, its %s %q", d.GetVersion(), ManifestName, m.Version))
	}
	if n := len(d.GetFunctions()); n == 0 || n > maxFunctions {
		problems = append(problems, fmt.Errorf("it has %d functions, want 1 to %d", n, maxFunctions))
		return e, errors.Join(problems...)
	}
	for i, p := range d.GetFunctions() {
		f, err := newFunction(p)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("function %d %q: %w", i+1, cut(p.GetName(), 100), err))
		case e.function(f.Name) != nil:
			problems = append(problems, fmt.Errorf("two functions are called %q", f.Name))
		default:
			e.Functions = append(e.Functions, *f)
		}
	}
	problems = append(problems, readable(value.Must(*e)))
	return e, errors.Join(problems...)
}

var (
	callForm     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	functionForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

func newFunction(p *proto.Function) (*Function, error) {
	f := &Function{
		Name: p.GetName(), DocEn: oneLine(p.GetDocEn()), DocZh: oneLine(p.GetDocZh()), Init: p.GetInit(),
		Retrieved: p.GetRetrieved(), LLM: p.GetLlm(), Literal: p.GetLiteral(),
	}
	form, words := functionForm, "snake_case"
	switch p.GetKind() {
	case proto.Kind_IMPORTANCE:
		f.Kind = Importance
	case proto.Kind_VARIABLE:
		f.Kind = Variable
	case proto.Kind_CALL:
		f.Kind, form, words = Call, callForm, "kebab-case"
	default:
		return nil, fmt.Errorf("kind %d is not known", p.GetKind())
	}
	if !form.MatchString(f.Name) || len(f.Name) > 100 {
		return nil, fmt.Errorf("the name is not %s", words)
	}
	if f.DocEn == "" {
		return nil, errors.New("it has no doc_en: one sentence of what it does")
	}
	if len(f.DocEn)+len(f.DocZh) > maxText {
		return nil, errors.New("its documentation is too long")
	}
	var err error
	for _, s := range []struct {
		name   string
		text   []byte
		doc    *value.Value
		wanted bool
	}{
		{"params", p.GetParams(), &f.Params, f.Kind == Call},
		{"input", p.GetInput(), &f.Input, f.Kind == Call},
		{"output", p.GetOutput(), &f.Output, f.Kind != Importance},
	} {
		if s.wanted {
			if *s.doc, err = parseSchema(s.text, f.Kind == Call); err != nil {
				return nil, fmt.Errorf("the schema %s: %w", s.name, err)
			}
		}
	}
	for _, e := range p.GetExamples() {
		if _, err := yaml.ParseValue([]byte(e.GetWith())); err != nil {
			return nil, fmt.Errorf("the example %q: %w", e.GetTitle(), err)
		}
		f.Examples = append(f.Examples, Example{Title: oneLine(e.GetTitle()), With: e.GetWith(), Answers: e.GetAnswers()})
	}
	return f, nil
}

func parseSchema(text []byte, object bool) (value.Value, error) {
	doc, err := value.ParseJSON(text)
	if err != nil {
		return value.Value{}, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := schema.Parse(doc); err != nil {
		return value.Value{}, err
	}
	if kind, _ := doc.Get("type"); object && kind.JSON() != `"object"` {
		return value.Value{}, errors.New(`its type is not "object"`)
	}
	return doc, nil
}

// Changes says in what the plugin that started describes itself differently than the
// trusted one; "" where it does not.
func (e *Entry) Changes(now *Entry) string {
	var changes []string
	if e.Version != now.Version {
		changes = append(changes, fmt.Sprintf("its version is %s, not %s", now.Version, e.Version))
	}
	if e.Session != now.Session {
		changes = append(changes, "it serves Session, or does so no longer")
	}
	for i := range now.Functions {
		f := &now.Functions[i]
		switch old := e.function(f.Name); {
		case old == nil:
			changes = append(changes, fmt.Sprintf("%q is new", f.Name))
		case !bytes.Equal(value.Must(*old).AppendJSON(nil), value.Must(*f).AppendJSON(nil)):
			changes = append(changes, fmt.Sprintf("%q changed", f.Name))
		}
	}
	for i := range e.Functions {
		if name := e.Functions[i].Name; now.function(name) == nil {
			changes = append(changes, fmt.Sprintf("%q is gone", name))
		}
	}
	return strings.Join(changes, ", ")
}
