// Package calls is the contract of a CoreCall, a node type of flows: its variables ([Vars]), its environment
// ([Env]), its output ([Chunk]) and its registration ([Registry]).
//
// An author writes a function and makes a [Definition] of it with [Func] or [Stream],
// or a struct of parameters with two methods, Init and Exec, for [Define].
// calls/builtin lists the definitions that the program has, callstest checks any of
// them.
//
// The program was asked for by documents about Python programs. A doc comment names the
// word of the documents if the Go name differs, so that a search finds it: for example
// CallVars is [Vars], CallInfo is [Info] and CallOutputChunk is [Chunk].
//
// The files:
//
//   - call.go, func.go, chunk.go, error.go, warning.go, position.go, once.go: a call, calls that are functions, their output and errors
//   - registry.go, unknown.go, confine.go, choose_provider.go, provider_names.go: all that flows can name, and who may use it
//   - env.go, vars.go, dialogue.go, conversation.go, services.go: the means of a call, the values that it sees, the dialogue
//   - prompt_part.go, prompt_origin.go, traced.go, composes.go: where the pieces of a prompt come from
//   - check_params.go, lint_dollar.go, lint_paths.go, valid_text.go, file.go: checks of parameters, and files that users name
//   - approval.go: the leave of a person before a call runs
//   - tool.go, repair_messages.go, substep_names.go: tools and messages for models
//   - tape*.go: the calls of a run are recorded and replayed
//   - language.go, wording.go: texts and messages in languages
package calls

