// Package check decides whether a run meets the expectations of a test file: about its outputs, its prompts, the
// sources of each byte of them, and the parts that were left out with their reasons. For example, the item
// {output: reply, contains: tea} passes if the output reply contains the word tea.
//
// A test file has a list of items under expect. [Parse] turns each into a [Check], or returns all problems of it,
// with places: unknown subjects and matchers, values that do not fit, steps, inputs, cases and columns that do not
// exist. So `scheduler lint` and `scheduler test` find the same problems before anything runs.
//
// When a repeat of a case has ended, its runner makes an [Evidence] from its record, and asks each check:
// [Check.Evaluate] returns a [result.Check] with the outcome pass, fail or error, or skip if the when of the item
// is false. An error could not be decided: an answer that is missing on record, a judge whose answer makes no
// sense, a price that is not known. It is neither a pass nor a fail. A missing subject, because a step was skipped
// or the run failed, is a fail, under not as well.
//
// # The runner
//
//	scope := &check.Scope{File: "a.test.yaml", Dir: dir, Flows: flows, Cases: names, Columns: columns}
//	c, problems := check.Parse(node, scope)           // once for each item, when the file is read
//	for _, need := range c.Needs() { ... }            // other cases, or flows, that must have ended before
//	found := c.Evaluate(ctx, &check.Evidence{         // for each repeat
//		Case: id, Language: "en", Flow: flow, Record: state, Events: events, Inputs: inputs, Row: row,
//		Services: &check.Services{Provider: provider, Tokens: counter, Snapshots: snapshots},
//	})
//
// Record is folded from the events ([journal.Fold]), also of a run that was stopped at `until`; outputs of steps, tool
// calls of agents, retrieved memories and prompts with their sources are found in it. [OpenSnapshots] opens the
// snapshots of a test file; close it when all cases have ended. [ItemSchema] is the schema of an item, for editors.
//
// # Files
//
// parse.go reads an item with the helpers of parser.go: its subject (the types are in subject.go), its matchers
// (matchers.go), the value of a matcher (argument.go) and the templates in it (template.go). resolve.go finds a
// subject in an evidence, with the subject_*.go. The match_*.go have the matchers, with a list for each kind;
// [matchers] joins the lists. check.go decides an item, and verdict.go holds the result. A new matcher is one line
// in a list, one function, and its row in the suite of matcher_test.go.
//
// The files:
//
//   - matcher.go, values.go, many.go, selector.go, bounds.go: a matcher and the values, lists, pieces and numbers that it looks at
//   - match_*.go: the matchers, a file for each kind of subject: text, value, event, prompt, prefix, piece, tool, model, plugin, run,
//     snapshot, distance, retrieved
//   - subject_*.go: the subjects, found in the evidence: outputs, prompts, requests, events, the run
//   - parse*.go, editor.go: items of expect are read, and described for editors
//   - evidence.go, judge.go, snapshots.go, through_models.go, vacuous.go: the record of a run, judges, kept snapshots, sources that passed
//     through a model, and matchers that test nothing
//   - wording.go: the messages in Chinese
package check
