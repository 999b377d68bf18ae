package calls

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/value"
)

// Vars has the variables of a step: the CallVars of the documents, whose step_data is History. The engine makes it
// when the step starts, and the calls of the step share it. It is read-only, so it is safe for concurrent use.
type Vars struct {
	// Inputs are the inputs of the flow, an object.
	Inputs value.Value
	// Question is inputs.question, or "".
	Question string
	// Conversation is the list of messages that came with the request before the question, oldest first: roles,
	// parts, names and tool calls as sent. Null is none.
	Conversation value.Value
	// Resolved are the values of variable resolvers that the step mentions, by
	// name.
	Resolved map[string]value.Value
	// Run identifies the run.
	Run Run
	// Step is the step that is being run.
	Step StepInfo
	// Scope is the scope that the flow names under memory.
	Scope Scope
	// Language is zh, en or another language's name; "" means en.
	Language string
	// Now is the time of the run's clock when the step started.
	Now time.Time
	// Seed seeds the random numbers of templates; 0 gives every run numbers of its own.
	Seed uint64
	// Upstream has the results of the steps before. It may be nil.
	Upstream Upstream
}

// RandomSeed returns the seed of the filter random for the templates of the step, or of an item of
// it: the same when the step runs again.
func (v *Vars) RandomSeed() uint64 {
	index := ""
	if v.Step.Index != nil {
		index = strconv.Itoa(*v.Step.Index)
	}
	run := v.Run.ID
	if v.Seed != 0 {
		run = strconv.FormatUint(v.Seed, 10)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(run + "\x00" + v.Step.ID + "\x00" + index)) // it never fails
	return h.Sum64()
}

// Upstream has the results of the finished upstream steps of a step. It is computed on request only: a step that
// does not use it costs the same in a flow of any size. The engine makes one for each step; its results do not
// change, so that it is safe for concurrent use.
type Upstream interface {
	// History returns the finished upstream steps in file order.
	History() []FinishedStep
	// Summary returns the text of the newest upstream summary step, else the input of
	// that name, else "".
	Summary() string
	// Facts returns the facts of the newest upstream facts step, else the input of that name, else none.
	Facts() []string
}

// History returns the finished upstream steps in file order.
func (v *Vars) History() []FinishedStep {
	if v.Upstream == nil {
		return nil
	}
	return v.Upstream.History()
}

// Summary returns the summary of the text before, or "".
func (v *Vars) Summary() string {
	if v.Upstream == nil {
		return ""
	}
	return v.Upstream.Summary()
}

// Facts returns the facts known from before.
func (v *Vars) Facts() []string {
	if v.Upstream == nil {
		return nil
	}
	return v.Upstream.Facts()
}

// FixedUpstream is an [Upstream] of given values, for calls that run without a flow. Its
// maker does not change it afterwards.
type FixedUpstream struct {
	Steps       []FinishedStep
	SummaryText string
	FactList    []string
}

// History returns u.Steps.
func (u FixedUpstream) History() []FinishedStep { return u.Steps }

// Summary returns u.SummaryText.
func (u FixedUpstream) Summary() string { return u.SummaryText }

// Facts returns u.FactList.
func (u FixedUpstream) Facts() []string { return u.FactList }

// FinishedStep is a step that has ended with an output.
type FinishedStep struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Input       value.Value `json:"input"`
	Output      value.Value `json:"output"`
}

// Run is the run that a call is part of.
type Run struct {
	// ID is unique; "" for a call that runs without a flow.
	ID   string `json:"id"`
	Flow string `json:"flow"`
	// StartedAt is the time of the run's clock at its start.
	StartedAt time.Time `json:"started_at"`
	// User is the run's owner; "" if the program has no users.
	User string `json:"user"`
}

// StepInfo is the information for a call about the step it runs in.
type StepInfo struct {
	ID, Name, Description string
	// Index is the item's index in a for_each step, else nil.
	Index *int
	// ToUser reports whether the step's text goes to the user (to_user).
	ToUser bool
	// Tools are the names of the tools of the steps that get the prompt which this one makes, as far
	// as the flow writes them out.
	Tools []string
}

// Scope selects the memory that a call works in, as the flow names it under memory, independent of the run's
// starter. User strictly separates people, Session narrows within one; "" is a session like any other. A flow
// without memory has the zero Scope.
type Scope struct {
	User    string `json:"user"`
	Session string `json:"session"`
	// AllSessions is set by sessions: all. Turns are read from every session of the user; saved ones still belong to
	// Session.
	AllSessions bool `json:"all_sessions,omitempty"`
	// Bound is set if other users' memories must not be used, for example with a user's token: parameters of [Info]
	// AllUsers are refused.
	Bound bool `json:"-"`
}

// TimeIn returns a time in the zone of a person. One with an offset of its own, for example 2026-03-05T09:00:00+08:00, keeps that,
// and so does any if zone is nil.
func TimeIn(t time.Time, zone *time.Location) time.Time {
	if zone == nil || t.Location().String() == "" {
		return t
	}
	return t.In(zone)
}

// IsNone reports whether the scope names no user: then nothing is read or written.
func (s Scope) IsNone() bool { return strings.TrimSpace(s.User) == "" }
