package inchat

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// importanceJudge asks importance functions for conditions. A function is asked once, about all entries whose
// conditions may need it.
type importanceJudge struct {
	*builder
	in Input
	// about is the candidate whose condition is evaluated.
	about int

	answers map[string]*answer // by function
	known   *plugins.State
}

// answer is the answer of a function.
type answer struct {
	verdicts map[int]plugins.Verdict // by candidate
	err      error
}

// askFunction is [macro.Machine.Judge].
func (j *importanceJudge) askFunction(ctx context.Context, name string) (include bool, reason string, err error) {
	a := j.answers[name]
	if a == nil {
		a = &answer{}
		a.verdicts, a.err = j.requestVerdicts(ctx, name)
		if j.answers == nil {
			j.answers = map[string]*answer{}
		}
		j.answers[name] = a
	}
	if a.err != nil {
		return false, "", a.err
	}
	verdict := a.verdicts[j.about]
	return verdict.Include, verdict.Reason, nil
}

// causeOfEnd returns the error of a step that was ended by over: the running function's error if it wraps over,
// because it names the function that used up the time.
func (j *importanceJudge) causeOfEnd(over error) error {
	for _, a := range j.answers {
		if errors.Is(a.err, over) {
			return a.err
		}
	}
	return over
}

// requestVerdicts asks a function about all candidates that may want its verdict.
func (j *importanceJudge) requestVerdicts(ctx context.Context, name string) (map[int]plugins.Verdict, error) {
	if err := j.env.Registry.CheckImportance(name); err != nil {
		return nil, err
	}
	function, _ := j.env.Registry.Importance(name)
	var wanting []int
	var items []plugins.Item
	for i := range j.candidates {
		c := &j.candidates[i]
		if c.cond == nil {
			continue
		}
		if names, all := c.cond.parsed.Functions(); all && !slices.Contains(names, name) {
			continue
		}
		wanting = append(wanting, i)
		items = append(items, plugins.Item{Name: c.name, Text: c.content, Data: value.OfMap(c.entry).AppendJSON(nil)})
	}
	verdicts, err := function.Judge(ctx, j.functionState(ctx), items)
	if err != nil {
		return nil, err
	}
	if len(verdicts) != len(items) {
		return nil, wording.Errorf("it gave %d verdicts for %d entries", len(verdicts), len(items))
	}
	found := make(map[int]plugins.Verdict, len(verdicts))
	for at, i := range wanting {
		found[i] = verdicts[at]
	}
	return found, nil
}

// maxRetrieved is how many memories a function sees.
const maxRetrieved = 10

// functionState returns the data for functions: the chat, the variables, and the memories that are found for the
// user's words, which are looked for once.
func (j *importanceJudge) functionState(ctx context.Context) plugins.State {
	if j.known != nil {
		return *j.known
	}
	vars := j.env.Vars
	s := plugins.State{
		Input: vars.Question, User: vars.Scope.User, Session: vars.Scope.Session,
		Language: vars.Language, Now: j.env.Clock(), Vars: map[string]json.RawMessage{},
	}
	for name, v := range vars.Resolved {
		s.Vars[name] = v.AppendJSON(nil)
	}
	for name, v := range j.in.Variables.Map().All() {
		s.Vars[name] = v.AppendJSON(nil)
	}
	if messages, err := readHistory(j.in.History); err == nil { // the call has read it before
		for _, m := range messages {
			s.History = append(s.History, plugins.Turn{Role: m.role, Content: m.text()})
		}
	}
	for _, turn := range slices.Backward(s.History) {
		if s.Input == "" && turn.Role == "user" {
			s.Input = turn.Content
		}
	}
	input := s.Input
	retrieve := sync.OnceValues(func() ([]plugins.Recalled, error) {
		return j.env.Memory.Retrieve(ctx, vars.Scope, input, maxRetrieved)
	})
	s.Retrieve = func(context.Context) ([]plugins.Recalled, error) { return retrieve() }
	j.env.AttachServices(&s)
	j.known = &s
	return s
}
