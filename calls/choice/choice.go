// Package choice is the call that picks one of several branches: the first with a true condition, or the best one
// according to a model. For example, by: model with the choices refund and order picks refund for the question "I
// want my money back".
package choice

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed lang/en lang/zh
var texts embed.FS

// Params are the parameters of the call.
type Params struct {
	Choices     []Choice     `json:"choices" min:"1" max:"100" doc:"The branches, in order."`
	By          string       `json:"by,omitempty" enum:"conditions|model" doc:"Who picks. Default: conditions where any choice has when, else model. A model picks among those without when and those whose when is true."`
	Question    *string      `json:"question,omitempty" doc:"What the model decides about. Default: the question of the run."`
	Values      *value.Map   `json:"values,omitempty" doc:"What the model may know beside the question."`
	Messages    []*value.Map `json:"messages,omitempty" doc:"Chat messages before the question, oldest first: {role, content}. The model sees them. Default: the conversation that came with the question; without one, in a flow with memory, the last turns of the session. [] shows none." example:"[{role: user, content: 'Where is A-1042?'}]"`
	Model       string       `json:"model,omitempty" doc:"The model to ask; the provider's setting where it is not given." example:"some-model"`
	Temperature *float64     `json:"temperature,omitempty" min:"0" max:"2" doc:"How freely the model chooses; the provider's setting where it is not given." example:"0"`
}

// Choice is one branch, and when it is to be taken.
type Choice struct {
	Branch      string `json:"branch" min:"1" doc:"Its name, unique among the choices."`
	When        *bool  `json:"when,omitempty" doc:"Its condition: true or false, as one expression gives it: \"{{ a.total > 3 }}\"."`
	Description string `json:"description,omitempty" doc:"When to take it, for the model."`
	Default     bool   `json:"default,omitempty" doc:"Take it when no other is taken. At most one choice has it."`
}

// Input is the data for the decision.
type Input struct {
	By       string     `json:"by"`
	Choices  []Choice   `json:"choices"`
	Question string     `json:"question,omitempty"`
	Values   *value.Map `json:"values,omitempty"`
}

// Output is the branch that was taken.
type Output struct {
	Branch string `json:"branch" doc:"The name of the branch."`
	Reason string `json:"reason" doc:"Why it was taken; the model's words where it picked."`
	Index  int    `json:"index" doc:"Its place among the choices, from 0."`

	Warnings []string `json:"warnings,omitempty" doc:"What went wrong on the way to the default."`
}

// maxDialogueTokens is how much of the messages before the question the model is shown.
const maxDialogueTokens = 4000

const (
	byConditions = "conditions"
	byModel      = "model"
)

// Definition returns the call choice as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "choice",
		Outcome:     "branch",
		IsContained: true,
		NoSubsteps:  true,
		Messages:    []string{"messages"},
		Summary: calls.Text{
			En: "Pick one of several branches, by conditions or by a model.",
			Zh: "从多个分支中选出一个：按条件，或由模型选择。",
		},
		UsesLLM:     true,
		LLMOptional: true,
		Examples: []calls.Example{
			{
				Title: "By conditions",
				With: `choices:
  - {branch: many, when: false}     # in a flow: "{{ search.total > 10 }}"
  - {branch: some, when: true}
  - {branch: none, default: true}
`,
			},
			{
				Title: "By a model",
				With: `question: Where is my parcel?
values: {customer: Ann}
choices:
  - {branch: delivery, description: questions about where an order is}
  - {branch: payment, description: questions about invoices and refunds}
  - {branch: other, default: true}
`,
				Answers: []string{`{"reason": "It asks where a parcel is.", "branch": "delivery"}`},
			},
		},
	})
	def.Lint = lintParams
	def.ReadsConversation = readsConversation
	def.OutputFor = namedBranches
	def.Texts = []calls.Texts{ask.Texts("choice", texts), ask.RetryTexts()}
	def.Origins = origins
	return def
}

// origins returns the origins of the branch, which is the name of a choice, and of the input.
func origins(ctx context.Context, of calls.Record, pointer string) []calls.Origin {
	index, _ := of.Output.Get("index")
	if pointer == "/input/question" {
		return of.OriginOfParamOr("/question", "question")
	}
	if pointer != "/output/branch" {
		return calls.ParamsAsInput(ctx, of, pointer)
	}
	return []calls.Origin{{Pointer: "/choices/" + index.JSON() + "/branch"}}
}

// Validate checks rules that the parameters' schema cannot express.
func (p Params) Validate() error {
	for i, c := range p.Choices {
		if err := p.checkChoice(i, c); err != nil {
			return calls.Errorf(calls.Invalid, "choices/%d: %w", i, err)
		}
	}
	return nil
}

