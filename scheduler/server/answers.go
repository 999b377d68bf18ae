package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// answer is a value for a step that waits.
type answer struct {
	Step    string      `json:"step,omitempty" doc:"The step; it may be left out where one waits."`
	Pointer string      `json:"pointer,omitempty" doc:"The JSON pointer of what it waits for; \"\" is all of its data."`
	Value   value.Value `json:"value,omitzero" doc:"The value at the pointer."`
	Approve *bool       `json:"approve,omitempty" doc:"Instead of pointer and value: whether a use of a call that waits for the leave of a person is approved."`
	Reason  string      `json:"reason,omitempty" doc:"With approve: why."`
	Edits   value.Value `json:"edits,omitzero" doc:"With approve: changes of parameters, an object of values by the pointers that approval/edit lists."`
}

// places returns the answer as values at places; a decision has one for each of its parts.
func (a *answer) places() ([]scheduler.Answer, error) {
	hasPlace := a.Pointer != "" || !a.Value.IsNull()
	hasMore := a.Reason != "" || !a.Edits.IsNull()
	switch {
	case a.Approve == nil && hasMore:
		return nil, calls.Errorf(calls.Invalid, "reason and edits belong to a decision").WithHint("add approve: true or false")
	case a.Approve == nil:
		return []scheduler.Answer{{Step: a.Step, Pointer: a.Pointer, Value: a.Value}}, nil
	case hasPlace:
		return nil, calls.Errorf(calls.Invalid, "approve is given with pointer or value").WithHint("leave one out")
	}
	all := []scheduler.Answer{{Step: a.Step, Pointer: journal.ApprovedPlace, Value: value.OfBool(*a.Approve)}}
	if a.Reason != "" {
		all = append(all, scheduler.Answer{Step: a.Step, Pointer: journal.ReasonPlace, Value: value.OfString(a.Reason)})
	}
	if !a.Edits.IsNull() {
		all = append(all, scheduler.Answer{Step: a.Step, Pointer: journal.EditsPlace, Value: a.Edits})
	}
	return all, nil
}

type answerRunInput struct {
	RunID
	Check bool `query:"check" doc:"Only check the answers."`
	Body  struct {
		Answers []answer    `json:"answers,omitempty" maxItems:"500"`
		Values  value.Value `json:"values,omitempty" doc:"Instead of answers: an object of values by pointer or name, or of such objects by step."`
		Message string      `json:"message,omitempty" doc:"Instead of answers: what the user writes, such as 'It is A-1042'. It is read as a value of what the run asks for first, else with the model as the run goes on. A word such as cancel cancels the run. With 200, text is what the user is told."`
		Seen    int64       `json:"seen,omitempty" doc:"With message: the seq of the run's last event when the user was asked."`
	}
}

// accepted is the answer to a request that continues in the background.
type accepted struct {
	Run    string `json:"run"`
	State  string `json:"state"`
	Events string `json:"events"`
	Text   string `json:"text,omitempty" doc:"What the user is told whose message the run does not go on with: it is asked again, or cancelled."`
}

type answerRunOutput struct {
	Status int
	Body   accepted
}

// answerRun answers the questions of a run: it accepts all of the answers, or none if one is wrong.
func (s *Server) answerRun(ctx context.Context, in *answerRunInput) (*answerRunOutput, error) {
	info, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	if p := notWaitingProblem(info); p != nil && !details.State.TakesAnswers() {
		if err := findDecision(in.Body.Answers, details.State); err != nil {
			return nil, err
		}
		return nil, p
	}
	if in.Body.Message != "" {
		return s.replyToRun(ctx, in)
	}
	answers, err := s.readAnswers(in, details)
	if err != nil {
		return nil, err
	}
	out := &answerRunOutput{http.StatusOK, accepted{Run: in.ID, State: string(info.State), Events: base + "/runs/" + in.ID + "/events"}}
	if in.Check {
		return out, nil
	}
	if err := s.resumeOrRefuse(ctx, in.ID, service.ResumeWith{Answers: answers, Wait: service.SlotWait}, notWaitingProblem); err != nil {
		return nil, err
	}
	noteDecisions(ctx, answers)
	out.Status, out.Body.State = http.StatusAccepted, string(journal.RunRunning)
	return out, nil
}

