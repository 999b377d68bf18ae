// Package result has what a test run found, as data: [Run] has a [Suite] for each test file, that
// a [Case] for each case, row and variant, that a [Repeat] for each time it ran, and that a
// [Check] for each matcher. The runner makes it, package check fills in the checks, package
// report prints it, and package compare holds one run against another.
//
// Its JSON is that of `scheduler test --json` (lines.go). It has no times and no absolute paths, so
// that two runs of the same files print the same bytes. Fields without a place in JSON
// are for the reports of the run that made them.
//
// Every text is in the language of the person who reads it, and secrets are masked in it
// before it gets here.
package result

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/explain"
)

// Outcome is how a check, a repeat or a case ended. An error could not be decided: it is
// neither a pass nor a fail.
type Outcome string

// The outcomes. Cases are skipped, and checks whose when is false, with a weight of 0.
const (
	Pass  Outcome = "pass"
	Fail  Outcome = "fail"
	Error Outcome = "error"
	Skip  Outcome = "skip"
)

// rank orders outcomes by what a person must look at first.
var rank = map[Outcome]int{Fail: 3, Error: 2, Pass: 1}

// Worse returns the outcome that counts of two: a fail before an error before a pass.
func Worse(a, b Outcome) Outcome {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// Mode is where the answers of models came from.
type Mode string

// The modes.
const (
	Replay Mode = "replay" // from cassettes only
	Record Mode = "record" // from cassettes, and from models where a take was missing
	Live   Mode = "live"   // from models
)

// Position is a place in a file. File is relative to the folder of the project, with slashes.
// Line and Col count from 1; 0 is none.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// String returns file:line:col, as much of it as is known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, max(p.Col, 1))
}

// Run is what one `scheduler test` found. The runner makes it; once it is made it is only read,
// by as many as like.
type Run struct {
	Mode   Mode     `json:"mode"`
	Suites []*Suite `json:"-"`
	// Wrong are the problems of test files that could not be read, and so did not run, in the order of the files.
	Wrong []Problem `json:"-"`
	// Interrupted reports whether the run was stopped before all cases had run.
	Interrupted bool `json:"interrupted,omitempty"`
	// Currency is the unit of costs; "" is [llm.DefaultCurrency].
	Currency llm.Currency `json:"currency,omitempty"`
	// Elapsed is how long it took, for people.
	Elapsed time.Duration `json:"-"`
}

// Suite is what one test file gave.
type Suite struct {
	// File is the test file, relative to the folder of the project, with slashes.
	File  string  `json:"file"`
	Cases []*Case `json:"-"`
	// Notes are what of the file no case has used; they make no case fail.
	Notes []Problem `json:"-"`
	// Elapsed is how long it took, for people.
	Elapsed time.Duration `json:"-"`
}

// Case is what one case gave with one row of the dataset and one variant of the matrix.
type Case struct {
	Name string `json:"name"`
	// Row is the row of the dataset; nil where there is none.
	Row *Row `json:"row,omitempty"`
	// Variant has the settings of the matrix, in the order of the file; empty without one.
	Variant []Setting `json:"variant,omitempty"`
	// Position is that of the case in the test file.
	Position Position `json:"position"`
	// Flow is the flow that ran, by its path as File of [Position].
	Flow string   `json:"flow,omitempty"`
	Tags []string `json:"tags,omitempty"`
	// Outcome is the verdict over the repeats; Skipped the reason where it is skip.
	Outcome Outcome `json:"outcome"`
	Skipped string  `json:"skipped,omitempty"`
	// Rate is the share of repeats that must pass, and Sure whether the lower bound of the
	// interval must be as high.
	Rate float64 `json:"rate,omitempty"`
	Sure bool    `json:"sure,omitempty"`
	// Planned is how many repeats were asked for. There are fewer where no other could have
	// changed the verdict, or the run was stopped.
	Planned int      `json:"planned,omitempty"`
	Repeats []Repeat `json:"repeats,omitempty"`
	// Scripted reports whether every repeat had the same answers, from the file or because no model was asked: all repeats together
	// are one observation.
	Scripted bool `json:"scripted,omitempty"`
	// Cluster groups cases that are not independent, from `cluster: COLUMN`; "" is a group
	// of its own.
	Cluster string `json:"cluster,omitempty"`
	// Problem is why the case could not run, or not to its end, or what it has written that no run has asked for; nil where
	// there is none.
	Problem *Problem `json:"problem,omitempty"`
	// Elapsed is how long it took, and At when it ended, for people; zero where that is not known.
	Elapsed time.Duration `json:"-"`
	At      time.Time     `json:"-"`
}

// Row is a row of a dataset. Number counts from 1, in the order of the file.
type Row struct {
	Number int `json:"number"`
	// Name is what people know the row by: the column name or id, else "".
	Name string `json:"name,omitempty"`
	// Position is that of the row in the file of the dataset.
	Position Position `json:"position"`
}

// Setting is one axis of the matrix and its value in a variant: llm=small.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// KindUnused is the kind of the problem of a case that has written answers, mocks or scripted answers which no run has asked for.
const KindUnused = "unused"

