// Package temporal runs flows on many machines: Temporal decides where, when and again, the engine decides the
// steps, and the journal that all machines share records the events. For example, if a machine dies, another one
// takes over its runs at the steps that had not finished.
//
// A run is one workflow, [Workflow], with the same id. Its activity, the [Stretch], carries the run on until it
// ends or waits for values; the events go to the journal as in any process. Temporal transports ids, counters and
// answers, no prompts and no outputs.
//
// A [Client] starts workflows and sends them answers; it is the [service.Remote] of runs with the label runs_on. A
// machine takes part by calling [RunWorker]. This package is the only one that imports the SDK of Temporal; it is
// a module of its own, which only the second program, scheduler-temporal, needs.
//
// The code of the workflow (workflow.go) is replayed from histories that are as old as the oldest run: it has no
// clock, no I/O and no map order, and changes go through workflow.GetVersion. testdata/histories has histories of
// all kinds of runs, which a test replays.
package temporal

import (
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
)

// The names by which workflows and activities are known in histories: they never change.
const (
	// Workflow carries out a run.
	Workflow = "scheduler.Run"
	// Stretch is the activity that carries a run on until it ends or waits.
	Stretch = "scheduler.Stretch"
	// answerActivity puts answers on record, cancelActivity cancels a run that no process is
	// at.
	answerActivity = "scheduler.Answer"
	cancelActivity = "scheduler.Cancel"
	// answerUpdate is how clients give answers to a workflow, wakeSignal lets it look at the
	// journal.
	answerUpdate = "answer"
	wakeSignal   = "poke"
	// missingQuery asks for the things that the last worker lacked.
	missingQuery = "missing"
)

// The types of errors, beside the kinds of errors of a flow. Workflows of older programs failed with the first two. Activities
// that fail with the last three are worth another attempt.
const (
	typeStuck       = "stuck"
	typeUnavailable = "unavailable"
	typeHeld        = "held"
	typeJournal     = "journal"
)

// Input is the input of a workflow.
type Input struct {
	// Run is the id of the run, Store the id of the journal that has it.
	Run   string `json:"run"`
	Store string `json:"store"`
	// Queue is the queue in which the tasks of the run wait for a worker.
	Queue string `json:"queue"`
	// After is the seq of the last event that is known; Since is its value when the run was started or resumed.
	After int64 `json:"after,omitempty"`
	Since int64 `json:"since,omitempty"`
	// RefusedSince is since when workers have refused the run; zero if the last one accepted it.
	RefusedSince time.Time `json:"refused_since,omitzero"`
	// WokenAt is the highest seq that a signal came with in the execution before this one.
	WokenAt int64 `json:"woken_at,omitempty"`
	// Heartbeat is after how long without a sign of life a worker counts as dead.
	Heartbeat time.Duration `json:"heartbeat"`
	// Attributes is true if the search attributes are registered.
	Attributes bool `json:"attributes,omitempty"`
	// Child is true for a run that another one waits for, at a worker.
	Child bool `json:"child,omitempty"`

	unreadable error // why this machine cannot read it
}

// State is how a stretch ended: one of the states of a run, or one of the states below.
type State string

// The states in which a stretch ends.
const (
	Finished  State = "finished"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	Waiting   State = "waiting"
	// HandedOver: the worker stopped, another one goes on.
	HandedOver State = "handed_over"
	// Stuck: the run has brought down one worker after the other.
	Stuck State = "stuck"
	// Unavailable: the worker lacks a thing that the run needs, or the run pauses because workers died while
	// running it.
	Unavailable State = "unavailable"
)

// Outcome is the result of a stretch, or of the whole workflow.
type Outcome struct {
	State State `json:"state"`
	// Seq is the seq of the last event in the journal.
	Seq int64 `json:"seq"`
	// Flow is the name of the flow.
	Flow string `json:"flow,omitempty"`
	// Waiting are the steps that wait.
	Waiting []string `json:"waiting,omitempty"`
	// Kind and Step describe the error of a failed run.
	Kind string `json:"kind,omitempty"`
	Step string `json:"step,omitempty"`
	// Missing names the things that the worker lacks, for [Unavailable]; Pause is how long the run waits before
	// the next try, if it waits because workers died while running it.
	Missing string        `json:"missing,omitempty"`
	Pause   time.Duration `json:"pause,omitempty"`
	// Tokens is the use of the run until now.
	Tokens int `json:"tokens,omitempty"`
}

// stretchInput is the input of the activity [Stretch].
type stretchInput struct {
	Run   string `json:"run"`
	Store string `json:"store"`
	After int64  `json:"after"`
	Since int64  `json:"since"`
	// UnavailableFor is for how long no worker could carry the run out.
	UnavailableFor time.Duration `json:"unavailable_for,omitempty"`
}

// progress is the data of a stretch's heartbeats.
type progress struct {
	Seq      int64 `json:"seq"`
	Finished int64 `json:"finished"`
}

// cancelRequest is the input of the activity that cancels a run.
type cancelRequest struct {
	Run   string `json:"run"`
	Store string `json:"store"`
}

// answerRequest is the input of the update and of the activity that record answers; the
// workflow sets Run and Store.
type answerRequest struct {
	Run     string   `json:"run,omitempty"`
	Store   string   `json:"store,omitempty"`
	Answers []answer `json:"answers"`
	// More leaves the run waiting, for further answers.
	More bool `json:"more,omitempty"`
}

// answer is a [scheduler.Answer] with its value as JSON.
type answer struct {
	Step    string             `json:"step"`
	Pointer string             `json:"pointer"`
	Value   string             `json:"value"`
	Message string             `json:"message,omitempty"`
	InField bool               `json:"in_field,omitempty"`
	Seen    int64              `json:"seen,omitempty"`
	By      *scheduler.Decider `json:"by,omitempty"`
}

// parseAnswers reads answers that came through Temporal.
func parseAnswers(given []answer) ([]scheduler.Answer, error) {
	all := make([]scheduler.Answer, len(given))
	for i, one := range given {
		v, err := value.ParseJSON([]byte(one.Value))
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "the answer for %s: %w", one.Pointer, err)
		}
		all[i] = scheduler.Answer{Step: one.Step, Pointer: one.Pointer, Value: v, Message: one.Message, InField: one.InField, Seen: one.Seen}
		if one.By != nil {
			all[i].By = *one.By
		}
	}
	return all, nil
}

// formatAnswers writes answers that go through Temporal.
func formatAnswers(answers []scheduler.Answer) []answer {
	all := make([]answer, len(answers))
	for i, one := range answers {
		all[i] = answer{Step: one.Step, Pointer: one.Pointer, Value: one.Value.JSON(), Message: one.Message, InField: one.InField, Seen: one.Seen}
		if one.By != (scheduler.Decider{}) {
			all[i].By = &one.By
		}
	}
	return all
}

// shortQueue returns the queue for the short activities of the runs in a store. Activities that touch the journal
// have a queue for each store: a worker that was started with the wrong one takes none of them.
func shortQueue(queue, store string) string { return queue + "/" + store }

// stretchQueue returns the queue for the stretches of the runs in a store: apart from the short activities, which
// must not wait until a long run has ended. Child runs, for which others wait, have places of their own, because
// all other places may be taken by the waiting runs.
func stretchQueue(queue, store string, isChild bool) string {
	if isChild {
		return shortQueue(queue, store) + "/child"
	}
	return shortQueue(queue, store) + "/stretch"
}