// noteDecisions puts the decisions of a request into its entry of the audit.
func noteDecisions(ctx context.Context, answers []scheduler.Answer) {
	for _, a := range answers {
		if a.Pointer == journal.ApprovedPlace {
			requestOf(ctx).decided += " " + cmp.Or(a.Step, "answer") + "=" + decisionWord(a.Value)
		}
	}
}

// decisionWord returns how the audit names a decision.
func decisionWord(approved value.Value) string {
	if yes, _ := approved.Bool(); yes {
		return "approved"
	}
	return "denied"
}

// findDecision returns who decided before about an approval that answers are for; nil if they are for none.
func findDecision(answers []answer, state *journal.RunState) error {
	for _, a := range answers {
		st := state.Step(a.Step)
		isDecision := a.Approve != nil || a.Pointer == journal.ApprovedPlace
		if isDecision && st != nil && st.Decision != nil {
			return calls.Errorf(calls.Canceled, "%w", &scheduler.DecidedError{Step: a.Step, Decision: st.Decision})
		}
	}
	return nil
}

// replyToRun gives a run that waits a message of the user.
func (s *Server) replyToRun(ctx context.Context, in *answerRunInput) (*answerRunOutput, error) {
	hasAnswers := len(in.Body.Answers) > 0 || !in.Body.Values.IsNull()
	if hasAnswers || in.Check {
		return nil, calls.Errorf(calls.Invalid, "message is given with answers, values or check").WithHint("leave one out")
	}
	reply, err := s.options.Service.Reply(ctx, principalOf(ctx), s.dispatcher, service.ReplyRequest{Run: in.ID, Text: in.Body.Message, Seen: in.Body.Seen, Wait: service.SlotWait})
	var over *service.NotWaitingError
	if errors.As(err, &over) {
		info, lookUp := s.findRun(ctx, in.ID)
		if lookUp != nil {
			return nil, lookUp
		}
		if p := notWaitingProblem(info); p != nil {
			return nil, p
		}
	}
	if err != nil {
		return nil, err
	}
	out := &answerRunOutput{http.StatusOK, accepted{Run: in.ID, State: string(reply.State), Events: base + "/runs/" + in.ID + "/events", Text: reply.Text}}
	if reply.State == journal.RunRunning {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// resumeOrRefuse resumes a run. refuse returns why a run cannot continue in its state, or nil: if another request
// has meanwhile brought the run to such a state, that is the error.
func (s *Server) resumeOrRefuse(ctx context.Context, id string, with service.ResumeWith, refuse func(*journal.RunInfo) *Problem) error {
	err := s.dispatcher.Resume(ctx, principalOf(ctx), id, with)
	if err == nil || calls.KindOf(err) != calls.Invalid {
		return err
	}
	info, lookUp := s.findRun(ctx, id)
	if lookUp != nil {
		return err
	}
	if p := refuse(info); p != nil {
		return p
	}
	return err
}

// notWaitingProblem is the answer if a run waits for nothing; nil if it waits.
func notWaitingProblem(info *journal.RunInfo) *Problem {
	if info.State == journal.RunWaiting {
		return nil
	}
	if info.State.IsOver() {
		return overProblem(info)
	}
	p := newProblem(http.StatusConflict, "held", wording.Say("the run does not wait: it is %s", wording.Of(string(info.State))), wording.Text{})
	p.Run = info.ID
	return p
}

// readAnswers returns the answers. The error has every one that is wrong, with words for the person in the language of the run.
func (s *Server) readAnswers(in *answerRunInput, details *service.RunDetails) ([]scheduler.Answer, error) {
	waiting := details.State.Waiting
	if !in.Body.Values.IsNull() {
		if len(in.Body.Answers) > 0 {
			return nil, calls.Errorf(calls.Invalid, "answers and values are both given").WithHint("leave one out")
		}
		return scheduler.AnswersOf(in.Body.Values, waiting)
	}
	if len(in.Body.Answers) == 0 {
		return nil, calls.Errorf(calls.Invalid, "there are no answers").WithHint(`send {"answers": [{"step", "pointer", "value"}]}, or {"answers": [{"step", "approve": true}]}`)
	}
	var all []scheduler.Answer
	var faults []Fault
	for i := range in.Body.Answers {
		places, err := in.Body.Answers[i].places()
		if err != nil {
			faults = append(faults, newFault("/answers/"+strconv.Itoa(i), wording.OfError(err), hintOf(err)))
		}
		for _, one := range places {
			all = append(all, one)
			if err := scheduler.CheckField(one, waiting); err != nil {
				fault := newFault("/answers/"+strconv.Itoa(i), wording.OfError(err), hintOf(err))
				fault.Words = s.options.Service.UnfitText(details, one)
				faults = append(faults, fault)
			}
		}
	}
	if len(faults) > 0 {
		p := newProblem(http.StatusUnprocessableEntity, string(calls.Invalid), wording.Text{En: faults[0].Message, Zh: faults[0].chineseMessage}, wording.Text{En: faults[0].Hint, Zh: faults[0].chineseHint})
		p.Errors = faults
		return nil, p
	}
	return all, scheduler.CheckAnswers(all, waiting)
}

type resumeRunInput struct {
	RunID
	Body *struct {
		Flow *editedFlow `json:"flow,omitempty" doc:"An edited flow: steps that have finished must be unchanged."`
	} `required:"false"`
}

// editedFlow is a flow that goes on in place of the one of a run.
type editedFlow struct {
	Text string `json:"text" minLength:"1" doc:"The text of the flow."`
}

// resumeRun resumes a run that failed, was cancelled or is stuck.
func (s *Server) resumeRun(ctx context.Context, in *resumeRunInput) (*body[accepted], error) {
	info, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if p := finishedProblem(info); p != nil {
		return nil, p
	}
	with := service.ResumeWith{Wait: service.SlotWait}
	if in.Body != nil && in.Body.Flow != nil {
		if p := checkScope(requestOf(ctx).caller, store.FlowsWrite); p != nil {
			return nil, p
		}
		if err := s.checkMayEdit(ctx, in.ID); err != nil {
			return nil, err
		}
		var problems flow.Problems
		with.Flow, problems, err = s.options.Service.LoadEditedText(ctx, principalOf(ctx), in.ID, s.editedText(ctx, "", in.Body.Flow.Text))
		if err != nil {
			return nil, err
		}
		if with.Flow == nil {
			return nil, brokenFlow(problems)
		}
	}
	if err := s.resumeOrRefuse(ctx, in.ID, with, finishedProblem); err != nil {
		return nil, err
	}
	return &body[accepted]{accepted{Run: in.ID, State: string(journal.RunRunning), Events: base + "/runs/" + in.ID + "/events"}}, nil
}

// finishedProblem is the answer if a run has finished; nil if it has not.
func finishedProblem(info *journal.RunInfo) *Problem {
	if info.State == journal.RunFinished {
		return overProblem(info)
	}
	return nil
}

// waiter is one step of a run that waits.
type waiter struct {
	Run     string    `json:"run"`
	Flow    string    `json:"flow"`
	Owner   string    `json:"owner,omitempty"`
	Session string    `json:"session,omitempty"`
	Since   time.Time `json:"since" doc:"When the run came to wait."`
	Asked   string    `json:"asked,omitempty" doc:"The question with which the user began the run, cut to a line."`
	journal.WaitingFor
}

// listWaiting lists all that visible runs wait for, the run that began first at the top. A
// page has whole runs, at most as many as its limit.
func (s *Server) listWaiting(ctx context.Context, in *Listing) (*body[page[waiter]], error) {
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunWaiting}, DownTo: in.Cursor}
	var runs []*journal.RunInfo // the newest first
	for info, err := range s.options.Service.Runs(ctx, principalOf(ctx), filter) {
		if err != nil {
			return nil, err
		}
		runs = append(runs, info)
	}
	next := ""
	if len(runs) > in.Limit {
		runs = runs[len(runs)-in.Limit:]
		next = runs[0].Cursor
	}
	s.feed.watch(runs...)
	var items []waiter
	for i := len(runs) - 1; i >= 0; i-- {
		waits, err := s.options.Service.WaitsFor(ctx, principalOf(ctx), runs[i])
		if err != nil {
			return nil, err
		}
		for _, w := range waits {
			items = append(items, waiter{runs[i].ID, runs[i].Flow, runs[i].Labels[journal.LabelOwner], runs[i].Labels[journal.LabelSession], runs[i].UpdatedAt, runs[i].Summary.Question, w})
		}
	}
	return newPage(items, next), nil
}
