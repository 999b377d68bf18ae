package check

import (
	"context"
	"embed"
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

//go:embed lang/en lang/zh
var texts embed.FS

// textsFolder is the folder of the judge's texts in the folder of the users' texts.
const textsFolder = "judge"

// Texts describes the prompts of judges: users may have others, in LANGUAGE/judge.
func Texts() calls.Texts { return ask.Texts(textsFolder, texts) }

// Judging is the question to a model about a text: its JSON is the value of the matcher judge. A check keeps it;
// it is only read.
type Judging struct {
	Criteria  []string `json:"criteria,omitempty" doc:"What the text must do, each a sentence that is true or false of it."`
	Preset    string   `json:"preset,omitempty" enum:"relevancy|correctness|refusal|harmless|coherence|concise" doc:"A list of criteria that is built in."`
	Rubric    string   `json:"rubric,omitempty" doc:"How to grade the text from 0 to 10, instead of criteria."`
	Reference string   `json:"reference,omitempty" doc:"An answer that is known to be right."`
	Min       *float64 `json:"min,omitempty" min:"0" max:"1" doc:"What share of the criteria must be met, or the grade as a share of 10. Default: 1 for criteria."`
	// LLM lists the judging providers; the first that answers judges.
	LLM  calls.ProviderNames `json:"llm,omitempty" doc:"The provider that judges, or a list that is asked in order; that of the file or of the settings where it is not given."`
	Runs int                 `json:"runs,omitempty" default:"1" min:"1" max:"9" doc:"How often it is asked; of criteria the majority counts, of grades the mean."`
}

// Judged is a text, and the question that it answers; "" if there is none.
type Judged struct{ Text, Question string }

// Ruling is the decision of a judge. [Judging.Ask] makes it.
type Ruling struct {
	// Score is the share of criteria that are met, or the grade as a share of 10; Passed reports whether that is
	// enough.
	Score  float64
	Passed bool
	// Criteria are those that were asked, each with the reason and the verdict; of a rubric it is the one item.
	Criteria []result.Criterion
}

// Validate returns a problem that the schema cannot find; pointer is its place.
func (j *Judging) Validate() (pointer string, message, hint wording.Text) {
	hasCriteria := len(j.Criteria) > 0 || j.Preset != ""
	switch {
	case !hasCriteria && j.Rubric == "":
		return "", wording.Say("the judge has nothing to judge by"), wording.Say("give criteria, preset or rubric")
	case hasCriteria && j.Rubric != "":
		return "/rubric", wording.Say("a judge goes by criteria or by a rubric, not by both"), wording.Say("write two checks")
	case j.Rubric != "" && j.Min == nil:
		return "", wording.Say("a rubric needs min"), wording.Say("write min: 0.7")
	case j.Preset == "correctness" && j.Reference == "":
		return "/preset", wording.Say("the preset correctness needs a reference"), wording.Say("add reference: with the right answer")
	}
	if j.Min != nil && *j.Min <= 0 {
		return "/min", wording.Say("everything is at least 0: the check cannot fail"), wording.Say("give more than 0, or take the check out")
	}
	for i, c := range j.Criteria {
		if strings.TrimSpace(c) == "" {
			return "/criteria/" + value.OfInt(int64(i)).JSON(), wording.Say("the criterion is empty"), wording.Text{}
		}
	}
	return "", wording.Text{}, wording.Text{}
}

// Ask asks the judge. Its error is the provider's, or says that no answer was usable.
func (j *Judging) Ask(ctx context.Context, services *Services, language string, judged Judged) (*Ruling, error) {
	env, err := services.judgeEnv(j.LLM.Text(), language)
	if err != nil {
		return nil, err
	}
	criteria, err := j.allCriteria(env)
	if err != nil {
		return nil, err
	}
	r := &Ruling{}
	met, grades := make([]int, len(criteria)), 0.0
	for run := range max(j.Runs, 1) {
		names := value.Pairs(
			"judged", fence(judged.Text, "judged"), "question", fence(judged.Question, "question"),
			"reference", fence(j.Reference, "reference"), "criteria", criteria, "rubric", j.Rubric, "run", run+1, "runs", j.Runs,
		)
		if j.Rubric != "" {
			g, err := askRubric(ctx, env, names)
			if err != nil {
				return nil, err
			}
			grades += float64(g.Grade) / 10
			r.Criteria = []result.Criterion{{Text: j.Rubric, Reason: g.Reason}}
			continue
		}
		found, err := askCriteria(ctx, env, names, len(criteria))
		if err != nil {
			return nil, err
		}
		r.addReading(criteria, found, met)
	}
	r.conclude(met, grades, max(j.Runs, 1))
	least := 1.0
	if j.Min != nil {
		least = *j.Min
	}
	r.Passed = r.Score >= least-1e-9
	if j.Rubric != "" {
		r.Criteria[0].Met = r.Passed
	}
	return r, nil
}

// addReading counts the answers of a reading; the reasons come from the last reading with the same result.
func (r *Ruling) addReading(criteria []string, found []criterionAnswer, met []int) {
	if r.Criteria == nil {
		r.Criteria = make([]result.Criterion, len(criteria))
	}
	for i, f := range found {
		if f.Met {
			met[i]++
		}
		r.Criteria[i] = result.Criterion{Text: criteria[i], Reason: f.Reason, Met: f.Met}
	}
}

// conclude sets the verdicts by the majority, and the score.
func (r *Ruling) conclude(met []int, grades float64, runs int) {
	if len(met) == 0 {
		r.Score = grades / float64(runs)
		return
	}
	count := 0
	for i := range r.Criteria {
		r.Criteria[i].Met = 2*met[i] > runs
		if r.Criteria[i].Met {
			count++
		}
	}
	r.Score = float64(count) / float64(len(met))
}

// judgeEnv returns the environment for asking a judge.
func (s *Services) judgeEnv(name, language string) (*calls.Env, error) {
	if s.Provider == nil {
		return nil, calls.Errorf(calls.Missing, "there is no model that could judge").WithHint("name one: judge: {llm: NAME} in the test file")
	}
	p, err := s.Provider(name)
	if err != nil {
		return nil, err
	}
	env := calls.NewEnv()
	env.LLM, env.Languages = p, s.Languages
	env.Vars.Language = language
	return env, nil
}

// allCriteria returns the criteria and the ones of the preset, which a file of the texts lists one a line.
func (j *Judging) allCriteria(env *calls.Env) ([]string, error) {
	if j.Rubric != "" {
		return nil, nil
	}
	criteria := slices.Clone(j.Criteria)
	if j.Preset == "" {
		return criteria, nil
	}
	set := Texts()
	text, _, err := set.Read(env.Languages, env.Vars.Language, "preset-"+j.Preset+".txt")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" {
			criteria = append(criteria, line)
		}
	}
	return criteria, nil
}

