package slot

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call: the properties of the class Slot, which are data,
// current_schema, summary, facts and step_num, and further ones.
type Params struct {
	Data          known        `json:"data,omitempty" doc:"What is known. Keys may be JSON pointers: /address/city."`
	CurrentSchema *value.Map   `json:"current_schema,omitempty" doc:"The JSON Schema (draft 7, or that of its $schema) that the data is to fit. The types date, timestamp and date-time may be used as well. Taken as written."`
	Summary       string       `json:"summary,omitempty" doc:"A summary of what came before; that of the newest upstream summary step where it is not given." example:"The user wants to book a table."`
	Facts         []string     `json:"facts,omitempty" doc:"Facts known from before; those of the newest upstream facts step where they are not given." example:"[Lin is a vegetarian.]"`
	Messages      []*value.Map `json:"messages,omitempty" doc:"Chat messages before the question, oldest first: {role, content}. The model sees them. Default: the conversation that came with the question; without one, in a flow with memory, the last turns of the session. [] shows none." example:"[{role: user, content: 'Where is A-1042?'}]"`
	StepNum       int          `json:"step_num,omitempty" default:"1" min:"0" max:"1000" doc:"How many of the newest upstream steps the model is shown."`
	Stages        []string     `json:"stages,omitempty" default:"[\"llm\", \"function\"]" doc:"The ways of filling to try, in order: llm asks in words, function for JSON by a schema, default takes the schema's defaults and comes last by itself. [function] alone costs one request. [] only checks: it changes no datum, keys are names, and format is a hint."`
	Answers       *value.Map   `json:"answers,omitempty" doc:"Answers to remaining_schema, by JSON pointer. They take precedence over everything else, and no model is asked for them."`
	Sources       *value.Map   `json:"sources,omitempty" doc:"Where the data comes from, by JSON pointer, as an earlier output says; known where it says nothing." example:"{/city: user}"`
	FromModel     []string     `json:"from_model,omitempty" doc:"JSON pointers into data of values that a model has written: one that only says that it is not known, such as N/A, counts as missing. What data takes from steps that ask models counts so by itself." example:"[/city]"`
	Message       string       `json:"message,omitempty" doc:"What the user wrote when asked for what is missing. The model reads it once, by the first of the stages; what does not fit is left out." example:"It is A-1042."`
	Asked         string       `json:"asked,omitempty" doc:"The question that message answers, as the user read it. The model is shown both." example:"What is the order number?"`
	OnModelError  string       `json:"on_model_error,omitempty" enum:"fail|ask" doc:"What to do when the model provider fails: fail ends the step, which can be resumed or retried; ask goes on as if the model knew nothing, so that the values are asked for. Default fail." example:"ask"`
	Resumed       bool         `json:"resumed,omitempty" doc:"The step has waited for a person: the stages are not tried again, except to read message."`
	HistoryTokens int          `json:"history_tokens,omitempty" default:"4000" min:"0" max:"10000000" doc:"How many tokens the upstream steps may take in the prompt, and as many the messages before the question; the oldest are left out first."`

	kit *Kit
}

// known is data of any kind. It distinguishes a given null from nothing given.
type known struct {
	value.Value
	given bool
}

// DecodeValue takes any value.
func (k *known) DecodeValue(v value.Value) error {
	*k = known{v, true}
	return nil
}

// JSONSchema takes anything.
func (known) JSONSchema() value.Value { return value.OfMap(nil) }

// Input is the data for the model: the SlotInput of the documents.
type Input struct {
	RemainingSchema value.Value          `json:"remaining_schema"`
	Question        string               `json:"question,omitempty"`
	Summary         string               `json:"summary,omitempty"`
	Facts           []string             `json:"facts,omitempty"`
	History         []calls.FinishedStep `json:"history,omitempty"`
}

// Output is the filled data: the SlotOutput of the documents, which has slot_data and
// remaining_schema.
type Output struct {
	SlotData        value.Value           `json:"slot_data" doc:"The data, with all that was found."`
	RemainingSchema value.Value           `json:"remaining_schema" type:"object" doc:"A schema of what is still missing or wrong: its properties are named by JSON pointers into slot_data. Empty where slot_data is valid."`
	Sources         *value.Map            `json:"sources,omitempty" doc:"Where the values come from, by JSON pointer: known, model, function, user or default."`
	Rejected        []processor.Rejection `json:"rejected,omitempty" doc:"What was answered and not taken."`
	Warnings        []string              `json:"warnings,omitempty" doc:"What went wrong while asking."`
}

// Kit is a program's extension of the call. It is given once to [Extended], lives as long as the registry, and is
// then shared by all steps: its strategies and formats must be safe for concurrent use.
type Kit struct {
	// Strategies are further ways of filling, by the names that stages list. One of
	// the name of a built-in way takes its place.
	Strategies map[string]Strategy
	// Formats are further formats. One of the name of a built-in format takes its
	// place.
	Formats []processor.Format
}

// Strategy is a way to find missing values. It puts values into w.Filling, under a [processor.Source] of its own;
// a wrong answer of a model is not an error. An error ends the call; with on_model_error: ask, an error of kind
// Provider or Timeout ends the strategies only.
type Strategy func(ctx context.Context, w *Work) error

// Work is the state of one step for its strategies. The call creates one per step; it is used by one goroutine.
type Work struct {
	Env     *calls.Env
	Input   Input
	Filling *processor.Filling

	params     *Params
	structured ask.Structured
	// modelFailed: a provider has failed, and no other stage is tried.
	modelFailed bool
	talk        *calls.Traced // the dialogue before the question; nil until it is read
	warnings    []string
	// filled shows the user the data; nil if the step does not talk to the user.
	filled *filledText
}

func (p Params) newProcessor() (*processor.Processor, error) {
	proc, err := processor.New(value.OfMap(p.CurrentSchema), p.kit.Formats...)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "current_schema: %w", err)
	}
	return proc, nil
}