import (
	"context"
	"errors"
	"iter"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// CoreCall is one use of a node type. The engine makes one by [Definition.New] for
// each attempt of a step, calls Init, then Exec, and drops it; it need not be safe for
// concurrent use. In the documents, info, instance, _init and _exec are Info,
// [Definition.New], Init and Exec.
type CoreCall interface {
	// Info describes the node type.
	Info() *Info
	// Init computes the input from the parameters and the step's variables. It does no I/O. The input is recorded
	// before Exec gets it, like _set_input in the documents.
	Init(ctx context.Context, vars *Vars) (value.Value, error)
	// Exec does the work and streams the output. An error ends the stream.
	Exec(ctx context.Context, env *Env, input value.Value) iter.Seq2[Chunk, error]
}

// Info describes a node type to people, to lint and to editors. It is the CallInfo of the
// documents.
type Info struct {
	// Name is the name that a flow writes under call: kebab-case; a plugin's call is plugin.call.
	Name string
	// Summary is one sentence.
	Summary Text
	// Words translates a description in the schemas, which is in English; nil leaves them unchanged. Use it by
	// [Info.DescribeIn].
	Words func(english string) Text
	// Params, Input and Output are JSON Schemas (draft 7) of objects. [Define]
	// infers them from the types.
	Params, Input, Output *schema.Schema
	// Literal names parameters that are taken as written, without templates. A flow
	// computes one, or something in it, with !expr.
	Literal []string
	// Approvals are the places of rules by which a person approves uses of tools, as JSON pointers with * for any
	// member, for example /tools/*/*/approve of agent. The templates in a rule are rendered when the tool is used
	// ([Env.Approver]), not with the parameters.
	Approvals []string
	// Templates names Literal parameters that are texts of templates, which the call renders. They are in the flow or
	// in a file beside it: nothing that is known only when the flow runs is read as a template, so that !expr,
	// enable_filling and the model that uses the call as a tool are refused there.
	Templates []string
	// Messages names parameters that are lists of chat messages, each with a role: lint
	// refuses references to lists of anything else there.
	Messages []string
	// OnlyWith maps members of the output to the parameter without which they are missing: lint refuses references to
	// one if the step does not give that parameter.
	OnlyWith map[string]string
	// UsesLLM reports whether Exec asks the model. With LLMOptional it does so only for some
	// parameters, and works without a model for others.
	UsesLLM, LLMOptional bool
	// Operation is the name of the call's work in OpenTelemetry's conventions for generative AI, such as [OperationChat],
	// for its spans and metrics; "" is a step like any other.
	Operation string
	// FromModel names members of the output that the model has written.
	FromModel []string
	// Provides is the built-in name, summary or facts, that templates of later steps have the output under, by its member of that
	// name, or text; "" is none.
	Provides string
	// Outcome is the member of the output that has a word for the step's outcome, for example branch of choice; "" is
	// none.
	Outcome string
	// OmitsUnknown reports whether the output of a call that asks the model has only known values, as slot's has:
	// values that the model did not know are left out. Other calls' models may write "N/A" there, which does not
	// count as known data.
	OmitsUnknown bool
	// Stores reports whether the call keeps its parameters beyond the run: parameters with a secret in them are
	// refused.
	Stores bool
	// SavedParam is the parameter that the call keeps as a memory, and SavedID the member of the output with the id of that; "" is
	// none.
	SavedParam, SavedID string
	// UsesMemory reports whether it reads or writes the memory of the flow's user: lint refuses it in a
	// flow that names none.
	UsesMemory bool
	// ReadsInputs reports whether a contained call sees the inputs of the flow beside its parameters: a change of any input
	// may change its output.
	ReadsInputs bool
	// OnlyRecalls reports whether a call that uses the memory leaves it unchanged, as memory-retrieve does.
	OnlyRecalls bool
	// AllUsers names boolean parameters with which the call reads the memories of every user, such as all_users of
	// memory-retrieve. Runs and single calls that are bound to a user refuse them, and a model that has
	// the call as a tool is not offered them.
	AllUsers []string
	// IsContained reports whether the call reaches nothing beyond its parameters, the model, the memory of the run's
	// user and other calls, which declare it themselves: for example template is contained, http is not. A call that
	// does not say it may reach anything. Outside of flows, the token of a user may use contained calls only, and
	// calls that a setting lists.
	IsContained bool
	// Files names the parameters of a contained call that name files or folders of the machine, such as workspace:
	// without them it reads none, and with them it is not contained.
	Files []string
	// IsOutside reports whether the work of Exec is done outside of the program, for example a plugin's call:
	// recordings keep its output, and a replay works without the plugin. InitIsOutside says so of Init.
	IsOutside, InitIsOutside bool
	// MayAsk reports whether Exec may ask people for values by [Env.Asker], as a tool of an MCP server does: the run then waits. Only
	// such a call gets an Asker. The calls and flows inside it are not counted.
	MayAsk bool
	// NoSubsteps reports whether the call runs nothing inside its step: the engine gives it no
	// [Substeps], and a search for the steps of a run need not look below it.
	NoSubsteps bool
	// Check finds parameters that the schema cannot refuse, such as two that exclude each other. Lint calls it with the parameters that are known
	// before a flow runs, and the construction of the call with all values, so that both refuse the same: see [LintEnv.CheckExclusive].
	// In params, null replaces values that env says are computed. nil: there is nothing to check.
	Check func(params value.Value, env LintEnv) []schema.Problem
	// Examples are runnable uses; the first is the one that people see.
	Examples []Example
}

// The operations of OpenTelemetry's conventions for generative AI that calls have.
const (
	OperationChat  = "chat"
	OperationAgent = "invoke_agent"
)

// OutcomeOf returns the word in an output that [Info.Outcome] names, "" for none.
func (i *Info) OutcomeOf(output value.Value) string {
	if i.Outcome == "" {
		return ""
	}
	member, _ := output.Get(i.Outcome)
	word, _ := member.Str()
	return word
}

// DescribeIn returns one of the call's schemas, or a narrower one, with its descriptions in a
// language: for the model that fills parameters, and for the people who are asked for them.
func (i *Info) DescribeIn(language string, doc value.Value) value.Value {
	if i.Words == nil || !wording.IsChinese(language) {
		return doc
	}
	return schema.Rewrite(doc, func(keywords *value.Map) {
		description, _ := keywords.Get("description")
		if text, ok := description.Str(); ok {
			keywords.Set("description", value.OfString(i.Words(text).In(language)))
		}
	})
}

// Text is a sentence in the built-in languages.
type Text = wording.Text

// Example is a use of a call that runs without a network.
type Example struct {
	// Title says what the example shows.
	Title string
	// With is the YAML of the parameters, as under with: in a flow but without
	// templates.
	With string
	// Vars has the step's variables; nil is an empty Vars.
	Vars *Vars
	// Answers are the scripted model's answers, in order.
	Answers []string
	// Files are created before the call runs, by path relative to the flow.
	Files map[string]string
}

// Definition is a node type that can be registered: its description and its
// constructor. [Func], [Stream] and [Define] make it; a [Registry] keeps it as long as the
// program runs and gives it to many runs at once, so that its functions must be safe for
// concurrent use.
type Definition struct {
	Info *Info
	// New constructs a call with parameters that fit Info.Params. The error is an
	// [*Error] of kind Invalid.
	New func(params value.Value) (CoreCall, error)
	// Lint finds faults that neither the schema nor a [Validator] can see before a flow runs, such as names of
	// importance functions that do not exist. In params, null replaces values with a template. It does no I/O except
	// through env. nil: there is nothing more to check.
	Lint func(params value.Value, env LintEnv) []schema.Problem
	// ParamsFor narrows Info.Params by the known parameters: with an OpenAPI operation, http knows the parameters of
	// that operation. Missing ones are requested by this schema. It may read files. nil: there is nothing to narrow.
	ParamsFor func(ctx context.Context, env *Env, params value.Value) (*schema.Schema, error)
	// OutputFor narrows the schema of the output by the known parameters; null replaces values with a template. For
	// example, choice can only take its branches. nil: there is nothing to narrow.
	OutputFor func(output, params value.Value) value.Value
	// Needs returns the abilities that the model must have for these parameters: words of [llm.Abilities]. In params,
	// null replaces values with a template. A call that asks no model returns the abilities that its output needs of
	// the model that gets it, such as images. nil: nothing.
	Needs func(params value.Value) []string
	// Tools returns the tools that the model gets with these parameters. In params, null replaces values that hold a
	// template; tools that only the run knows are left out, and isWhole is false then. nil: the call offers none.
	Tools func(params value.Value) (tools []Tool, isWhole bool)
	// Runs returns the calls and flows that it runs inside its step, as far as params name them: lint checks these
	// too. In params, null replaces values with a template. nil: it runs none by name.
	Runs func(params value.Value) []Inside
	// ReadsConversation reports whether a step with these parameters reads the messages before the question by itself
	// ([Env.Dialogue]). In params, null replaces values that hold a template. nil: it never does. [ReadsUnlessGiven]
	// makes it for most calls.
	ReadsConversation func(params value.Value) bool
	// Templates returns the templates among the parameters that use their step's variables: the engine adds the
	// values of the names that they mention; nil if the call has none.
	Templates func(params value.Value) []Template
	// Texts are the call's texts in each language.
	Texts []Texts
	// TakeMessage adds a message of the user, who has answered the question of a step of the call in words, to the
	// step's params; the call reads it when the step runs again. asked is the question that the user read, "" if it
	// is not known. ok is false for params with which it reads none, for example of a check without a model. nil: the
	// call only takes values.
	TakeMessage func(params value.Value, asked, message string) (with value.Value, ok bool)
	// Composes returns, in order, the pieces of the text or the messages at a JSON pointer of the output; "" means
	// the messages that the call sends to its model. In params, null replaces values with a template. Lint finds
	// prompts by it that begin with a text which changes from request to request. nil, or no pieces: not known.
	Composes func(pointer string, params value.Value) []PromptPiece
	// Origins returns the origins of the text that a finished step has at a JSON pointer, which begins with /input or
	// /output: the parameters that the call passes on. It is only called when people ask, so that it costs a run
	// nothing. nil, or no origins: the call has made the text. Parts in the output of a step, and the parts of
	// [WithParts], need no Origins.
	Origins func(ctx context.Context, of Record, pointer string) []Origin
}

// Inside is a call, or the file of a flow, that a call runs inside its step.
type Inside struct {
	// Pointer is the JSON pointer of the parameter that names it.
	Pointer    string
	Call, Flow string
	// With is the JSON pointer of the parameter that has inputs of the flow; the others are
	// given when it runs. "" is none.
	With string
	// Asked is the JSON pointer of the schema of the parameters that a model gives, if the flow has written one.
	Asked string
	// LLM is the JSON pointer of the parameter that names the model providers that it asks; "" is
	// none.
	LLM string
}

// Template is a template among the parameters of a call, with the names it mentions.
type Template struct {
	// Param is the parameter that is its text; Values is that with the values of names, which win
	// over the names of the step.
	Param, Values string
	// Names are its outer names, in order.
	Names []TemplateName
}

// TemplateName is a name that a template mentions with the constant members after it: recall.text is
// [recall text].
type TemplateName struct {
	Path []string
	// Offset is the byte of the template at which it begins.
	Offset int
	// Guarded reports whether the template has a default for it, or asks whether it is defined.
	Guarded bool
}

// LintEnv is the environment of one use of [Definition.Lint]. The lint makes it; its zero value has nothing.
type LintEnv struct {
	// Registry has everything that the flow can name; nil if not known.
	Registry *Registry
	// Files reads files beside the flow; nil if none can be read.
	Files FileReader
	// Dir is the folder of the flow, for calls that open files themselves; "" if the file system is not the run's.
	Dir string
	// Computed are the JSON pointers of the parameters that are only known when the step runs, for which params has null.
	Computed []string
	// Beginnings are the literal beginnings of computed texts by their JSON pointers, for example "https://shop.example.com/orders/"
	// of "https://shop.example.com/orders/{{ case.number }}".
	Beginnings map[string]string
	// CheckHost returns the error of a request to a host if it is sure to be refused; nil if that is not known.
	CheckHost func(host, port string) error
	// IsOpen is set if parameters missing from params may be given when the step runs: by the model that uses the
	// call as a tool, or by the call that fills them.
	IsOpen bool
	// Tries is how often a step is tried, from 1: it runs again for a retry, and also when its run continues after
	// its process died. It is 0 for a use outside of steps, such as a tool of a model.
	Tries int
}

// UndefinedName is the keyword of problems with names that parameters do not give.
// A step that asks for its missing parameters (enable_filling) has no such problems.
const UndefinedName = "undefined"

// FileReader reads files for [Definition.Lint]. The lint of a flow makes it, and uses it
// from one goroutine.
type FileReader interface {
	// ReadFile reads a file that a parameter names, relative to the flow. path is its
	// name in messages. The error is [fs.ErrNotExist] for a file that is not there;
	// others mean that nothing can be said of it before the flow runs.
	ReadFile(name string) (content []byte, path string, err error)
}

// Typed is implemented by an author: a struct of parameters whose methods use the types of input and output. Each
// use of the call has a new one, whose Init and Exec run one after the other.
type Typed[I any] interface {
	Init(ctx context.Context, vars *Vars) (I, error)
	Exec(ctx context.Context, env *Env, input I) iter.Seq2[Chunk, error]
}

// Define makes a node type of a parameter struct P with input I and output O. If the input is the unchanged
// parameters, [Func] is shorter. The schemas are inferred from the three types: see [schema.MustFor] for the tags.
// Any struct will do: the documents have Pydantic, and DataBase with its model_json_schema. O describes the data
// chunk; a call that streams text has an output struct with a Text field named text. It panics if a type has no
// schema: definitions are made when the program starts, and callstest runs them all.
func Define[P Typed[I], I, O any](info Info) Definition {
	return DefineWith[P, I, O](info, func(*P) {})
}

// DefineWith is [Define] for a call that programs can extend. prepare sets unexported fields of the parameters
// that no user writes, for example functions; it runs before the user's parameters are read into the others.
func DefineWith[P Typed[I], I, O any](info Info, prepare func(*P)) Definition {
	info.Params = schema.MustFor[P]()
	info.Input = schema.MustFor[I]()
	info.Output = schema.MustFor[O]()
	shared := &info
	return Definition{Info: shared, New: func(params value.Value) (CoreCall, error) {
		call := &typedCall[P, I]{info: shared}
		prepare(&call.params)
		if err := decodeParams(shared, params, &call.params); err != nil {
			return nil, err
		}
		return call, nil
	}}
}

// asInvalid returns err as an [*Error]: of kind Invalid unless it is one already.
func asInvalid(err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &Error{Kind: Invalid, Err: err}
}

// Validator is implemented by parameter structs that have rules which a JSON
// Schema cannot say. Lint calls it too, with parameters that have no templates. It must
// not change them.
type Validator interface{ Validate() error }

// typedCall is a call made of a parameter struct with methods.
type typedCall[P Typed[I], I any] struct {
	info   *Info
	params P
}

func (c *typedCall[P, I]) Info() *Info { return c.info }

func (c *typedCall[P, I]) Init(ctx context.Context, vars *Vars) (value.Value, error) {
	input, err := c.params.Init(ctx, vars)
	if err != nil {
		return value.Value{}, err
	}
	return encodeInput(c.info, input)
}

func (c *typedCall[P, I]) Exec(ctx context.Context, env *Env, input value.Value) iter.Seq2[Chunk, error] {
	var in I
	if err := value.Decode(input, &in); err != nil {
		return Fail(Errorf(Internal, "decoding the input of %s: %w", c.info.Name, err))
	}
	return c.params.Exec(ctx, env, in)
}

// decodeParams reads the user's parameters, with their defaults, into target and
// validates them. Errors are of kind Invalid.
func decodeParams(info *Info, params value.Value, target any) error {
	if err := info.checkKnown(params); err != nil {
		return err
	}
	if params.Kind() == value.Object {
		params = info.Params.ApplyDefaults(params)
	}
	if err := value.Decode(params, target); err != nil {
		return Errorf(Invalid, "parameters of %s: %w", info.Name, err)
	}
	if v, ok := target.(Validator); ok {
		return asInvalid(v.Validate())
	}
	return nil
}

func encodeInput(info *Info, input any) (value.Value, error) {
	v, err := value.Of(input)
	if err != nil {
		return value.Value{}, wording.Errorf("encoding the input of %s: %w", info.Name, err)
	}
	return v, nil
}
