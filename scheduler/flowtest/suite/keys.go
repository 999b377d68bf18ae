package suite

import (
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// The structs below are the keys of a test file. They alone define the keys that are read, the ones that are
// refused and the editor's schema.

type fileKeys struct {
	Flow     string       `json:"flow,omitempty" doc:"The flow that is tested, relative to this file. Default: NAME.yaml beside NAME.test.yaml." example:"weather.yaml"`
	Flows    []string     `json:"flows,omitempty" min:"1" doc:"Several flows: every case runs with each of them." example:"[short.yaml, long.yaml]"`
	Defaults *settingKeys `json:"defaults,omitempty" doc:"What holds for every case that does not say otherwise. Inputs and mocks are laid over each other key by key; tags, allow and expect are joined."`
	Matrix   *value.Map   `json:"matrix,omitempty" doc:"Lists of settings: every case runs with each combination. Keys are llm, flow and with.STEP.PARAMETER; exclude lists combinations to leave out." example:"{llm: [small, large], with.answer.temperature: [0, 0.7]}"`
	Dataset  *datasetKeys `json:"dataset,omitempty" doc:"A file of rows: every case runs with each of them."`
	Judge    *judgeKeys   `json:"judge,omitempty" doc:"Who judges where a check names no judge."`
	Limits   *limitKeys   `json:"limits,omitempty" doc:"What all cases of the file may take together."`
	Cases    []caseKeys   `json:"cases" min:"1" doc:"The cases. They are independent, and their order does not matter."`
}

type datasetKeys struct {
	File    string     `json:"file" doc:"A file beside this one: .csv, .jsonl, .json or .yaml." example:"questions.csv"`
	Inputs  *value.Map `json:"inputs,omitempty" doc:"Inputs of the flow and the columns that they come from. Columns named like inputs need no entry." example:"{question: q}"`
	Sample  int        `json:"sample,omitempty" min:"1" doc:"How many rows are taken, at random and always the same ones."`
	Seed    uint64     `json:"seed,omitempty" default:"1" doc:"Fixes which rows are sampled."`
	Cluster string     `json:"cluster,omitempty" doc:"A column: rows with the same value are not independent, and statistics take them together."`
}

type judgeKeys struct {
	LLM calls.ProviderNames `json:"llm" doc:"The name of the provider that judges, or a list of names that are asked in order." example:"judge"`
}

type limitKeys struct {
	Parallel int     `json:"parallel,omitempty" min:"1" doc:"How many cases run at a time."`
	Cost     float64 `json:"cost,omitempty" min:"0" doc:"What the models may cost, more than 0, in the currency of the prices in the settings."`
	Tokens   int64   `json:"tokens,omitempty" min:"1" doc:"How many tokens the models may use, texts that are embedded among them."`
	Time     string  `json:"time,omitempty" doc:"How long it may take: 10m."`
}

type caseKeys struct {
	Name string `json:"name" min:"1" doc:"What the case is called; unique in the file." example:"keeper in, winter out"`
	settingKeys
}

// settingKeys are the keys that a case and the defaults share.
type settingKeys struct {
	Inputs       *value.Map   `json:"inputs,omitempty" doc:"The inputs of the flow. Texts may have templates over row; !raw takes a value as it stands, !file that of a file." example:"{question: Is it open on Sunday?}"`
	Trigger      *triggerKeys `json:"trigger,omitempty" doc:"What starts the run, instead of inputs: a request to a webhook of the flow, or a fire of a schedule. Its templates give the inputs, the conversation and the user." example:"{webhook: push, body: {ref: main}}"`
	User         string       `json:"user,omitempty" doc:"Whose run it is: run.user in the flow, by which a flow may say whose memory it works in. Default: nobody." example:"lin"`
	Conversation value.Value  `json:"conversation,omitzero" type:"array|string" doc:"The messages that came before the question, oldest first: {role, content}. Texts may have templates over row; !file takes them from a file." example:"[{role: user, content: 'Where is A-1042?'}, {role: assistant, content: In Lyon.}]"`
	Until        string       `json:"until,omitempty" doc:"The step at which the run stops, before its model is asked; end runs to the end." example:"answer"`
	Mocks        *value.Map   `json:"mocks,omitempty" doc:"What steps give instead of running: STEP: an output, {error: {kind, message}}, {delay: 2s}, or a list with one of them for each attempt or item. call:NAME stands for every use of a call, vars.NAME for a variable." example:"{forecast: {status: 200, body: {sky: clear}}}"`
	LLM          value.Value  `json:"llm,omitzero" type:"string|array|object" doc:"The name of a provider, whose recorded answers are played; or a list of answers; or lists of answers by the steps that ask, for steps that run side by side." example:"[The museum opens at eleven.]"`
	Answers      value.Value  `json:"answers,omitzero" type:"object|array" doc:"What is answered when the run waits, by JSON pointer, or by STEP:/pointer. Or a list with what the user answers each time, one after the other: a sentence, which is read as in a chat, or pointers." example:"{/city: Hangzhou}"`
	Memory       value.Value  `json:"memory,omitzero" type:"string|array" doc:"What the memory has when the run begins: a list of {content, id, role, user, session, timestamp}, or a .jsonl file of them, or one of memory export." example:"[{id: cat, content: The cat is called Momo.}]"`
	State        value.Value  `json:"state,omitzero" type:"object|string" doc:"Steps that have ended before the run begins, with what they gave: they do not run, and the run goes on behind them. Or a .jsonl file of events, as runs events prints them: its inputs are taken too, and what had not ended runs again." example:"{recall: {relevant_memories: []}}"`
	Now          string       `json:"now,omitempty" doc:"The clock of the run: 2026-11-22T09:00:00Z."`
	Seed         *uint64      `json:"seed,omitempty" doc:"Fixes what the run draws at random. Default 1."`
	Repeat       int          `json:"repeat,omitempty" min:"1" max:"1000" doc:"How often the case runs. Default 1."`
	Pass         *passKeys    `json:"pass,omitempty" doc:"How many of the repeats must pass."`
	Tags         []string     `json:"tags,omitempty" doc:"Words by which --tag selects cases."`
	Skip         value.Value  `json:"skip,omitzero" type:"boolean|string" doc:"Why the case does not run, or true."`
	Only         bool         `json:"only,omitempty" doc:"Of the file, only cases with this run."`
	Timeout      string       `json:"timeout,omitempty" doc:"How long one repeat may take: 30s."`
	Threshold    *float64     `json:"threshold,omitempty" min:"0" max:"1" doc:"The mean score that the checks must reach, more than 0. Default: each must pass."`
	Allow        []string     `json:"allow,omitempty" doc:"Calls, plugins and tools that may do what tests do not do by themselves: reach the network, run plugins, write." example:"[http]"`
	Expect       []item       `json:"expect,omitempty" doc:"What is expected of the run: each item has a subject and one or more matchers."`
}

// triggerKeys are the input of a trigger of the flow. Exactly one of webhook and schedule is given.
type triggerKeys struct {
	Webhook  string            `json:"webhook,omitempty" doc:"The id of a webhook of the flow."`
	Body     value.Value       `json:"body,omitzero" doc:"The body of the request: a text, or a value that is sent as JSON. Texts may have templates over row; !file takes it from a file." example:"{ref: main}"`
	Headers  map[string]string `json:"headers,omitempty" doc:"Headers of the request. Content-Type is application/json unless it is given, or the body is a text."`
	Query    map[string]string `json:"query,omitempty" doc:"Parameters of the address of the request."`
	Schedule string            `json:"schedule,omitempty" doc:"The id of a schedule of the flow."`
	At       string            `json:"at,omitempty" doc:"When the schedule fires; the clock of the case by default." example:"2026-11-22T07:00:00Z"`
}

type passKeys struct {
	Rate float64 `json:"rate,omitempty" default:"1" min:"0" max:"1" doc:"The share of repeats that must pass, more than 0."`
	Sure bool    `json:"sure,omitempty" doc:"Whether the lower bound of the 95 % interval must reach the rate."`
}

// item is a check, which package check reads.
type item struct{ value.Value }

// JSONSchema returns the schema of anything.
func (item) JSONSchema() value.Value { return value.OfMap(nil) }

// DecodeValue keeps the value.
func (i *item) DecodeValue(v value.Value) error {
	i.Value = v
	return nil
}

var fileSchema = sync.OnceValue(schema.MustFor[fileKeys])
