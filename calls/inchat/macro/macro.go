// Package macro is the macro language of role-play chats: {{name:parameters}}
// and <<name:parameters>>, which mean the same and may be nested.
//
// A text is parsed once and expanded once, innermost macros first. The result of
// a macro is never read as macros again, so a chat message or a variable that
// contains {{...}} stays what it is. A macro that is not known stays as it is
// written.
package macro

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/inchat/keyword"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits of one text. Macros never loop, so they bound its cost together.
const (
	maxText     = 64 << 10 // bytes of a text
	maxMacros   = 10_000   // macros in a text
	maxNested   = 50       // macros inside each other
	maxOutput   = 1 << 20  // bytes that a text may expand to
	maxWarnings = 20
	// maxTime is for python macros; the others take no time worth measuring.
	maxTime = time.Second
)

// HistoryVar is the variable in which keywords are searched.
const HistoryVar = "chat_history_text"

// Text is a parsed text. [Parse] creates it; it may be kept as long as one likes. It is immutable and safe for concurrent use.
type Text struct {
	nodes    []node
	words    []string
	errors   []wording.Text
	warnings []wording.Text
	volatile bool
	// functions are named by importance macros; unnamed is set when another one's name
	// comes from a macro.
	functions []string
	unnamed   bool
}

// node is literal text or a macro. Outside of macros, start and end are its bytes in the
// text that was parsed.
type node struct {
	text       string
	call       *call
	start, end int
}

// call is one use of a known macro. Its parameter is text with the macros in it;
// hasParam distinguishes {{name:}} from {{name}}.
type call struct {
	name     string
	expand   func(*run, *call, string) string
	param    []node
	hasParam bool
	expr     *keyword.Expr // of a keywords macro whose parameter holds no macro
	program  *program      // of a python macro whose parameter holds no macro
	dynamic  bool          // a python macro whose parameter holds macros
}

// Parse reads a text. It never fails: a macro that cannot be read expands
// to nothing, and its error is among [Text.Errors].
func Parse(text string) *Text { return parse(text, nil) }

// ParseOnly is Parse where only the macros of those names are known, "//" being
// comments. The others stay as they are written, without a warning.
func ParseOnly(text string, names []string) *Text { return parse(text, names) }

// parse is Parse; only is nil for all macros.
func parse(text string, only []string) *Text {
	t := &Text{}
	if len(text) > maxText {
		t.nodes = []node{{call: &call{expand: t.addError("the text has %d bytes, more than %d", len(text), maxText)}}}
		return t
	}
	p := parser{out: t, only: only}
	t.nodes = p.parseText(text)
	return t
}

// addError records an error and returns the expansion that reports it again.
func (t *Text) addError(format string, args ...any) func(*run, *call, string) string {
	message := wording.Say(format, args...)
	t.errors = append(t.errors, message)
	return func(r *run, _ *call, _ string) string {
		r.result.Errors = append(r.result.Errors, message)
		return ""
	}
}

func (t *Text) addWarning(format string, args ...any) {
	if len(t.warnings) == maxWarnings {
		return
	}
	t.warnings = append(t.warnings, wording.Say(format, args...))
}

// Words returns the words that the keywords macros of the text ask for, as far as
// they are known before it is expanded.
func (t *Text) Words() []string { return t.words }

// Errors lists the macros of the text that cannot be read. Expanding the text
// reports them again.
func (t *Text) Errors() []wording.Text { return t.errors }

// Warnings lists what in the text is probably not meant as it is written.
func (t *Text) Warnings() []wording.Text { return t.warnings }

// Functions returns the importance functions that the text asks, as far as they are known
// before it is expanded; all is true where there are no others.
func (t *Text) Functions() (names []string, all bool) { return t.functions, !t.unnamed }

// Volatile reports whether the text may expand differently each time with the same
// variables: it throws dice, or asks about the entry that it belongs to.
func (t *Text) Volatile() bool { return t.volatile }

// Machine is what texts are expanded with: a caller fills one in for a step and uses
// it for all texts of the step. It is not safe for concurrent use.
type Machine struct {
	// Now is the time, in the zone that is to be shown.
	Now time.Time
	// Rand throws the dice.
	Rand *rand.Rand
	// History is the usual value of [HistoryVar], and Found reports for words whether
	// it contains them. Words that are missing there are searched when they are
	// asked for, and noted.
	History string
	Found   map[string]bool
	// Judge asks an importance function about the entry whose text is expanded. nil: there
	// are none.
	Judge func(ctx context.Context, function string) (include bool, reason string, err error)
	// WithSpans makes [Result.Spans].
	WithSpans bool
	// UndefinedIsEmpty prints nothing for a variable that is not defined, instead of
	// the text that conditions compare with.
	UndefinedIsEmpty bool
}

// Result is a text that was expanded. [Machine.Expand] creates it; it is only data.
type Result struct {
	// Text is the expanded text.
	Text string
	// Errors lists the macros that failed, and expanded to nothing.
	Errors []wording.Text
	// Hits are the keywords that were found, in order, without repetition.
	Hits []string
	// Verdicts lists the answers of importance functions: the function and its reason.
	Verdicts []string
	// Spans cover Text, in order. Only machines with WithSpans make them.
	Spans []Span
}

// Span is a stretch of an expanded text, and what made it: text that stands outside of
// macros, or one macro. [Machine.Expand] creates it; it is only data.
type Span struct {
	Start, End             int // bytes of the expanded text
	SourceStart, SourceEnd int // bytes of the text with its macros
	// IsMacro is set where the stretch is what a macro printed; else it is a copy.
	IsMacro bool
	// Variables are the paths of the variables that the macro has read, each once, the last one last.
	Variables []string
	// IsVariable is set where the macro printed the last of Variables, as it is.
	IsVariable bool
}

