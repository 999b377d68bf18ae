package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Problem is one place at which a value does not fit its schema. [Schema.Check] and the lints of calls create
// problems; they are only data.
type Problem struct {
	// Pointer is the RFC 6901 pointer of the place in the value. For a missing or
	// an unknown property it is the pointer that the property has or would have.
	Pointer string
	// Keyword is the schema keyword that failed: required, type, enum ...; "false" if the schema allows no value, ""
	// if the value could not be checked.
	Keyword string
	// Message describes the fault, without the place; [Problem.In] has it in another language.
	Message string
	// Hint is the probable intention, or a remedy; often "".
	Hint string
	// Warning is set when the value can still be used; [Schema.Check] has no warnings, but problems that a call finds
	// may be.
	Warning bool
	// Offset is the byte in the text at Pointer, if a call knows it.
	Offset int
	// File, with Line and Col from 1, is the place of a problem in a file that a
	// parameter names; File is "" for one in the value itself.
	File      string
	Line, Col int

	chinese, chineseHint string // "" for texts that were set by themselves
}

// Error returns the place and the message.
func (p Problem) Error() string {
	s := p.Message
	if p.Pointer != "" {
		s = p.Pointer + ": " + s
	}
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// WithMessage returns the problem with a message in the built-in languages.
func (p Problem) WithMessage(format string, args ...any) Problem {
	text := wording.Say(format, args...)
	p.Message, p.chinese = text.En, text.Zh
	return p
}

// WithHint returns the problem with a hint in the built-in languages.
func (p Problem) WithHint(format string, args ...any) Problem {
	text := wording.Say(format, args...)
	p.Hint, p.chineseHint = text.En, text.Zh
	return p
}

// Text returns the message and the hint in the built-in languages.
func (p Problem) Text() (message, hint wording.Text) {
	message, hint = wording.Of(p.Message), wording.Of(p.Hint)
	message.Zh, hint.Zh = cmp.Or(p.chinese, message.Zh), cmp.Or(p.chineseHint, hint.Zh)
	return message, hint
}

// In returns the place, the message and the hint in a language.
func (p Problem) In(language string) string {
	if !wording.IsChinese(language) {
		return p.Error()
	}
	message, hint := p.Text()
	s := message.Zh
	if p.Pointer != "" {
		s = p.Pointer + "：" + s
	}
	if hint.Zh != "" {
		s += "（" + hint.Zh + "）"
	}
	return s
}

func newProblem(pointer, keyword string, message wording.Text) Problem {
	return Problem{Pointer: pointer, Keyword: keyword, Message: message.En, chinese: message.Zh}
}

func missingProblem(pointer, name string) Problem {
	return newProblem(pointer, "required", wordingf("the required property %q is missing", name))
}

// Problems are the places at which a value does not fit, as one error.
type Problems []Problem

// maxListed bounds the problems that one text lists.
const maxListed = 100

// Error lists the first of them, separated by semicolons, and the number of further ones.
func (p Problems) Error() string { return p.list("en", Problem.Error) }

// In is Error in a language.
func (p Problems) In(language string) string {
	return p.list(language, func(one Problem) string { return one.In(language) })
}

// list joins the texts of the problems that are listed.
func (p Problems) list(language string, format func(Problem) string) string {
	var texts []string
	for i := range p {
		if i == maxListed {
			texts = append(texts, wordingf("and %d more", len(p)-i).In(language))
			break
		}
		texts = append(texts, format(p[i]))
	}
	if wording.IsChinese(language) {
		return strings.Join(texts, "；")
	}
	return strings.Join(texts, "; ")
}

// AsWarnings makes warnings of all problems.
func (p Problems) AsWarnings() Problems {
	for i := range p {
		p[i].Warning = true
	}
	return p
}

// InvalidError is why a document is not a JSON Schema. [Parse] makes it, with the place of
// each fault.
type InvalidError struct{ Problems Problems }

// Error lists the first faults with their JSON pointers.
func (e *InvalidError) Error() string { return e.In("en") }

// In returns the message in a language.
func (e *InvalidError) In(language string) string {
	list := e.Problems.list(language, func(p Problem) string {
		message, _ := p.Text()
		if wording.IsChinese(language) {
			return fmt.Sprintf("%q：%s", p.Pointer, message.Zh)
		}
		return fmt.Sprintf("%q: %s", p.Pointer, message.En)
	})
	return wordingf("not a JSON Schema: %s", list).In(language)
}

// problem is a Problem and the subschema that it is about, nil if not known.
type problem struct {
	Problem
	sub *jsonschema.Schema
}

// sortByPointer puts problems in order: by pointer, then message.
func sortByPointer(problems []problem) []problem {
	slices.SortStableFunc(problems, func(a, b problem) int {
		if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return problems
}
