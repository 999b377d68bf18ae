package flow

import "github.com/callnode/scheduler/llm/value"

// The structs below are the keys of a flow file. They are the one source of both
// the decoder and the editor's schema: json is the name, doc the description, type the types of a value declared
// as any, enum the allowed texts.

type flowKeys struct {
	Name        textKey      `json:"name,omitempty" doc:"The flow's name; the name of its file where it is left out." example:"weather"`
	Description proseKey     `json:"description,omitempty" doc:"What the flow does, for people and for models that choose a flow." example:"Answers a question about the weather."`
	Language    textKey      `json:"language,omitempty" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" doc:"The language of built-in prompts and messages: zh, en, or one that is configured." example:"zh"`
	Timezone    anyKey       `json:"timezone,omitempty" type:"string" doc:"The time zone of the run's clock, as Asia/Shanghai, or a template over inputs and run: whose days today and yesterday are, in memories, dates and prompts. An offset in a timestamp or in --now wins. Default, also where the template gives nothing: that of the user (users in the settings), else of the settings, else of the machine." example:"Asia/Shanghai"`
	Inputs      anyKey       `json:"inputs,omitempty" type:"object" doc:"A JSON Schema (draft 7, or that of its $schema) of the inputs, an object. Inputs are checked against it, and its defaults applied, before the first step." example:"{type: object, properties: {question: {type: string}}}"`
	Memory      *memoryKeys  `json:"memory,omitempty" doc:"Whose memory the flow reads and writes. Without it the flow has none: no history of earlier runs, no recall, no memory calls. A sub-flow writes its own." example:"{user: '{{ run.user }}', session: main}"`
	Plugins     []textKey    `json:"plugins,omitempty" doc:"The names of the plugins that the flow needs." example:"[]"`
	LLM         providersKey `json:"llm,omitempty" doc:"The model provider that answers the steps, by its name in the settings; a list is asked in order, the next one when a provider fails before it has written anything. The setting llm.default decides where it is left out." example:"local"`
	Defaults    *defaultKeys `json:"defaults,omitempty" doc:"What holds for every step that does not say otherwise." example:"{timeout: 30s}"`
	Queue       textKey      `json:"queue,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]*$" doc:"The queue of the workers that carry runs of the flow out on other machines (--on); a step that runs the flow gives it to them as well." example:"gpu"`
	Budget      *budgetKeys  `json:"budget,omitempty" doc:"Limits of the whole run." example:"{max_tokens: 100000}"`
	Triggers    *triggerKeys `json:"triggers,omitempty" doc:"What starts runs of the flow by itself while scheduler serve runs." example:"{schedules: [{id: morning, cron: '0 7 * * 1-5', timezone: Asia/Shanghai, inputs: {question: 'What is new?'}}]}"`
	Steps       []*stepKeys  `json:"steps" doc:"The steps. Without needs a step comes after the one before it." example:"[{id: a, call: template, with: {template: Hello}}]"`
	Outputs     anyKey       `json:"outputs,omitempty" type:"object" doc:"What the run gives back: a map of templates over inputs and the steps' outputs." example:"{reply: '{{ a.text }}'}"`
	OnError     anyKey       `json:"on_error,omitempty" type:"string" doc:"The reply when the run fails: a template over error (kind, message, hint, step)." example:"'Sorry: {{ error.message }}'"`
}

type memoryKeys struct {
	itself keyPlace

	User     anyKey  `json:"user,omitempty" type:"string" doc:"The person whose memory it is; a template over inputs and run. It must be run.user in a run that is bound to a user, as by a token or a schedule." example:"'{{ run.user }}'"`
	Session  anyKey  `json:"session,omitempty" type:"string" doc:"The conversation within it; a template over inputs and run. Left out, it is a session of its own, without a name." example:"main"`
	Sessions textKey `json:"sessions,omitempty" enum:"all" doc:"all reads what was said in every session of the user as the history; what is saved belongs to session all the same. Left out, the history is that of session." example:"all"`
}

func (k *memoryKeys) place(p keyPlace) { k.itself = p }

type defaultKeys struct {
	Timeout durationKey `json:"timeout,omitempty" doc:"The longest that one attempt of a step may take, such as 30s." example:"30s"`
	Retry   *retryKeys  `json:"retry,omitempty" doc:"How failed steps are tried again." example:"{max_attempts: 3}"`
}

type budgetKeys struct {
	MaxTokens countKey `json:"max_tokens" doc:"The most tokens that the models may use in a run." example:"100000"`
}

type retryKeys struct {
	MaxAttempts     countKey    `json:"max_attempts,omitempty" doc:"How often a step is tried, the first time included. Default 3." example:"3"`
	InitialInterval durationKey `json:"initial_interval,omitempty" doc:"The pause before the second attempt. Default 500ms." example:"500ms"`
	Multiplier      numberKey   `json:"multiplier,omitempty" doc:"How much longer each further pause is, at least 1. Default 2." example:"2"`
	MaxInterval     durationKey `json:"max_interval,omitempty" doc:"The longest pause. Default 10s." example:"10s"`
}

