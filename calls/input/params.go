package input

import (
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call.
type Params struct {
	Config     inlineConfig `json:"config,omitzero" doc:"The configuration: context_template, a list of {module_name, segments[{type: text|variable, value}], importance_func}, and settings. Without config and config_path a default template in the flow's language is used."`
	ConfigPath string       `json:"config_path,omitempty" doc:"A file with the configuration: JSON in which comments and trailing commas are allowed."`
	UserInput  *string      `json:"user_input,omitempty" doc:"The user's current words. Default: the question of the flow."`
	Memory     givenMemory  `json:"memory,omitzero" doc:"The dialogue and the memories to use. What is not given is fetched from the memory store; an empty list is given."`
	Variables  *value.Map   `json:"variables,omitempty" doc:"Further variables by name, for segments and importance_func."`
	OnUnknown  string       `json:"on_unknown" default:"error" enum:"error|empty|keep" doc:"What becomes of a variable that is unknown or cannot be fetched: an error, an empty text, or its name in {{ }}. The last two warn."`
	OnInvalid  string       `json:"on_invalid" default:"error" enum:"error|default" doc:"What to do with a config file that is wrong: fail, or go on with the default template and a warning."`
	Strict     bool         `json:"strict,omitempty" doc:"Fail where a config file cannot be read or a configuration gives cause for a warning."`
}

// Input is the data that a build starts from.
type Input struct {
	UserInput string    `json:"user_input" doc:"The user's current words."`
	Language  string    `json:"language" doc:"The language of the default texts."`
	Now       time.Time `json:"now" doc:"The time of the run's clock."`
}

// Output is the finished prompt.
type Output struct {
	Prompt   string       `json:"prompt" doc:"The text of all modules that are in."`
	Parts    []calls.Part `json:"parts" doc:"Every module of the template in order, with its text, its place in prompt and why it is in or out; and the separators between them, of the kind separator."`
	Warnings []string     `json:"warnings" doc:"What went wrong without ending the build."`
}