// fence makes a text harmless inside the XML element of that name.
func fence(text, element string) string {
	return ask.EscapeElement(calls.Traced{Text: text}, element).Text
}

// criterionAnswer is a judge's answer about a criterion: the reason comes first, so that the verdict follows
// from it.
type criterionAnswer struct {
	Reason string `json:"reason"`
	Met    bool   `json:"met"`
}

// criteriaAnswer is the answer of a judge to criteria.
type criteriaAnswer struct {
	Criteria []criterionAnswer `json:"criteria"`
}

func askCriteria(ctx context.Context, env *calls.Env, names *value.Map, n int) ([]criterionAnswer, error) {
	list := value.OfMap(value.Pairs("type", "array", "minItems", n, "maxItems", n, "items", schema.MustFor[criterionAnswer]().Doc()))
	s, err := schema.Parse(schema.WithProperty(schema.MustFor[criteriaAnswer]().Doc(), "criteria", list))
	if err != nil {
		return nil, err
	}
	var answer criteriaAnswer
	err = askJudge(ctx, env, "judge", names, s, &answer, nil)
	return answer.Criteria, err
}

// rubricAnswer is the answer of a judge to a rubric.
type rubricAnswer struct {
	Reason string `json:"reason"`
	Grade  int    `json:"grade" min:"0" max:"10"`
}

func askRubric(ctx context.Context, env *calls.Env, names *value.Map) (answer rubricAnswer, err error) {
	err = askJudge(ctx, env, "rubric", names, schema.MustFor[rubricAnswer](), &answer, nil)
	return answer, err
}

// judgeTrials is how often a judge is asked for an answer that fits: once more than once.
const judgeTrials = 2

// keeper is a provider that keeps its answers; drop removes the ones after the checkpoint.
type keeper interface {
	Checkpoint() (drop func() (again bool))
}

// askJudge asks a model by a prompt of this package, at temperature 0, and decodes its answer into target. An
// answer without a verdict is not kept in a recording: if it comes from one, the judge is asked again.
func askJudge(ctx context.Context, env *calls.Env, name string, names *value.Map, s *schema.Schema, target any, accept func() error) error {
	for {
		drop := func() bool { return false }
		if k, ok := env.LLM.(keeper); ok {
			drop = k.Checkpoint()
		}
		answer, err := askOnce(ctx, env, name, names, s)
		if err != nil && !errors.Is(err, ask.ErrNoAnswer) && !errors.Is(err, errRepeats) {
			return err
		}
		if err == nil {
			err = value.Decode(answer, target)
		}
		if err == nil && accept != nil {
			err = accept()
		}
		if err == nil || !drop() {
			return err
		}
	}
}

// errRepeats reports an answer that only repeats the question.
var errRepeats = calls.Errorf(calls.Provider, "the judge only repeats what it is asked").WithHint("let another model judge: judge: {llm: NAME}")

// askOnce asks a judge for an answer that fits a schema.
func askOnce(ctx context.Context, env *calls.Env, name string, names *value.Map, s *schema.Schema) (answer value.Value, err error) {
	text, err := ask.Prompt(ctx, env, textsFolder, texts, name, names)
	if err != nil {
		return answer, err
	}
	zero := 0.0
	req := &llm.Request{Messages: []llm.Message{llm.TextMessage("user", text)}, Temperature: &zero}
	answer, err = ask.JSONWithin(ctx, env, judgeTrials, req, s, nil)
	if err == nil && repeatsExample(answer) {
		err = errRepeats
	}
	return answer, err
}

// repeatsExample reports whether a reason in an answer is the example from the prompt: a provider that returns the
// prompt, such as echo, has not judged.
func repeatsExample(answer value.Value) bool {
	if slices.ContainsFunc(answer.List(), repeatsExample) {
		return true
	}
	for key, v := range answer.Map().All() {
		if text, _ := v.Str(); key == "reason" && strings.Trim(text, " .…") == "" && text != "" {
			return true
		}
		if repeatsExample(v) {
			return true
		}
	}
	return false
}
