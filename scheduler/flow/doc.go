// Package flow reads flow files: it turns YAML into a [Flow] that can be run any
// number of times, and finds everything that is wrong in it before anything runs.
//
// A [Loader] goes through these stages, each in the files named after it:
//
//  1. load.go reads the file; load_syntax.go parses the YAML and explains syntax errors. internal/yamltext knows
//     the place of every byte.
//  2. decode.go takes the document apart by the keys that keys.go lists, and reports keys that are unknown or
//     misspelt. editor.go makes the schema for editors from the same list.
//  3. compile.go makes the steps from the keys; compile_param.go turns every value into a [Param] (param.go): a
//     literal, a template, an expression, or a map or list of such.
//  4. load.go loads the sub-flows; step_order.go and lint_order.go link each step to the
//     steps that it needs.
//  5. The other lint files check calls, their parameters, and every name that a template
//     mentions.
//
// A fault is a [Problem] with its [Position], for example an unknown call with hello.yaml:3:11. The result is a
// [Flow]: immutable, and safe for concurrent use. The package graph below draws it.
//
// The files:
//
//   - loader.go, load.go, unit.go: a flow and all below it is read, from files or texts
//   - flow.go, canonical.go, position.go, problem.go: a flow that was read, and the problems found in it with their places
//   - decode*.go, keys*.go, reference.go: the keys of flow files and their docs
//   - compile*.go, triggers.go: steps and triggers get their calls, templates and schemas
//   - lint*.go, prompt_segments.go: problems of steps, names, types, parameters, sub-flows; prompts that no cache takes
//   - approval.go: the leave of a person before a step runs
//   - conversation.go, literal_params.go, override.go, params_doc.go, requirements.go: the messages before the question, parameters that
//     are no templates, changes by the one who loads, docs of parameters, files that a flow needs while it runs
//   - languages.go, wording.go, keys_chinese.go: languages of prompts, and messages and docs in Chinese
package flow