type stepKeys struct {
	itself keyPlace

	ID            textKey      `json:"id" pattern:"^[a-z][a-z0-9_]*$" doc:"The name by which other steps use its output." example:"answer"`
	Call          textKey      `json:"call" doc:"What the step does: the name of a call; those of plugins are plugin.call." example:"template"`
	Name          textKey      `json:"name,omitempty" doc:"A title for people." example:"Answer"`
	Description   proseKey     `json:"description,omitempty" doc:"What the step is for." example:"Says it."`
	Needs         namesKey     `json:"needs,omitempty" doc:"The steps that must be over before it. Left out: the step before. []: it starts at once." example:"[first]"`
	When          anyKey       `json:"when,omitempty" type:"boolean|string" doc:"One {{ expression }}; the step is skipped where it is not true." example:"'{{ question | length > 3 }}'"`
	ForEach       anyKey       `json:"for_each,omitempty" type:"array|string" doc:"A list, or one {{ expression }} that gives one: the step runs once for each, with item and index in scope, and its output is the list of outputs." example:"'{{ [1, 2] }}'"`
	MaxParallel   countKey     `json:"max_parallel,omitempty" doc:"How many items of for_each run at a time." example:"4"`
	Queue         textKey      `json:"queue,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]*$" doc:"With call: flow, in a run on other machines (--on): the flow is a run of its own, which a worker of this queue carries out. Other runs do it in their own process." example:"gpu"`
	With          anyKey       `json:"with,omitempty" type:"object|string" doc:"The parameters of the call. Texts are templates; one whole {{ expression }} keeps its type." example:"{template: 'Hello {{ name }}', values: {name: '{{ question }}'}}"`
	LLM           providersKey `json:"llm,omitempty" doc:"The model provider that answers the step and what it runs inside itself, as llm of the flow; that of the flow where it is left out." example:"local"`
	EnableFilling boolKey      `json:"enable_filling,omitempty" doc:"Fill missing parameters from the conversation before the call runs." example:"true"`
	OverrideInput anyKey       `json:"override_input,omitempty" type:"object" doc:"JSON Schemas of parameters, by name, that filling uses in place of the call's own." example:"{template: {type: string}}"`
	OnMissing     textKey      `json:"on_missing,omitempty" enum:"ask|fail|return" doc:"What to do when required values stay unknown. Default ask: the run waits for them." example:"ask"`
	Approve       approveKey   `json:"approve,omitempty" doc:"A person decides before the call runs, with its parameters: true, or a map of the conditions. See help approvals." example:"{message: 'Shall it run?', timeout: 24h}"`
	ToUser        boolKey      `json:"to_user,omitempty" doc:"Stream the text of the step to the user." example:"true"`
	Timeout       durationKey  `json:"timeout,omitempty" doc:"The longest that one attempt may take, such as 30s." example:"30s"`
	Retry         *retryKeys   `json:"retry,omitempty" doc:"How the step is tried again when a provider, a plugin or the time fails it." example:"{max_attempts: 3}"`
	OnError       textKey      `json:"on_error,omitempty" enum:"fail|continue" doc:"continue makes a failure the output {error: {kind, message}}. Default fail: the run ends." example:"continue"`
}

type approveKeys struct {
	When    anyKey      `json:"when,omitempty" type:"boolean|string" doc:"One {{ expression }}; a person decides where it is true. It sees what the step sees, and params: the parameters, rendered and checked. Left out: always." example:"'{{ params.body.amount > 100 }}'"`
	Message anyKey      `json:"message,omitempty" type:"string" doc:"The question to the person, a template over what the step sees and params." example:"'Refund {{ params.body.amount }} €?'"`
	Edit    []textKey   `json:"edit,omitempty" doc:"JSON pointers of the parameters that the person may change." example:"[/body/amount]"`
	By      textKey     `json:"by,omitempty" enum:"operator|user" doc:"Who decides. operator: who may act for all users. user: the user of the run as well. Default operator." example:"operator"`
	Timeout durationKey `json:"timeout,omitempty" doc:"How long the run waits; without a decision by then it is denied. Left out: for ever." example:"24h"`
	OnDeny  textKey     `json:"on_deny,omitempty" enum:"fail|continue" doc:"fail: the run fails with the kind denied. continue: the output is {error: {kind, message}}. Default fail." example:"continue"`
}

