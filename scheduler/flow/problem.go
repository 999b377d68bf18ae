package flow

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Problems are the faults of a flow and its sub-flows: in the order of each file, a sub-flow's after the flow's.
// As an error it is one line per problem.
type Problems []Problem

// Error returns all of them, a line each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].WithSnippet()
	}
	return strings.Join(lines, "\n")
}

// In returns the text of all of them, in a language unless their flow has named one.
func (p Problems) In(language string) string { return slices.Clone(p).in(language).Error() }

// Localized returns them with their messages in a language unless their flow has named one.
func (p Problems) Localized(language string) Problems { return slices.Clone(p).in(language) }

// ForReader returns them with their messages in the language of the reader, even if their flow names another.
func (p Problems) ForReader(language string) Problems {
	all := slices.Clone(p)
	for i := range all {
		all[i].setLanguage(language)
	}
	return all
}

// HasErrors reports whether one is more than a warning.
func (p Problems) HasErrors() bool {
	for i := range p {
		if !p[i].Warning {
			return true
		}
	}
	return false
}

// Errors returns the problems that are not warnings.
func (p Problems) Errors() Problems { return p.filter(false) }

// Warnings returns the problems that do not prevent a flow from running.
func (p Problems) Warnings() Problems { return p.filter(true) }

// Err returns the errors as an error, or nil without any.
func (p Problems) Err() error {
	if errs := p.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

func (p Problems) filter(warning bool) (some Problems) {
	for i := range p {
		if p[i].Warning == warning {
			some = append(some, p[i])
		}
	}
	return some
}

// MarshalJSON writes {file, line, col, severity, message, hint, snippet}.
func (p Problem) MarshalJSON() ([]byte, error) {
	severity := "error"
	if p.Warning {
		severity = "warning"
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		File     string `json:"file"`
		Line     int    `json:"line"`
		Col      int    `json:"col"`
		Severity string `json:"severity"`
		Message  string `json:"message"`
		Hint     string `json:"hint,omitempty"`
		Snippet  string `json:"snippet,omitempty"`
	}{p.Pos.File, p.Pos.Line, p.Pos.Col, severity, p.Message, p.Hint, p.Snippet})
	return text.Bytes(), err
}

// report collects the problems of one file.
type report struct{ problems Problems }

// add reports an error; the pointer, good until the next add, is there to give it
// a hint.
func (r *report) add(pos Position, format string, args ...any) *Problem {
	r.problems = append(r.problems, newProblem(pos, format, args...))
	return &r.problems[len(r.problems)-1]
}

// warn reports a warning.
func (r *report) warn(pos Position, format string, args ...any) *Problem {
	p := r.add(pos, format, args...)
	p.Warning = true
	return p
}

func newProblem(pos Position, format string, args ...any) Problem {
	return NewProblem(pos, say(format, args...), wording.Text{})
}

// NewProblem returns a problem that [Problems.In] puts into a language.
func NewProblem(pos Position, message, hint wording.Text) Problem {
	return Problem{Pos: pos, Message: message.En, Hint: hint.En, message: message, hintText: hint}
}

// hint sets the remedy of a problem.
func (p *Problem) hint(format string, args ...any) {
	p.setHint(say(format, args...))
}

func (p *Problem) setHint(text wording.Text) { p.Hint, p.hintText = text.En, text }

// hintOf sets the remedy that an error has.
func (p *Problem) hintOf(err error) {
	p.setHint(wording.Text{En: calls.HintOf(err), Zh: calls.HintIn(err, "zh")})
}

// in puts all of them into a language.
func (p Problems) in(language string) Problems {
	for i := range p {
		p[i].in(language)
	}
	return p
}

// in puts the message into a language, once: a flow may name the language of its problems.
func (p *Problem) in(language string) {
	if !p.isSettled {
		p.setLanguage(language)
	}
}

func (p *Problem) setLanguage(language string) {
	if p.message.En != "" {
		p.Message, p.Hint = p.message.In(language), p.hintText.In(language)
	}
	p.isChinese, p.isSettled = wording.IsChinese(language), true
}

// suggest hints at the known name that was most likely meant; if none is near, list is the format of a hint with
// all of them.
func (p *Problem) suggest(name string, known []string, list string) {
	if near := value.Nearest(name, known); near != "" {
		p.hint("did you mean %q?", near)
	} else if len(known) > 0 {
		p.hint(list, value.ListNames(known))
	}
}

// Problem is something wrong in a flow, found before anything runs. A [Loader]
// makes it; it is only data.
type Problem struct {
	Pos     Position
	Warning bool
	Message string
	// Hint is the remedy; "" if the message suffices.
	Hint string

	// Snippet is the line of the file with a caret below the place, if the text cannot be read; else "".
	Snippet string

	message, hintText wording.Text // in all languages; empty if they are known in none
	isChinese         bool         // the message is, not necessarily its quotes
	isSettled         bool         // the language is known
}

// String is file:line:col: message (hint), the form that editors jump by.
func (p Problem) String() string {
	warning, before, after := "warning: ", " (", ")"
	if p.isChinese {
		warning, before, after = "警告：", "（", "）"
	}
	s := p.Pos.String() + ": "
	if p.Warning {
		s += warning
	}
	s += p.Message
	if p.Hint != "" {
		s += before + p.Hint + after
	}
	return s
}

// WithSnippet is [Problem.String] with the snippet on lines below.
func (p Problem) WithSnippet() string {
	if p.Snippet == "" {
		return p.String()
	}
	return p.String() + "\n    " + strings.ReplaceAll(p.Snippet, "\n", "\n    ")
}