// run is one expansion.
type run struct {
	*Machine
	ctx    context.Context
	vars   *Vars
	result Result
	size   int
	read   []string // variables that were read, where spans are wanted
}

func (r *run) addError(format string, args ...any) {
	r.result.Errors = append(r.result.Errors, wording.Say(format, args...))
}

// Expand replaces the macros of a text. Macros set variables in vars.
// The only errors are those of ctx.
func (m *Machine) Expand(ctx context.Context, t *Text, vars *Vars) (Result, error) {
	r := &run{Machine: m, ctx: ctx, vars: vars}
	var written func(n node, start, end int)
	if m.WithSpans {
		written = r.addSpan
	}
	r.result.Text = r.expandNodes(t.nodes, written)
	return r.result, ctx.Err()
}

// addSpan records what a node outside of macros has written.
func (r *run) addSpan(n node, start, end int) {
	read := r.read
	r.read = nil
	if start == end {
		return
	}
	span := Span{Start: start, End: end, SourceStart: n.start, SourceEnd: n.end}
	if n.call != nil {
		span.IsMacro, span.Variables = true, read
		span.IsVariable = len(read) > 0 && n.call.printsVariable()
	}
	r.result.Spans = append(r.result.Spans, span)
}

// printsVariable reports whether a macro prints one variable as it is.
func (c *call) printsVariable() bool {
	return aliases[c.name] != "" || c.name == "getvar" || c.name == "getglobalvar"
}

// expandNodes returns the text of nodes. It calls written, which may be nil, with the bytes
// that each of them takes in it.
func (r *run) expandNodes(nodes []node, written func(n node, start, end int)) string {
	if len(nodes) == 0 || r.ctx.Err() != nil {
		return ""
	}
	if len(nodes) == 1 && nodes[0].call == nil && written == nil {
		return nodes[0].text
	}
	var b strings.Builder
	for _, n := range nodes {
		s := n.text
		if n.call != nil {
			s = r.expandCall(n.call)
		}
		r.size += len(s)
		if r.size > maxOutput {
			if r.size-len(s) <= maxOutput {
				r.addError("the text grows beyond %d bytes; the rest is dropped", maxOutput)
			}
			break
		}
		b.WriteString(s)
		if written != nil {
			written(n, b.Len()-len(s), b.Len())
		}
	}
	return b.String()
}

func (r *run) expandCall(c *call) string {
	if c.dynamic {
		return r.expandPythonOf(c.param)
	}
	return c.expand(r, c, r.expandNodes(c.param, nil))
}

// expandKeywords is 'true' or 'false', or nothing where the condition cannot be read.
func (r *run) expandKeywords(c *call, param string) string {
	e := c.expr
	if e == nil {
		var err error
		e, err = keyword.Parse(param)
		if err != nil {
			r.addError("keywords %q: %v", value.Truncate(param, 60), err)
			return ""
		}
	}
	if e.Eval(r.historyContains) {
		return "true"
	}
	return "false"
}

// expandImportance returns the verdict of an importance function on the entry, as true
// or false.
func (r *run) expandImportance(_ *call, param string) string {
	name := functionName(param)
	if r.Judge == nil {
		r.addError("importance %q: there are no importance functions here", value.Truncate(name, 60))
		return ""
	}
	include, reason, err := r.Judge(r.ctx, name)
	if err != nil {
		r.addError("importance %q: %v", value.Truncate(name, 60), err)
		return ""
	}
	if reason != "" && len(r.result.Verdicts) < 10 {
		r.result.Verdicts = append(r.result.Verdicts, name+": "+reason)
	}
	return strconv.FormatBool(include)
}

// functionName returns the parameter of an importance macro, after one colon or two.
func functionName(param string) string { return strings.TrimSpace(strings.TrimPrefix(param, ":")) }

// historyContains searches the history. Its usual text has been searched before.
func (r *run) historyContains(word string) bool {
	v, _ := r.vars.Get(HistoryVar)
	history := varText(v)
	var hit bool
	if history != r.History {
		hit = strings.Contains(history, word)
	} else if known, ok := r.Found[word]; ok {
		hit = known
	} else {
		hit = strings.Contains(history, word)
		if r.Found == nil {
			r.Found = map[string]bool{}
		}
		r.Found[word] = hit
	}
	if hit && len(r.result.Hits) < 10 && !slices.Contains(r.result.Hits, word) {
		r.result.Hits = append(r.result.Hits, word)
	}
	return hit
}

// getText returns a variable as text, or a text that there is none.
func (r *run) getText(path string) string { return varText(r.lookupVar(path)) }

// lookupVar returns a variable. An undefined one is a text that cards compare with.
func (r *run) lookupVar(path string) value.Value {
	if v, ok := r.vars.Get(path); ok {
		if r.WithSpans {
			r.read = append(slices.DeleteFunc(r.read, func(known string) bool { return known == path }), path)
		}
		return v
	}
	if r.UndefinedIsEmpty {
		return value.OfString("")
	}
	return value.OfString(undefinedPrefix + path + "]")
}

const undefinedPrefix = "[UndefinedVar:"

func (r *run) setVar(path string, v value.Value) {
	if !r.vars.Set(path, v) {
		r.addError("the variable %q cannot be set", value.Truncate(path, 60))
	}
}
