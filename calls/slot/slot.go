// Package slot is the call that fills data against a JSON Schema: it keeps known values, lets the model find
// missing ones, and returns a schema of the rest. For example, with the schema of a trip and the question "a
// flight to Rome", it fills in the city and returns a schema with the date. It is the class Slot of the documents:
// SlotInput is [Input], SlotOutput is [Output], SlotProcessor is [processor.Processor].
//
// Package processor checks and merges answers (merge.go), of a model or of a person when a run is resumed; it does
// not use models. Package extract finds JSON in a model's text. The two ways of asking a model are stage_llm.go
// and stage_function.go.
//
// Three things can be added. A language is a folder of the two templates in lang/en, as LANGUAGE/slot/prompt.txt
// and LANGUAGE/slot/retry.txt in the directory of languages that the configuration names; no Go is needed. A way
// of filling is a [Strategy], a format (a notation of people, converted and checked) a [processor.Format]; a
// program registers the call with its own strategies and formats by [Extended]. The built-in ones have a file each
// and a line in builtInStrategies or in [schema.Formats].
package slot

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

// Definition returns the call slot as a registry knows it, with the built-in stages only.
func Definition() calls.Definition { return Extended(Kit{}) }

// Extended describes the call with a program's extensions. It is registered in place of [Definition].
func Extended(kit Kit) calls.Definition {
	kit.Formats = append(slices.Clip(kit.Formats), schema.Formats()...)
	named := builtInStrategies()
	maps.Copy(named, kit.Strategies)
	kit.Strategies = named
	def := calls.DefineWith[Params, Input, Output](calls.Info{
		Name:        "slot",
		IsContained: true,
		Summary: calls.Text{
			En: "Fill data against a JSON Schema: from what is known, from the model, and say what is missing.",
			Zh: "按照 JSON Schema 填充参数：取已知数据，向模型询问，并指出还缺少什么。",
		},
		Literal:      []string{"current_schema", "answers"},
		Messages:     []string{"messages"},
		UsesLLM:      true,
		LLMOptional:  true,
		OmitsUnknown: true,
		Examples:     examples(),
	}, func(p *Params) { p.kit = &kit })
	def.OutputFor = func(output, params value.Value) value.Value {
		if wanted, _ := params.Get("current_schema"); wanted.Kind() == value.Object {
			return schema.WithProperty(output, "slot_data", wanted)
		}
		return output
	}
	def.Lint = func(params value.Value, env calls.LintEnv) []schema.Problem {
		doc, _ := params.Get("current_schema")
		doc = processor.ExpandFormats(doc, kit.Formats)
		return append(schema.InvalidAt("/current_schema", doc), schema.LintAt("/current_schema", doc, env.IsComputed)...)
	}
	def.Info.Check = kit.checkStages
	def.ReadsConversation = func(params value.Value) bool {
		stages, isGiven := params.Get("stages")
		isCheck := isGiven && stages.Kind() == value.List && len(stages.List()) == 0
		return !isCheck && calls.ReadsUnlessGiven("messages")(params)
	}
	def.Texts = []calls.Texts{templateTexts(), ask.RetryTexts()}
	def.TakeMessage = takeMessage
	def.Origins = func(_ context.Context, of calls.Record, pointer string) []calls.Origin {
		if strings.HasPrefix(pointer, "/input/") {
			return inputOrigins(of, pointer)
		}
		return outputOrigins(of, pointer, func() (p Params, err error) {
			p.kit = &kit
			return p, value.Decode(def.Info.Params.ApplyDefaults(of.Params), &p)
		})
	}
	return def
}

// checkStages looks up the stages.
func (k *Kit) checkStages(params value.Value, _ calls.LintEnv) (problems []schema.Problem) {
	names := slices.Sorted(maps.Keys(k.Strategies))
	stages, _ := params.Get("stages")
	for i, v := range stages.List() {
		stage, isText := v.Str()
		if _, isKnown := k.Strategies[stage]; isKnown || !isText {
			continue
		}
		p := schema.Problem{Pointer: fmt.Sprintf("/stages/%d", i)}.WithMessage("unknown stage %q", stage)
		if hint := value.DidYouMean(stage, names); hint != "" {
			p.Hint = hint
		} else {
			p = p.WithHint("stages are %s", strings.Join(names, ", "))
		}
		problems = append(problems, p)
	}
	return problems
}

// Validate compiles the schema.
func (p Params) Validate() error {
	_, err := p.newProcessor()
	return err
}

