// Package calibrate compares a judge with people: answers that people have passed or failed ([ReadLabels]) are
// judged again ([Run]), and a [Calibration] says how far both agree. For example, a judge that fails 3 of 30
// answers which people passed agrees on 90 %. [Save] keeps the calibration for the reports of later test runs,
// where [Annotate] puts it beside the verdicts of the judge.
package calibrate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// maxLine is how long a line of labels may be.
const maxLine = 4 << 20

// Label is an answer and the verdict of people on it.
type Label struct {
	// ID is the name of the answer for people; "" is its line.
	ID string
	// Text is the answer, and Question the question that it answers; "" if that is not known.
	Text, Question string
	// Pass is the verdict of people.
	Pass bool
	// Judge holds the criteria of the judge; nil uses the criteria of the run.
	Judge *check.Judging
	// Line is its line in the file.
	Line int
}

// labelLine is a line of a file of labels.
type labelLine struct {
	ID       string         `json:"id,omitempty"`
	Text     string         `json:"text,omitempty"`
	Question string         `json:"question,omitempty"`
	Pass     *bool          `json:"pass,omitempty"`
	Judge    *check.Judging `json:"judge,omitempty"`
}

// labelSchema is the schema of a line of a file of labels.
var labelSchema = sync.OnceValue(schema.MustFor[labelLine])

// ReadLabels reads labels, a line of JSON each: {"text": ..., "pass": true}, and as one likes id, question, and
// judge, which is as in a test file. All that is wrong is returned, each with its line.
func ReadLabels(r io.Reader) (labels []Label, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	var problems []error
	for line := 1; in.Scan(); line++ {
		text := bytes.TrimSpace(value.WithoutMark(in.Bytes()))
		if len(text) == 0 {
			continue
		}
		l, err := readLabel(text)
		if err != nil {
			problems = append(problems, wording.Errorf("line %d: %w", line, err))
			continue
		}
		l.Line = line
		labels = append(labels, l)
	}
	problems = append(problems, in.Err())
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if len(labels) == 0 {
		return nil, calls.Errorf(calls.Invalid, "there are no labels").WithHint(`write a line for each answer: {"text": "...", "pass": true}`)
	}
	return labels, nil
}

// readLabel reads a line.
func readLabel(text []byte) (l Label, err error) {
	v, err := value.ParseStrictJSON(text)
	if err != nil {
		return l, err
	}
	if problems := labelSchema().Check(v); problems != nil {
		return l, problems
	}
	var line labelLine
	if err := value.Decode(v, &line); err != nil {
		return l, err
	}
	if line.Pass == nil {
		return l, wording.Errorf("pass is missing: write true or false, as people found it")
	}
	l = Label{ID: line.ID, Text: line.Text, Question: line.Question, Pass: *line.Pass}
	if line.Judge == nil {
		return l, nil
	}
	l.Judge = line.Judge
	return l, Validate(l.Judge)
}

// Validate reports an error in the criteria of a judge.
func Validate(j *check.Judging) error {
	_, message, hint := j.Validate()
	if message.En == "" {
		return nil
	}
	return calls.Errorf(calls.Invalid, "judge: %s", message).WithHint("%s", hint)
}

// Calibration is how far a judge agrees with people. [Run] makes it; it is only data.
type Calibration struct {
	// Provider is the judge.
	Provider string `json:"provider"`
	stat.Agreement
	// Failed is how many answers people failed, and FalsePasses how many of those the judge passed; FalsePass
	// is their share, with its interval.
	Failed            int           `json:"failed"`
	FalsePasses       int           `json:"false_passes"`
	FalsePass         float64       `json:"false_pass"`
	FalsePassInterval stat.Interval `json:"false_pass_interval"`
	// FalseFails is how many answers the judge failed that people passed.
	FalseFails int `json:"false_fails"`
	// Disagreements are the answers on which both differ, Undecided those without a verdict of the judge.
	Disagreements []Disagreement `json:"disagreements,omitempty"`
	Undecided     []Undecided    `json:"undecided,omitempty"`
}

// Disagreement is an answer on which the judge and people differ.
type Disagreement struct {
	Line int    `json:"line"`
	ID   string `json:"id,omitempty"`
	// Judge and People are the verdicts, and Reason the judge's reason.
	Judge  bool   `json:"judge"`
	People bool   `json:"people"`
	Reason string `json:"reason,omitempty"`
}

// Undecided is an answer that the judge could not judge.
type Undecided struct {
	Line    int    `json:"line"`
	ID      string `json:"id,omitempty"`
	Problem string `json:"problem"`
	// Hint is the remedy; "" if none is known.
	Hint string `json:"hint,omitempty"`
}

// Run lets a judge judge the answers, one after the other; services knows it under the name of provider. Labels
// without criteria of their own use standard. An answer that could not be judged does not count in the agreement.
// The error is the context's, or says that a label has no criteria.
func Run(ctx context.Context, labels []Label, standard *check.Judging, provider, language string, services *check.Services) (*Calibration, error) {
	c := &Calibration{Provider: provider}
	var judge, people []bool
	for i := range labels {
		l := &labels[i]
		judging := l.Judge
		if judging == nil {
			judging = standard
		}
		if judging == nil {
			return nil, calls.Errorf(calls.Invalid, "line %d: there is nothing to judge by", l.Line).WithHint(`add "judge": {"criteria": [...]} to the line, or --criterion`)
		}
		own := *judging
		if len(own.LLM) == 0 {
			own.LLM = llm.ParseNames(provider)
		}
		ruling, err := own.Ask(ctx, services, language, check.Judged{Text: l.Text, Question: l.Question})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			c.Undecided = append(c.Undecided, Undecided{l.Line, l.ID, wording.OfError(err).In(language), calls.HintIn(err, language)})
			continue
		}
		judge, people = append(judge, ruling.Passed), append(people, l.Pass)
		c.count(l, ruling)
	}
	c.Agreement = stat.Kappa(judge, people)
	if c.Failed > 0 {
		c.FalsePass = float64(c.FalsePasses) / float64(c.Failed)
	}
	c.FalsePassInterval = stat.Wilson(c.FalsePasses, c.Failed)
	return c, nil
}

// count counts an answer that was judged.
func (c *Calibration) count(l *Label, ruling *check.Ruling) {
	if !l.Pass {
		c.Failed++
	}
	if ruling.Passed == l.Pass {
		return
	}
	if ruling.Passed {
		c.FalsePasses++
	} else {
		c.FalseFails++
	}
	c.Disagreements = append(c.Disagreements, Disagreement{l.Line, l.ID, ruling.Passed, l.Pass, reasonOf(ruling)})
}

// reasonOf returns the reason of the first criterion that is not met, else of the first.
func reasonOf(r *check.Ruling) string {
	for _, criterion := range r.Criteria {
		if !criterion.Met {
			return criterion.Reason
		}
	}
	if len(r.Criteria) > 0 {
		return r.Criteria[0].Reason
	}
	return ""
}
