// Package template is the call that renders one template with the given values: for example, "{{ name | upper }}"
// with name: lin gives LIN.
package template

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call.
type Params struct {
	Template string     `json:"template" doc:"The template. It stands in the flow or in a file (!file PATH), and is never computed. In a flow it sees what its step sees."`
	Values   *value.Map `json:"values,omitempty" doc:"The values of names in the template; they lie over the names that the step sees."`
	Dialect  string     `json:"dialect,omitempty" enum:"flow|transformers" default:"flow" doc:"flow is the language of flows. transformers reads the chat template of a model as Hugging Face's transformers do: line breaks after statements go, undefined names are empty, and there are break, continue, raise_exception and strftime_now."`
}

// Input is the data for rendering the template.
type Input struct {
	Values *value.Map `json:"values" doc:"The values of the names in the template."`
	Seed   int64      `json:"seed,omitempty" doc:"The seed of the filter random, where the template uses it."`
}

// Output is the rendered text.
type Output struct {
	Text string `json:"text" doc:"The rendered text."`
}

// Definition returns the call template as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "template",
		IsContained: true,
		NoSubsteps:  true,
		Summary: calls.Text{
			En: "Render a template with values.",
			Zh: "用给定的值渲染模板。",
		},
		Literal:   []string{"template"},
		Templates: []string{"template"},
		Examples: []calls.Example{{
			Title: "A list",
			With: `template: |
  {% for t in tasks %}{{ loop.index }}. {{ t.title }}{% if t.done is defined %} (done){% endif %}
  {% endfor %}
values:
  tasks: [{title: Boil water, done: true}, {title: Make tea}]
`,
		}, {
			Title: "The chat template of a model",
			With: `dialect: transformers
template: |
  {% for m in messages %}
  <|{{ m.role }}|>{{ m.content | trim }}
  {% endfor %}
  {% if add_generation_prompt %}
  <|assistant|>
  {% endif %}
values:
  messages: [{role: user, content: "Hi! "}]
  add_generation_prompt: true
`,
		}},
	})
	def.Lint = lintParams
	def.Origins = origins
	def.Templates = templatesOf
	def.Composes = func(pointer string, _ value.Value) []calls.PromptPiece {
		if pointer != "/text" {
			return nil
		}
		return []calls.PromptPiece{{Template: "/template", Values: "/values"}}
	}
	return def
}

// pointer is the place of the template in the parameters.
const pointer = "/template"

// templatesOf returns the template with the names that it mentions. The chat template of a model sees
// only its values: it asks for names such as tools to see whether they are there.
func templatesOf(params value.Value) []calls.Template {
	text, isText := params.At("/template")
	s, _ := text.Str()
	dialect, _ := params.Get("dialect")
	name, _ := dialect.Str()
	if !isText || name != "" && name != "flow" {
		return nil
	}
	t := calls.Template{Param: "template", Values: "values"}
	refs, _ := prompt.Check(prompt.Source{Text: s})
	for _, ref := range refs {
		t.Names = append(t.Names, calls.TemplateName{Path: ref.Path, Offset: ref.Offset, Guarded: ref.Guarded})
	}
	return []calls.Template{t}
}

