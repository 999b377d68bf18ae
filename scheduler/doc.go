// Package scheduler is the engine: it reads flows, finds their faults, and runs them. This page is the tour, in
// the order in which things happen when a flow runs; each part names its file.
//
// # Reading
//
// Package scheduler/flow does it, and the files of this paragraph are its own. A
// [flow.Loader] (load.go) reads the YAML of a flow with the place of every node. decode.go takes it apart by the
// keys that keys.go lists, and reports all unknown or misspelt keys; the same list makes the schema that editors
// use (editor.go). compile_param.go turns every value into a [flow.Param]: a literal, a template, an expression,
// or a map or list of such. step_order.go and lint_order.go link each step to the steps that it needs, and find
// cycles; the other lint files check the calls, their parameters, and every name that a template mentions. A fault
// is a [flow.Problem] with its position (problem.go, position.go; a [flow.LocatedError] has the position of an error
// within a parameter). The result is a [flow.Flow] (flow.go): immutable, and ready for any number of runs.
//
// # Starting
//
// [StepExecutor.Run] (start.go) checks the inputs, applies their defaults and decides
// which memory the flow works in (prepare.go), and starts (worker.go): flow.started. All that is outside
// is injected by the fields of [StepExecutor] (executor.go): the model, memory, clock,
// ids, the seed of random numbers, the sleeper. With those fixed, the events of steps that do not run in parallel
// are a function of the flow, its inputs and the answers of the calls.
//
// Everything that a flow can name (calls, importance functions and resolvers of variables) is in the
// [calls.Registry]. Functions of plugins are in it like all others; the host starts their program when the first
// of them is used.
//
// # Order
//
// Package internal/order decides which step is next: a machine without a lock, a clock
// or I/O. Every step counts the needs that are not over; a step that ends counts its
// successors down, and those at zero become ready, or are skipped when all they needed was skipped; the condition
// of a step, the other reason to skip it, is evaluated when its turn comes (skip_step.go). So a step costs the
// same in a flow of any size. Ready steps are in its queue; workers take them from it (worker.go), at most
// MaxParallel at once. The worker that finishes a step continues with the steps that became ready, so that a chain
// of steps runs in one goroutine. The data of a run is in run.go, of a running step in task.go. Tasks are reused,
// and events are made several at a time (event.go).
//
// # A step
//
// step_phases.go takes a step through its phases. First its condition, when (skip_step.go); a step that will run
// is announced: step.started. With for_each its items become jobs of their own in the same queue (foreach.go).
// Then, once per attempt:
//
//   - the variables that it mentions are resolved, in one batch per resolver, and its parameters rendered;
//     scope.go says what each name means, upstream.go has the results of finished steps, step_env.go the call's
//     environment;
//   - missing parameters are filled, if the step asks for it: by the call slot, as a pseudo-step of its own
//     (filling.go);
//   - the parameters are checked against the schema of the call, unless they are
//     static: then they were checked when the flow was read;
//   - the call is constructed, Init computes its input: step.input; Exec streams,
//     and its text becomes events at once: step.delta; its output is checked
//     (collect_output.go).
//
// Parameters that were found stay for the next attempt. retry_step.go decides whether there is one and after which
// back-off, and keeps each within its timeout. Only if the step does not retry does a provider send a refused
// request again by itself, with a back-off of its own (llm/endpoint, retry_request.go). [Invoke] (collect_output.go) does
// the same for one call without a flow.
//
// step_env.go decides which model provider answers: the names under llm of the step, else of its flow, else of
// the step around it, else the default. A list becomes an [llm.Chain], for example main and then backup. A call's
// requests to the model pass a meter (package internal/budget): its tokens count for the step, the flow and the
// flows around it, and none may pass its budget; the same package bounds the steps that a run begins and the
// outputs that it holds. A call can run another flow (subflow.go): its steps appear in the same events as
// outer/inner, one item's as outer[3]/inner. Their text is the user's when both steps say to_user. With an
// [Elsewhere], a flow with a queue is a separate run on other machines, which the step waits for (elsewhere.go).
// Anything else that a call runs inside itself is a pseudo-step STEP/NAME-N (substep.go): another call, such as
// slot for the filling of fetch, fetch/slot-1, or a piece of its own work ([calls.Once]), such as a round of an
// agent, clerk/round-2. One that finished is safe before the step continues, and later attempts use its output.
//
// # Waiting
//
// A step that misses values, and may ask for them, is set aside: step.waiting has the schema of the missing values
// (filling.go, outcome.go). When nothing else is left to run, the run ends with flow.waiting, and its caller gets
// a [*Waiting] (waiting.go). A call that asks people ([calls.Asker], substep.go) waits the same way, in a
// pseudo-step STEP/question-N. A step or a tool that a person has to approve waits too, with its parameters
// (approval.go): the approved parameters are those that run. Answers are read as people type them in
// parse_answers.go. check_answers.go checks
// them, before a run continues: against the schema of the missing values, and by the call slot.
//
// # Journal
//
// With a [journal.Journal] (package scheduler/journal) the events go through it on their way to the reader
// (package internal/eventlog). One goroutine writes all events since its last write; the successors of a step
// begin when its end is safe. So a step is never recorded as finished twice, and one that was cut short runs
// again: at least once. Flows whose path is only known in a run are kept there too (subflow.go).
//
// [StepExecutor.Resume] (resume.go) reads the flow's text and the events of a run, folds these into a
// [journal.RunState] (fold.go there), and begins at its end (restore.go): steps, items, inner steps and
// pseudo-steps that finished keep their outputs, and their cost stays counted (run_state_usage.go there). A step
// that begins again streams its text from the start, as an attempt does after step.retrying. One that was cut
// short gets the parameters that it had, and the same idempotency key ([calls.Env.IdempotencyKey]); one that
// failed has them rendered again. An edited flow is compared with the old one (recorded_flow.go).
//
// # Events
//
// Everything that happens becomes a [journal.Event] (event.go) in the log of the run (package internal/eventlog),
// from which the caller's loop reads. An event is appended under the lock that guards the state of its run, so
// that events are in the order in which things happened; the log has a lock of its own, which is always the last
// one taken. A reader that is slow holds the steps back, before they take a lock. mask_secrets.go masks every
// secret that the flow mentions, and values that templates computed from it ([value.OfSecret]), before anything
// gets into an event, and so no secret gets into the journal; if an output contained one, a resumed run knows that
// it is missing.
//
// So a piece of text gets from a call to the caller of Run: outputCollector.addChunk masks it
// and makes an event of it; task.emit takes the lock of the run; run.emitLocked dates the
// event; Log.Append gives it a seq and queues it, for the reader or, with a journal, for the
// writer of the log, which saves it (Log.write) and then queues it for the reader
// (Log.finishBatch); Log.Read takes it from there in the goroutine of the caller, whose loop
// gets it.
//
// [journal.RunState] and package scheduler/explain put events together again for people; the latter uses a
// [journal.Prompt] (record_prompts.go) to show the messages that a step has sent to a model, and the origin of
// each piece: a [calls.Part] has the source of a piece as the call reports it, in the output of the step or beside
// the messages that it sent. Templates record the origin of each byte while they render; step.input, step.finished
// and flow.finished keep that as spans (record_spans.go, package llm/value/span), and explain reads them: nothing
// is rendered a second time.
//
// A [Tape] records the answers that calls get from outside, or plays them, so that a run can be repeated without
// network, plugins and store ([calls.Env.UseTape]). It covers HTTP, tools of MCP servers, the memory, variables
// and importance functions of plugins, and calls that declare their work as outside, such as plugins' calls.
// Models have recorders of their own, and learn by [llm.AskerOf] which step asks, so that parallel steps get their
// own answers back.
//
// # The end
//
// The last worker renders the outputs: flow.finished (run_end.go). A flow without outputs gives, by their ids, the
// outputs of the steps that talk to the user and of the steps that no other step needs.
//
// A step that fails tells the running ones to stop, and no other starts; the stopped ones are step.failed with
// kind canceled. When all have stopped, or the grace is over, the flow ends: flow.failed, with the reply that
// on_error made of the error as its text. Ending the context does the same: flow.cancelled. A call that does not
// stop is abandoned, and its further output is dropped. A panic becomes an error of its step, with the stack in
// the log. Errors get their position, and a hint if one is known, in run_error.go; errors.go has the types.
//
// Tests of flows end a run before: until.go stops it at a step whose prompt is made, and an [Interceptor] replaces
// the work of calls.
//
// # Files
//
// All files about runs build on run.go and task.go: their data, its locks, and the way events come out of it.
// scope.go and upstream.go, which look into a run for templates and calls, belong to these. worker.go, foreach.go,
// step_phases.go and retry_step.go run the steps of a run. They use step_env.go, skip_step.go, filling.go,
// outcome.go, restore.go, run_end.go, run_error.go, warnings.go and until.go, which use none of them. A task's
// services for its call, [calls.Substeps], are in substep.go, elsewhere.go and subflow.go; the last
// prepares and begins a run again (prepare.go), as start.go and resume.go, with check_answers.go, do from outside.
// read_message.go reads the words of a person as an answer. mask_secrets.go, mask_parts.go and
// run_images.go keep secrets and images out of events; fork.go begins a run from the steps of another one; wording.go has the messages in Chinese.
package scheduler
