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
