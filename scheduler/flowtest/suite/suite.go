// Package suite has test files, as they are written and read: a [Suite] is a file, with a [Case] for each of its
// cases, rows of its dataset and variants of its matrix. For example, one case with 2 rows and 3 variants is read
// as 6.
package suite

import (
	"cmp"
	"errors"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// Suite is a test file, ready to run. A [Loader] makes it; it is immutable.
type Suite struct {
	// File is the path as messages show it, relative to the folder of the project if it is in it, with slashes.
	// Path is the real path, and Dir its folder.
	File, Path, Dir string
	// NameOf returns the name of a file in results, in the form of File.
	NameOf func(path string) string
	// Flows are the flows that cases run, each once, in the order of the file.
	Flows []*flow.Flow
	// DataFiles are the paths of the other files that were read for it, sorted: datasets, memories, events and
	// files of !file.
	DataFiles []string
	// JudgeLLM is the provider that judges if a check names none; "" leaves it to the settings.
	JudgeLLM string
	// Limits bound the whole file.
	Limits Limits
	// Cases are the cases with their rows and variants, in the order of the file: case, row, variant.
	Cases []*Case
	// HasOnly is set if a case has only: the cases without are skipped.
	HasOnly bool
}

// Limits bound the total use by all cases of a file. Zero means no limit.
type Limits struct {
	// Parallel is how many cases run at a time.
	Parallel int
	// Cost is in the currency of the prices in the settings, at Pos.
	Cost   float64
	Tokens int64
	Time   time.Duration
	Pos    flow.Position
}

// Case is a case with one row of the dataset and one variant of the matrix, which runs once for each repeat. It
// belongs to its Suite and is as immutable.
type Case struct {
	Name string
	// User is the user of the run; "" is none.
	User string
	// Row is the row of the dataset, and RowValue its columns; nil and null without one.
	Row      *result.Row
	RowValue value.Value
	// Variant has the settings of the matrix, in the order of the file; empty without one.
	Variant []result.Setting
	// Pos is the start of the case in the test file.
	Pos flow.Position
	// Flow is the flow that runs, FlowFile its path as [result.Case] has it. Loader has read it, with the
	// parameters of the matrix in place of its own: a run that waits is resumed with it.
	Flow     *flow.Flow
	FlowFile string
	Loader   *flow.Loader
	// Inputs are the inputs of the case, an object that fits the flow's schema, without its defaults.
	Inputs value.Value
	// Conversation is the list of messages before the question; null is none.
	Conversation value.Value
	// Until is the step at which the run stops: when its prompt is made and before its model is asked; "" is the end.
	Until    string
	UntilPos flow.Position
	// Mocks are in the order of the file.
	Mocks []Mock
	// LLM is the name of the provider; "" leaves it to the flow. HasScript is set if Scripts answer in its place.
	LLM       string
	HasScript bool
	Scripts   []Script
	// State are the steps that have ended before the run begins, in the order of the file.
	State []EndedStep
	// Answers are given when the run waits, each once.
	Answers []Answer
	// Memory is the content of the store when the run begins; ids, users and times are set. MemoryNames are the
	// names of the memories in the file, by their ids.
	Memory      []memory.BaseMemory
	MemoryNames map[string]string
	// Now is the clock of the run, never zero: tests do not depend on the day. Seed fixes its random draws.
	Now  time.Time
	Seed uint64
	// HasNow and HasSeed are set if the file gives them: a case whose run is recorded beside the flow takes others from there.
	HasNow, HasSeed bool
	// Repeat is how often it runs, at least 1. Rate is the share of repeats that must pass, and Sure whether
	// the lower bound of its interval must be as high.
	Repeat int
	Rate   float64
	Sure   bool
	Tags   []string
	// Skip is why the case does not run; "" if it does. Only is set if the case has it.
	Skip string
	Only bool
	// Timeout bounds each repeat; 0 is none.
	Timeout time.Duration
	// Threshold is the least mean score of the checks; nil: every check must pass.
	Threshold *float64
	// Allow lists calls by name, and plugins, that may act on the world in tests: http, mcp, a plugin's call.
	Allow []string
	// Cluster groups cases that are not independent.
	Cluster string
	// Expect are the checks; the checks of the defaults come first.
	Expect []*check.Check
}

// ID returns the identity of the case in its file, like the ID of its [result.Case].
func (c *Case) ID() string { return c.Result().ID() }

// Result returns the case as a report has it, before it has run.
func (c *Case) Result() *result.Case {
	return &result.Case{
		Name: c.Name, Row: c.Row, Variant: c.Variant, Position: result.Position{File: c.Pos.File, Line: c.Pos.Line, Col: c.Pos.Col},
		Flow: c.FlowFile, Tags: c.Tags, Rate: c.Rate, Sure: c.Sure, Planned: c.Repeat, Cluster: c.Cluster,
	}
}

// Mock replaces a step, every use of a call, or a variable of vars. Exactly one of Step, Call and Variable is set;
// a variable has one reply without a delay.
type Mock struct {
	Pos      flow.Position
	Step     string
	Call     string
	Variable string
	// Replies are given one for each attempt or item, in their order; IsList is set if the file has a list of
	// them, and a use beyond the last is an error. Without it the one reply holds for every use.
	Replies []Reply
	IsList  bool
	// IsDefault is set if the mock comes from the defaults of the file, not from the case.
	IsDefault bool
}

// Name returns the name of the mock in the file: a step, call:NAME or vars.NAME. For example, call:http mocks
// every use of the call http.
func (m *Mock) Name() string {
	switch {
	case m.Call != "":
		return callPrefix + m.Call
	case m.Variable != "":
		return variablePrefix + m.Variable
	}
	return m.Step
}

// EndedStep is a step of the flow that does not run: it has ended before. IsSkipped is set if it was skipped, for
// the Reason; then there is no Output. Input is null if it is not known.
type EndedStep struct {
	Pos           flow.Position
	Step          string
	Input, Output value.Value
	IsSkipped     bool
	Reason        string
}

// Script is a list of answers in place of a model's.
type Script struct {
	// Step is the step that they are for, with all that runs in it; "" is any.
	Step string
	// Answers are a list as [scripted.Parse] reads it.
	Answers value.Value
	// At are the places of the answers, if the case itself has them; nil: they come from the defaults.
	At []flow.Position
}

// Reply is one reply of a mock. With Error nil it is the output Value.
type Reply struct {
	Pos   flow.Position
	Value value.Value
	Error *ReplyError
	// Delay passes first. With PassesOn the call itself follows, and the reply has no output.
	Delay    time.Duration
	PassesOn bool
}

// ReplyError is an error as a mock returns it.
type ReplyError struct {
	// Kind is a word of [calls.Kind].
	Kind, Message string
}

// Answer is given to a wait: at the JSON pointer, for the step; "" is the only one that waits.
type Answer struct {
	Pos     flow.Position
	Step    string
	Pointer string
	Value   value.Value
	// Message is a sentence, which is read as in a chat; "" for a value at a pointer.
	Message string
	// Turn is the time at which the run waits, from 1, that it is for; 0 is the first at which it fits.
	Turn int
	// IsDefault is set if the answer comes from the defaults of the file, not from the case.
	IsDefault bool
}

// Suffix is the end of a test file's name, after the name of its flow.
const Suffix = ".test.yaml"

// SnapshotSuffix ends the name of the file of snapshots: a.test.yaml has a.test.snapshots.yaml.
const SnapshotSuffix = ".snapshots.yaml"

// Loader reads test files, and finds everything that is wrong in them before anything runs. The program makes
// one by its fields. Loading does not change it, so one serves any number of files, also concurrently.
type Loader struct {
	// Flows reads the flows. Its providers and plugins are those that test files may name too.
	Flows *flow.Loader
	// Root is the folder of the project, from which results name files; "" is the working directory.
	Root string
	// Language is the language of problems, and of reasons to skip a case.
	Language string
	// Repeat is how often each case will run, in place of its own number; 0 leaves it to the case.
	Repeat int
	// RefusesOnly makes only an error, for continuous integration: it would leave the other cases out.
	RefusesOnly bool
}

// NameOf returns the name of a file in results: its path from the folder of the project, with slashes.
func (l *Loader) NameOf(path string) string { return relativeTo(l.Root, path) }

// relativeTo returns a path from a folder, with slashes; the path itself if there is no way from one to the other.
func relativeTo(root, path string) string {
	from, err := filepath.Abs(cmp.Or(root, "."))
	to, errTo := filepath.Abs(path)
	if errors.Join(err, errTo) == nil {
		if rel, err := filepath.Rel(from, to); err == nil {
			path = rel
		}
	}
	return filepath.ToSlash(path)
}