type triggerKeys struct {
	Schedules []*scheduleKeys `json:"schedules,omitempty" doc:"Times at which a run starts." example:"[{id: morning, cron: '0 7 * * 1-5', timezone: Asia/Shanghai, inputs: {question: 'What is new?'}}]"`
	Webhooks  []*webhookKeys  `json:"webhooks,omitempty" doc:"Requests that start a run: POST /hooks/FLOW/ID." example:"[{id: push, verify: none, inputs: {question: '{{ webhook.body.text }}'}}]"`
}

type scheduleKeys struct {
	itself keyPlace

	ID       textKey     `json:"id" pattern:"^[a-z][a-z0-9_]*$" doc:"The name of the schedule in the flow." example:"morning"`
	Cron     textKey     `json:"cron" doc:"Five fields, minute hour day month weekday, or @hourly, @daily, @weekly, @monthly, @yearly." example:"'0 7 * * 1-5'"`
	Timezone textKey     `json:"timezone,omitempty" doc:"The time zone of the fields, as Asia/Shanghai. Default UTC." example:"Asia/Shanghai"`
	Inputs   anyKey      `json:"inputs,omitempty" type:"object|string" doc:"The inputs of the run; templates know schedule.id and schedule.time." example:"{question: 'What is new at {{ schedule.time }}?'}"`
	User     textKey     `json:"user,omitempty" doc:"The user whose runs those are: run.user. They reach only that user's memory." example:"lin"`
	Overlap  textKey     `json:"overlap,omitempty" enum:"skip|queue|parallel|cancel" doc:"What happens while the run of an earlier fire is not over. skip: no run. queue: a run when it is over. parallel: a run at once. cancel: that one is cancelled. Default skip." example:"queue"`
	CatchUp  textKey     `json:"catch_up,omitempty" enum:"skip|last|all" doc:"Which fires of the last 24 hours are made up for that no server was there to see: none, the last, or all, at most 100. Default last." example:"skip"`
	Jitter   durationKey `json:"jitter,omitempty" doc:"A fire begins up to so much later, so that not all schedules begin at once." example:"30s"`
}

func (k *scheduleKeys) place(p keyPlace) { k.itself = p }

type webhookKeys struct {
	itself keyPlace

	ID           textKey `json:"id" pattern:"^[a-z][a-z0-9_]*$" doc:"The name of the webhook in its path." example:"push"`
	Verify       textKey `json:"verify" enum:"standard|github|header|none" doc:"How a request proves who sent it. standard: the signature of Standard Webhooks. github: X-Hub-Signature-256. header: the secret itself in a header. none: it need not." example:"standard"`
	Header       textKey `json:"header,omitempty" pattern:"^[A-Za-z][A-Za-z0-9-]*$" doc:"The header that holds the secret, with verify: header. Default X-Webhook-Token." example:"X-Gitlab-Token"`
	Secret       textKey `json:"secret,omitempty" doc:"The name of the secret, one of the setting secrets." example:"HOOK_KEY"`
	Inputs       anyKey  `json:"inputs,omitempty" type:"object|string" doc:"The inputs of the run; templates know webhook.body.text, webhook.body.json, of a form webhook.body.form.NAME, webhook.headers.NAME in lower case and webhook.query.NAME." example:"{question: '{{ webhook.body.text }}'}"`
	Conversation anyKey  `json:"conversation,omitempty" type:"array|string" doc:"The messages before the question, a list of {role, content}; templates know what those of inputs know." example:"'{{ webhook.body.json.thread }}'"`
	User         textKey `json:"user,omitempty" doc:"The user whose runs those are: run.user. They reach only that user's memory." example:"lin"`
}

func (k *webhookKeys) place(p keyPlace) { k.itself = p }

func (k *stepKeys) place(p keyPlace) { k.itself = p }

func (textKey) JSONSchema() value.Value  { return keySchema("type", "string") }
func (proseKey) JSONSchema() value.Value { return keySchema("type", "string") }
func (namesKey) JSONSchema() value.Value {
	return keySchema("type", "array", "items", keySchema("type", "string"))
}
func (providersKey) JSONSchema() value.Value {
	name := keySchema("type", "string")
	return keySchema("anyOf", []value.Value{name, keySchema("type", "array", "minItems", 1, "uniqueItems", true, "items", name)})
}
func (anyKey) JSONSchema() value.Value    { return keySchema() }
func (boolKey) JSONSchema() value.Value   { return keySchema("type", "boolean") }
func (countKey) JSONSchema() value.Value  { return keySchema("type", "integer", "minimum", 1) }
func (numberKey) JSONSchema() value.Value { return keySchema("type", "number", "minimum", 1) }

func (durationKey) JSONSchema() value.Value {
	return keySchema("type", "string", "pattern", `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`)
}

// reserved are the names that templates know beside the steps.
var reservedNames = []string{
	"inputs", "question", "conversation", "history", "summary", "facts", "vars", "run",
	"item", "index", "error", "secrets",
}