// checkChoice looks at one choice and at those before it.
func (p Params) checkChoice(i int, c Choice) error {
	before := p.Choices[:i]
	fallback := slices.IndexFunc(before, func(b Choice) bool { return b.Default })
	switch {
	case slices.ContainsFunc(before, func(b Choice) bool { return b.Branch == c.Branch && b.Branch != "" }):
		return wording.Errorf("duplicate branch %q", c.Branch)
	case c.Default && fallback >= 0:
		return wording.Errorf("%q and %q are both the default", before[fallback].Branch, c.Branch)
	case p.strategyName() == byConditions && c.When == nil && !c.Default:
		return calls.Errorf(calls.Invalid, "the branch %q has no condition", c.Branch).
			WithHint("give it when, or make it the default: default: true")
	}
	return nil
}

// lintParams checks the same for a flow, in which conditions are null, because they are known only later.
func lintParams(params value.Value, _ calls.LintEnv) (problems []schema.Problem) {
	var p Params
	by, given := params.Get("by")
	isUnknown := given && by.IsNull()
	if isUnknown || value.Decode(params, &p) != nil {
		return nil
	}
	choices, _ := params.Get("choices")
	for i, c := range choices.List() {
		if _, conditional := c.Get("when"); conditional {
			p.Choices[i].When = new(bool)
		}
	}
	for i, c := range p.Choices {
		if err := p.checkChoice(i, c); err != nil {
			problems = append(problems, calls.ProblemOf(fmt.Sprintf("/choices/%d", i), err))
		}
	}
	return problems
}

// readsConversation reports whether a model picks, and sees the messages before the question.
func readsConversation(params value.Value) bool {
	by, _ := params.Get("by")
	choices, _ := params.Get("choices")
	name, isKnown := by.Str()
	hasConditions := slices.ContainsFunc(choices.List(), func(c value.Value) bool {
		_, has := c.Get("when")
		return has
	})
	if byConditions := name == byConditions || !isKnown && hasConditions; byConditions {
		return false
	}
	return calls.ReadsUnlessGiven("messages")(params)
}

// namedBranches returns the output's schema with the possible branches, if the flow names them all.
func namedBranches(output, params value.Value) value.Value {
	choices, _ := params.Get("choices")
	var names []value.Value
	for _, c := range choices.List() {
		name, _ := c.Get("branch")
		if _, isText := name.Str(); !isText {
			return output
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return output
	}
	return schema.WithProperty(output, "branch", value.OfMap(value.Pairs("type", "string", "enum", names)))
}

// strategyName returns the name of the strategy that picks.
func (p Params) strategyName() string {
	if p.By != "" {
		return p.By
	}
	if slices.ContainsFunc(p.Choices, func(c Choice) bool { return c.When != nil }) {
		return byConditions
	}
	return byModel
}

// Init takes the parameters and the question of the run.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	in := Input{By: p.strategyName(), Choices: p.Choices}
	if in.By == byModel {
		in.Question, in.Values = vars.Question, p.Values
		if p.Question != nil {
			in.Question = *p.Question
		}
	}
	return in, nil
}

// Exec picks the first branch with a true condition, or asks the model.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if in.By == byModel {
			return p.askModel(ctx, env, in)
		}
		return in.decideByCondition(env)
	})
}

// decideByCondition takes the first choice with a true condition, else the default.
func (in Input) decideByCondition(env *calls.Env) (*Output, error) {
	for i, c := range in.Choices {
		if c.When != nil && *c.When {
			return &Output{Branch: c.Branch, Reason: env.Say("its condition is true"), Index: i}, nil
		}
	}
	return in.takeDefault(env, wording.Say("no condition is true"))
}

// takeDefault takes the default.
func (in Input) takeDefault(env *calls.Env, reason wording.Text) (*Output, error) {
	names := make([]string, len(in.Choices))
	for i, c := range in.Choices {
		names[i] = c.Branch
		if c.Default {
			return &Output{Branch: c.Branch, Reason: env.Say("the default: %s", reason), Index: i}, nil
		}
	}
	return nil, calls.Errorf(calls.Invalid, "%s, and none of the choices %s is the default", reason, strings.Join(names, ", ")).
		WithHint("add a choice with default: true")
}

// openChoices returns the choices that a model may pick from.
func (in Input) openChoices() (open []Choice) {
	for _, c := range in.Choices {
		if c.When == nil || *c.When {
			open = append(open, c)
		}
	}
	return open
}