// newFilling starts a filling with the known data and the answers given. question is the user's question.
func (p Params) newFilling(now time.Time, language, question string) (*processor.Filling, error) {
	proc, err := p.newProcessor()
	if err != nil {
		return nil, err
	}
	proc = proc.In(language)
	data := p.Data.Value
	isOptional := len(p.Stages) > 0 || !p.Data.given
	if isOptional && data.IsNull() {
		data = proc.Nothing() // null means that nothing is known, unless it is only to be checked
	}
	fill := proc.Fill
	if len(p.Stages) == 0 {
		fill = proc.FillAsIs
	}
	filling, err := fill(data, now)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the data cannot be checked against current_schema: %w", err)
	}
	filling.Hear(question, p.Message)
	if schema.IsNoAnswer(p.Message) {
		filling.Refuse(p.Message)
	}
	filling.From(p.Sources)
	if len(p.FromModel) > 0 || p.Sources.Len() > 0 {
		filling.DropPlaceholders(p.isGuess())
	}
	if p.Answers.Len() > 0 {
		filling.Take(value.OfMap(p.Answers), processor.User)
	}
	if len(p.Stages) > 0 {
		filling.ApplyConstants()
	}
	return filling, nil
}

// Init finds the missing values, and the texts from which the model may know them.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	filling, err := p.newFilling(vars.Now, vars.Language, vars.Question)
	if err != nil {
		return Input{}, err
	}
	in := Input{RemainingSchema: filling.Remaining(), Question: vars.Question, Summary: p.Summary, Facts: p.Facts}
	if filling.Done() || len(p.Stages) == 0 {
		return in, nil
	}
	if in.Summary == "" {
		in.Summary = vars.Summary()
	}
	if len(in.Facts) == 0 {
		in.Facts = vars.Facts()
	}
	if p.StepNum > 0 {
		history := vars.History()
		in.History = history[max(0, len(history)-p.StepNum):]
	}
	return in, nil
}

// Exec lets the stages fill in turn, until nothing is missing. A step that talks to the user
// (to_user) streams the JSON of the data, each member once it is known.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		var filled *filledText
		if env.Vars.Step.ToUser {
			filled = &filledText{said: value.NewMap(0), yield: func(piece string) bool { return yield(calls.TextChunk(piece), nil) }}
		}
		out, err := p.fill(ctx, env, in, filled)
		switch {
		case errors.Is(err, errAbandoned):
		case err != nil:
			yield(calls.Chunk{}, err)
		default:
			yield(calls.DataChunk(out))
		}
	}
}

// fill lets the stages fill in turn, and shows the user the data.
func (p Params) fill(ctx context.Context, env *calls.Env, in Input, filled *filledText) (Output, error) {
	filling, err := p.newFilling(env.Vars.Now, env.Vars.Language, in.Question)
	if err != nil {
		return Output{}, err
	}
	w := &Work{Env: env, Input: in, Filling: filling, params: &p, filled: filled}
	w.structured = w.newStructured()
	for _, stage := range p.stagesToRun() {
		if err := filled.sayKnown(filling); err != nil {
			return Output{}, err
		}
		if filling.Done() {
			break
		}
		if err := w.runStage(ctx, stage, p.kit.Strategies[stage]); err != nil {
			return Output{}, err
		}
	}
	if err := filled.sayRest(filling.Data()); err != nil {
		return Output{}, err
	}
	return Output{
		SlotData: filling.Data(), RemainingSchema: filling.Remaining(), Sources: filling.Sources(),
		Rejected: filling.Rejected(), Warnings: w.warnings,
	}, ctx.Err()
}

// builtInStrategies returns the built-in ways of filling, by the names that stages list. A new
// one adds its line here.
func builtInStrategies() map[string]Strategy {
	return map[string]Strategy{
		"llm":        fillByText,
		"function":   fillBySchema,
		defaultStage: fillByDefault,
	}
}

// fillByDefault takes the defaults of the schema. If there is any stage it is the last one, named or not.
func fillByDefault(_ context.Context, w *Work) error {
	w.Filling.ApplyDefaults()
	return nil
}

func examples() []calls.Example {
	return []calls.Example{
		{
			Title: "The model finds what the question tells",
			With: `data: {unit: celsius}
current_schema:
  type: object
  required: [city, date]
  properties:
    city: {type: string, description: The city}
    date: {type: string, format: date}
    unit: {enum: [celsius, fahrenheit]}
`,
			Vars:    &calls.Vars{Question: "What will the weather be like in Hangzhou tomorrow?", Language: "en"},
			Answers: []string{"```json\n{\"/city\": \"Hangzhou\", \"/date\": \"tomorrow\"}\n```"},
		},
		{
			Title: "Unknown values stay missing",
			With: `current_schema:
  type: object
  required: [city, days]
  properties:
    city: {type: string}
    days: {type: integer, default: 3}
`,
			Vars:    &calls.Vars{Question: "天气怎么样？", Language: "zh"},
			Answers: []string{"{}", `{"/city": null, "/days": null}`},
		},
		{
			Title:   "Check only, with an answer from a person",
			With:    "{stages: [], data: {city: 5}, answers: {/city: 杭州}, current_schema: {type: object, properties: {city: {type: string}}}}",
			Answers: nil,
		},
	}
}