// Problem is what kept a case or a repeat from being decided, beside its checks: a missing
// take of a cassette, a call that is not allowed, a run that failed where no check expects that.
type Problem struct {
	// Kind is that of [calls.Error], as a word: missing, provider, timeout ...; or [KindUnused].
	Kind     string   `json:"kind,omitempty"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
	Step     string   `json:"step,omitempty"`
	Position Position `json:"position,omitzero"`
}

// Repeat is what a case gave once.
type Repeat struct {
	// Number is the repeat, from 1: the take of the cassette that it plays.
	Number  int     `json:"number"`
	Outcome Outcome `json:"outcome"`
	Checks  []Check `json:"checks,omitempty"`
	// Score is the mean of the scores of the checks by their weights; nil without a check.
	Score *float64 `json:"score,omitempty"`
	// Usage is what the models cost that the flow asked. In a replay it is what was recorded. PriceKnown
	// reports whether Usage.Cost is what it cost, and not 0 because there is no price.
	Usage      llm.Usage `json:"usage,omitzero"`
	PriceKnown bool      `json:"price_known,omitempty"`
	// JudgeUsage is what the models cost that checks asked: those of judge, grounded and prefer. EmbeddingUsage is what the
	// embeddings of similar cost, in tokens by our count: servers do not tell them. Of recorded ones the cost is not known.
	JudgeUsage     llm.Usage `json:"judge_usage,omitzero"`
	EmbeddingUsage llm.Usage `json:"embedding_usage,omitzero"`
	// RecordedMS is how long the models took when the cassette was recorded; nil where that is
	// not known.
	RecordedMS *int64 `json:"recorded_ms,omitempty"`
	// Problem is what ended the repeat before its checks; nil where nothing did.
	Problem *Problem `json:"problem,omitempty"`
	// Pieces are those of the prompts, for baselines: see [PiecesOf].
	Pieces []Piece `json:"pieces,omitempty"`
	// Prompts are the prompts with their sources, for reports.
	Prompts []*explain.Explanation `json:"-"`
	// Outputs are the outputs of the flow; "" where it gave none.
	Outputs Data `json:"outputs,omitempty"`
	// ElapsedMS is how long the run took with models that were really asked; nil in a replay, whose results do not depend on time.
	ElapsedMS *int64 `json:"elapsed_ms,omitempty"`
}

// Check is what one matcher found.
type Check struct {
	// Name is what people know the check by: the name given in the file, else subject and
	// matcher, as in "prompt answer includes".
	Name    string `json:"name"`
	Subject string `json:"subject,omitempty"`
	Matcher string `json:"matcher,omitempty"`
	// Metric groups the scores of checks over cases; "" is none.
	Metric string `json:"metric,omitempty"`
	// Weight is that of the score, 1 unless the file sets another; with 0 the check is
	// reported and does not count.
	Weight  float64 `json:"weight"`
	Outcome Outcome `json:"outcome"`
	// Score is between 0 and 1; nil is 1 for a pass and 0 for a fail.
	Score *float64 `json:"score,omitempty"`
	// Value is what the check looked at, shortened; "" where there was nothing.
	Value Data `json:"value,omitempty"`
	// Position is that of the item under expect.
	Position Position `json:"position"`
	// Message is the fact, and Hint the remedy; both are "" for a pass.
	Message string `json:"message,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Note tells of a pass why it says little: nothing of the source that must be confined was in the prompt.
	Note string `json:"note,omitempty"`
	// Piece is the piece of the prompt that the check is about; nil where there is none.
	Piece *PieceRef `json:"piece,omitempty"`
	// Diff is that of what was expected and what there is, a line each with -, + or a space
	// before it; "" where there is none.
	Diff string `json:"diff,omitempty"`
	// Judge is the model that judged; nil for other matchers.
	Judge *Judge `json:"judge,omitempty"`
}

// PieceRef names a piece of a prompt.
type PieceRef struct {
	// Step is whose prompt it is: answer, work/round-2, each[3].
	Step   string `json:"step"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Source string `json:"source,omitempty"`
	// Message is the index of its message, and Role the role of that; -1 and "" for what was
	// left out.
	Message int    `json:"message"`
	Role    string `json:"role,omitempty"`
	// Text is the piece, or its beginning.
	Text string `json:"text,omitempty"`
	// Reason and Code tell why it was left out; "" for what is in.
	Reason string `json:"reason,omitempty"`
	Code   string `json:"code,omitempty"`
}

// Judge is who judged a check, what it found of each criterion, and how far people have found
// it right.
type Judge struct {
	Provider string      `json:"provider,omitempty"`
	Criteria []Criterion `json:"criteria,omitempty"`
	// Agreement, Kappa and FalsePass are from the last calibration with Labels answers; all are 0
	// where there was none.
	Labels    int     `json:"labels,omitempty"`
	Agreement float64 `json:"agreement,omitempty"`
	Kappa     float64 `json:"kappa,omitempty"`
	FalsePass float64 `json:"false_pass,omitempty"`
}

// Criterion is the verdict of a judge on one criterion, and its reason.
type Criterion struct {
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"`
	Met    bool   `json:"met"`
}

// ID returns what a case is known by within its file: its name, row and variant. Runs are compared
// by it.
func (c *Case) ID() string {
	var id strings.Builder
	id.WriteString(c.Name)
	if c.Row != nil {
		id.WriteString(" #" + cmp.Or(c.Row.Name, fmt.Sprint(c.Row.Number)))
	}
	if variant := c.VariantName(); variant != "" {
		id.WriteString(" [" + variant + "]")
	}
	return id.String()
}

// VariantName returns the settings of the variant, as in "llm=small, flow=a.yaml"; "" without a
// matrix.
func (c *Case) VariantName() string {
	settings := make([]string, len(c.Variant))
	for i, s := range c.Variant {
		settings[i] = s.Key + "=" + s.Value
	}
	return strings.Join(settings, ", ")
}
