// Package result holds the results of a test run, as data: [Run] has a [Suite] for each test file, that a [Case]
// for each case, row and variant, that a [Repeat] for each time it ran, and that a [Check] for each matcher. For
// example, a case with 2 rows and 3 variants has 6 entries. The runner makes them, package check fills in the
// checks, package report prints them, and package compare compares one run with another.
//
// `scheduler test --json` prints its JSON (lines.go). It has no times and no absolute paths, so that two runs of
// the same files print the same bytes. Fields without a place in JSON are for the reports of the run that made
// them.
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

// The outcomes. Skip is the outcome of skipped cases, and of checks whose when is false, with a weight of 0.
const (
	Pass  Outcome = "pass"
	Fail  Outcome = "fail"
	Error Outcome = "error"
	Skip  Outcome = "skip"
)

// rank orders outcomes by their urgency for a person.
var rank = map[Outcome]int{Fail: 3, Error: 2, Pass: 1}

// Worse returns the outcome that counts of two: a fail before an error before a pass.
func Worse(a, b Outcome) Outcome {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// Mode is the source of the answers of models.
type Mode string

// The modes.
const (
	Replay Mode = "replay" // from cassettes only
	Record Mode = "record" // from cassettes, and from models if a take was missing
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

// Run is the result of one `scheduler test`. The runner makes it; once it is made it is only read, concurrently
// too.
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

// Suite is the result of one test file.
type Suite struct {
	// File is the test file, relative to the folder of the project, with slashes.
	File  string  `json:"file"`
	Cases []*Case `json:"-"`
	// Notes list parts of the file that no case has used; they make no case fail.
	Notes []Problem `json:"-"`
	// Elapsed is how long it took, for people.
	Elapsed time.Duration `json:"-"`
}

// Case is the result of one case with one row of the dataset and one variant of the matrix.
type Case struct {
	Name string `json:"name"`
	// Row is the row of the dataset; nil if there is none.
	Row *Row `json:"row,omitempty"`
	// Variant has the settings of the matrix, in the order of the file; empty without one.
	Variant []Setting `json:"variant,omitempty"`
	// Position is the place of the case in the test file.
	Position Position `json:"position"`
	// Flow is the flow that ran, by its path as File of [Position].
	Flow string   `json:"flow,omitempty"`
	Tags []string `json:"tags,omitempty"`
	// Outcome is the verdict over the repeats; Skipped the reason if it is skip.
	Outcome Outcome `json:"outcome"`
	Skipped string  `json:"skipped,omitempty"`
	// Rate is the share of repeats that must pass, and Sure whether the lower bound of the
	// interval must be as high.
	Rate float64 `json:"rate,omitempty"`
	Sure bool    `json:"sure,omitempty"`
	// Planned is how many repeats were asked for. Fewer ran if no other could have changed the verdict, or the run
	// was stopped.
	Planned int      `json:"planned,omitempty"`
	Repeats []Repeat `json:"repeats,omitempty"`
	// Scripted reports whether every repeat had the same answers, from the file or because no model was asked: all repeats together
	// are one observation.
	Scripted bool `json:"scripted,omitempty"`
	// Cluster groups cases that are not independent, from `cluster: COLUMN`; "" is a group
	// of its own.
	Cluster string `json:"cluster,omitempty"`
	// Problem is why the case could not run, or not to its end, or names its parts that no run has asked for; nil
	// if there is none.
	Problem *Problem `json:"problem,omitempty"`
	// Elapsed is how long it took, and At when it ended, for people; zero if that is not known.
	Elapsed time.Duration `json:"-"`
	At      time.Time     `json:"-"`
}

// Row is a row of a dataset. Number counts from 1, in the order of the file.
type Row struct {
	Number int `json:"number"`
	// Name is the name of the row for people: the column name or id, else "".
	Name string `json:"name,omitempty"`
	// Position is the place of the row in the file of the dataset.
	Position Position `json:"position"`
}

// Setting is one axis of the matrix and its value in a variant: llm=small.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// KindUnused is the kind of the problem of a case that has written answers, mocks or scripted answers which no run has asked for.
const KindUnused = "unused"

// Problem prevents the decision on a case or a repeat, apart from its checks: for example a missing take of a
// cassette, a denied call, or a failed run that no check expects.
type Problem struct {
	// Kind is the kind of a [calls.Error], as a word: missing, provider, timeout ...; or [KindUnused].
	Kind     string   `json:"kind,omitempty"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
	Step     string   `json:"step,omitempty"`
	Position Position `json:"position,omitzero"`
}

// Repeat is the result of one run of a case.
type Repeat struct {
	// Number is the repeat, from 1: the take of the cassette that it plays.
	Number  int     `json:"number"`
	Outcome Outcome `json:"outcome"`
	Checks  []Check `json:"checks,omitempty"`
	// Score is the mean of the scores of the checks by their weights; nil without a check.
	Score *float64 `json:"score,omitempty"`
	// Usage is the usage of the models that the flow asked. In a replay it was recorded. PriceKnown reports
	// whether Usage.Cost is the real cost, not 0 because there is no price.
	Usage      llm.Usage `json:"usage,omitzero"`
	PriceKnown bool      `json:"price_known,omitempty"`
	// JudgeUsage is the usage of the models that checks asked: judge, grounded and prefer. EmbeddingUsage is the
	// usage of similar's embeddings, in tokens by our count: servers do not report it. The cost of recorded ones
	// is not known.
	JudgeUsage     llm.Usage `json:"judge_usage,omitzero"`
	EmbeddingUsage llm.Usage `json:"embedding_usage,omitzero"`
	// RecordedMS is how long the models took when the cassette was recorded; nil if that is not known.
	RecordedMS *int64 `json:"recorded_ms,omitempty"`
	// Problem ended the repeat before its checks; nil if nothing did.
	Problem *Problem `json:"problem,omitempty"`
	// Pieces are the pieces of the prompts, for baselines: see [PiecesOf].
	Pieces []Piece `json:"pieces,omitempty"`
	// Prompts are the prompts with their sources, for reports.
	Prompts []*explain.Explanation `json:"-"`
	// Outputs are the outputs of the flow; "" if it gave none.
	Outputs Data `json:"outputs,omitempty"`
	// ElapsedMS is how long the run took with models that were really asked; nil in a replay, since its results do
	// not depend on time.
	ElapsedMS *int64 `json:"elapsed_ms,omitempty"`
}

// Check is the result of one matcher.
type Check struct {
	// Name is the label of the check: the name given in the file, else subject and matcher, as in "prompt answer
	// includes".
	Name    string `json:"name"`
	Subject string `json:"subject,omitempty"`
	Matcher string `json:"matcher,omitempty"`
	// Metric groups the scores of checks over cases; "" is none.
	Metric string `json:"metric,omitempty"`
	// Weight is the weight of the score, 1 unless the file sets another; with 0 the check is reported and does not
	// count.
	Weight  float64 `json:"weight"`
	Outcome Outcome `json:"outcome"`
	// Score is between 0 and 1; nil is 1 for a pass and 0 for a fail.
	Score *float64 `json:"score,omitempty"`
	// Value is the value that the check looked at, shortened; "" if there was none.
	Value Data `json:"value,omitempty"`
	// Position is the place of the item under expect.
	Position Position `json:"position"`
	// Message is the fact, and Hint the remedy; both are "" for a pass.
	Message string `json:"message,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Note tells of a pass why it says little: nothing of the source that must be confined was in the prompt.
	Note string `json:"note,omitempty"`
	// Piece is the piece of the prompt that the check is about; nil if there is none.
	Piece *PieceRef `json:"piece,omitempty"`
	// Diff compares the expected and the actual value, a line each with -, + or a space before it; "" if there is
	// none.
	Diff string `json:"diff,omitempty"`
	// Judge is the model that judged; nil for other matchers.
	Judge *Judge `json:"judge,omitempty"`
}

// PieceRef names a piece of a prompt.
type PieceRef struct {
	// Step is the step of the prompt: answer, work/round-2, each[3].
	Step   string `json:"step"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Source string `json:"source,omitempty"`
	// Message is the index of its message, and Role that message's role; -1 and "" for a piece that was left out.
	Message int    `json:"message"`
	Role    string `json:"role,omitempty"`
	// Text is the piece, or its beginning.
	Text string `json:"text,omitempty"`
	// Reason and Code say why it was left out; "" for a piece that is in.
	Reason string `json:"reason,omitempty"`
	Code   string `json:"code,omitempty"`
}

// Judge names the judge of a check, its finding on each criterion, and how far people have agreed with it.
type Judge struct {
	Provider string      `json:"provider,omitempty"`
	Criteria []Criterion `json:"criteria,omitempty"`
	// Agreement, Kappa and FalsePass are from the last calibration with Labels answers; all are 0 if there was
	// none.
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

// ID returns the identity of a case in its file: its name, row and variant. Runs are compared by it.
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