// askModel lets the model pick. An answer that names none of the branches, even after a second request, leads to
// the default; a provider that fails does not.
func (p Params) askModel(ctx context.Context, env *calls.Env, in Input) (*Output, error) {
	open := in.openChoices()
	switch len(open) {
	case 0:
		return in.takeDefault(env, wording.Say("no condition is true"))
	case 1:
		return in.outputOf(open[0].Branch, env.Say("it is the only one left")), nil
	}
	if in.Question == "" && in.Values.Len() == 0 && env.Vars.Summary() == "" {
		return nil, calls.Errorf(calls.Missing, "there is nothing to decide about: neither question nor values are given, and the run has no question").
			WithHint("give question, or values")
	}
	s, err := answerSchema(open)
	if err != nil {
		return nil, err
	}
	req, parts, err := p.newRequest(ctx, env, in, open)
	if err != nil {
		return nil, err
	}
	answer, err := ask.JSON(calls.WithParts(ctx, parts), env, req, s, func(v value.Value) value.Value { return readAnswer(v, open) })
	if errors.Is(err, ask.ErrNoAnswer) && slices.ContainsFunc(in.Choices, func(c Choice) bool { return c.Default }) {
		out, fallbackErr := in.takeDefault(env, wording.Say("the model named none of the branches"))
		if fallbackErr != nil {
			return nil, fallbackErr
		}
		out.Warnings = []string{env.Say("the default branch %q is taken: %s", out.Branch, env.MessageOf(err))}
		env.Warn("fallback", "%s", out.Warnings[0])
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	branch, _ := answer.Get("branch")
	reason, _ := answer.Get("reason")
	name, _ := branch.Str()
	why, _ := reason.Str()
	return in.outputOf(name, why), nil
}

// readAnswer returns an answer that names a branch, whatever the case, with or without a reason
// and more: the branch is all that is needed. Another answer stays as it is.
func readAnswer(answer value.Value, open []Choice) value.Value {
	branch, _ := answer.Get("branch")
	said, _ := branch.Str()
	if word, isText := answer.Str(); isText { // an answer in one word
		said = word
	}
	said = strings.TrimSpace(said)
	var near []string
	for _, c := range open {
		if c.Branch == said {
			near = []string{c.Branch}
			break
		}
		if strings.EqualFold(trimMarks(c.Branch), trimMarks(said)) {
			near = append(near, c.Branch)
		}
	}
	if said == "" || len(near) != 1 {
		return answer
	}
	reason, _ := answer.Get("reason")
	why, _ := reason.Str()
	return value.OfMap(value.Pairs("reason", why, "branch", near[0]))
}

// trimMarks returns a name without the marks that models put around it, for example **refund**, (refund) and 「退款」。
func trimMarks(name string) string {
	return strings.Trim(name, " \n\t\r\"'`*_.。…!！,，:：()（）[]【】“”‘’「」『』《》")
}

func (in Input) outputOf(branch, reason string) *Output {
	i := slices.IndexFunc(in.Choices, func(c Choice) bool { return c.Branch == branch })
	return &Output{Branch: branch, Reason: reason, Index: i}
}

// newRequest returns the request for the model.
func (p Params) newRequest(ctx context.Context, env *calls.Env, in Input, open []Choice) (*llm.Request, []calls.Part, error) {
	question := calls.TracedName("question", "", in.Question)
	if p.Question != nil {
		question = calls.TracedParam("/question", in.Question)
	}
	given := calls.Traced{}
	if in.Values.Len() > 0 {
		given = calls.TracedJSON(value.OfMap(in.Values), func(pointer string) calls.Origin {
			return calls.Origin{Pointer: "/values" + pointer}
		})
	}
	values := ask.NewValues()
	choices := make([]*value.Map, len(open))
	for i, c := range open {
		at := fmt.Sprintf("choices/%d/", i)
		pointer := fmt.Sprintf("/choices/%d/", slices.IndexFunc(p.Choices, func(o Choice) bool { return o.Branch == c.Branch }))
		choices[i] = value.Pairs(
			"branch", values.Trace(at+"branch", calls.TracedParam(pointer+"branch", c.Branch)),
			"description", values.Trace(at+"description", calls.TracedParam(pointer+"description", c.Description)),
			"default", c.Default,
		)
	}
	values.Set("choices", value.Must(choices))
	values.Put("question", ask.EscapeElement(question, "question"))
	values.Put("summary", ask.EscapeElement(calls.TracedName("summary", "", env.Vars.Summary()), "summary"))
	values.Put("conversation", ask.FormatDialogue(ctx, env, p.Messages, maxDialogueTokens, "conversation"))
	values.Put("values", ask.EscapeElement(given, "values"))
	text, parts, err := ask.TracedPrompt(ctx, env, "choice", texts, "choice", values)
	if err != nil {
		return nil, nil, err
	}
	return &llm.Request{Model: p.Model, Temperature: p.Temperature, Messages: []llm.Message{llm.TextMessage("user", text)}}, parts, nil
}

// answerSchema has the reason first: a model that gives reasons before it decides
// decides better.
func answerSchema(open []Choice) (*schema.Schema, error) {
	names := make([]string, len(open))
	for i, c := range open {
		names[i] = c.Branch
	}
	text := value.Pairs("type", "string")
	s, err := schema.Parse(value.OfMap(value.Pairs(
		"type", "object",
		"properties", value.Pairs("reason", text, "branch", value.Pairs("type", "string", "enum", names)),
		"required", []string{"reason", "branch"},
		"additionalProperties", false,
	)))
	if err != nil {
		return nil, wording.Errorf("making the schema of the answer: %w", err)
	}
	return s, nil
}