// lintParams finds all that is wrong with the template, and the names in it that no
// value is given for.
func lintParams(params value.Value, _ calls.LintEnv) (problems []schema.Problem) {
	given, _ := params.Get("template")
	text, ok := given.Str()
	if !ok { // known when the flow runs
		return nil
	}
	dialect, _ := params.Get("dialect")
	name, _ := dialect.Str()
	opts := promptOptions(name, nil)
	refs, errs := prompt.CheckWith(prompt.Source{Text: text}, opts)
	for _, e := range errs {
		message, hint := e.Text()
		problems = append(problems, schema.Problem{Pointer: pointer, Offset: e.Offset}.WithMessage("%s", message).WithHint("%s", hint))
	}
	if p, found := calls.LintDollar(pointer, text); found && !opts.Transformers {
		problems = append(problems, p)
	}
	values, has := params.Get("values")
	isKnown := !has || values.Kind() == value.Object
	if !isKnown || opts.Transformers { // any name may be among the values, or missing
		return problems
	}
	for _, ref := range refs {
		if _, known := values.Get(ref.Path[0]); known || ref.Guarded {
			continue
		}
		p := schema.Problem{
			Pointer: pointer, Keyword: calls.UndefinedName, Offset: ref.Offset, Hint: "give it under values",
		}.WithMessage("no value is given for the name %q", ref.Path[0])
		if hint := value.DidYouMean(ref.Path[0], values.Map().Keys()); hint != "" {
			p.Hint = hint
		} else if remedy := prompt.NameRemedy(ref.Path[0]); remedy.En != "" {
			p = p.WithHint("%s", remedy)
		}
		problems = append(problems, p)
	}
	return problems
}

// Validate compiles the template, so that a flow with a wrong one does not load.
func (p Params) Validate() error {
	_, err := p.parseTemplate(nil)
	return err
}

// promptOptions returns how a dialect is read; now is the run's clock.
func promptOptions(dialect string, now func() time.Time) prompt.Options {
	return prompt.Options{Transformers: dialect == "transformers", Now: now}
}

func (p Params) parseTemplate(now func() time.Time) (*prompt.Template, error) {
	t, err := prompt.ParseWith(prompt.Source{Text: p.Template}, promptOptions(p.Dialect, now))
	if err != nil {
		return nil, classifyError(err)
	}
	return t, nil
}

// Init takes the values as they are.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	in := Input{Values: p.Values}
	if in.Values == nil {
		in.Values = value.NewMap(0)
	}
	if strings.Contains(p.Template, "random") {
		in.Seed = int64(vars.RandomSeed() >> 1) //nolint:gosec // it fits
	}
	return in, nil
}

// names are the names that the template may use. Names of the step that are missing belong to steps that were
// skipped; their members may be given a default.
type names struct {
	prompt.SecretValues
	seed int64
}

var (
	_ prompt.LenientScope = names{}
	_ prompt.SeedScope    = names{}
)

func newNames(values *value.Map, seed int64) names {
	return names{SecretValues: prompt.SecretValues{Values: prompt.Values{Map: values}}, seed: seed}
}

// IsAbsent reports that members of an undefined name may be given a default.
func (names) IsAbsent(string) bool { return true }

// RandomSeed returns the seed of the filter random.
func (n names) RandomSeed() uint64 { return uint64(n.seed) } //nolint:gosec // it is not negative

// Exec parses and renders the template; the text comes as one chunk.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		t, err := p.parseTemplate(env.Clock)
		if err != nil {
			yield(calls.Chunk{}, err)
			return
		}
		v, spans, err := t.RenderTraced(ctx, newNames(in.Values, in.Seed))
		if err != nil {
			yield(calls.Chunk{}, classifyError(err))
			return
		}
		text, _ := v.Str()
		yield(calls.Chunk{Text: text, Secret: v.SecretParts(), Spans: ofParams(spans)}, nil)
	}
}

// classifyError returns an error of the template with a kind: Budget for a bound that was reached, the context's
// own error at its end, Invalid for everything else.
func classifyError(err error) error {
	var fault *prompt.Error
	if !errors.As(err, &fault) {
		return err
	}
	kind := calls.Invalid
	if fault.Class == prompt.Limit {
		kind = calls.Budget
	}
	if fault.Err != nil {
		if below := calls.KindOf(fault.Err); below != calls.Internal {
			kind = below
		}
	}
	plain := *fault
	plain.Hint = ""              // it is printed apart
	plain.Line, plain.Col = 0, 0 // so is the place
	return &calls.Error{Kind: kind, Hint: fault.Hint, Err: &calls.PositionError{
		Pointer: pointer, Offset: fault.Offset, Line: fault.Line, Col: fault.Col, Err: &plain,
	}}
}
