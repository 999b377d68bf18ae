package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// StartOptions are the data, besides the flow, with which a run begins.
type StartOptions struct {
	Inputs       value.Value       `json:"inputs,omitempty" doc:"The inputs of the flow, an object."`
	Conversation value.Value       `json:"conversation,omitzero" doc:"The messages before the question, oldest first: {role, content}, with names and tool calls as in /v1."`
	Session      string            `json:"session,omitempty" maxLength:"200" doc:"The conversation that the run belongs to."`
	User         string            `json:"user,omitempty" maxLength:"200" doc:"Whose run it is: run.user in the flow. The run is bound to that user, as with a token of theirs. Needs the scope runs:as; a token of a user begins runs of that user alone."`
	LLM          string            `json:"llm,omitempty" doc:"The name of a model provider; the flow's and the setting's by default."`
	Labels       map[string]string `json:"labels,omitempty" doc:"Names and values that runs are found by."`
}

// StartHead are the headers and parameters of a start.
type StartHead struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"A repeat with the same key within a day begins nothing and answers alike."`
	Wait string `query:"wait" doc:"How long to wait for the end, such as 30s: 200 with the whole run where it is over by then."`
}

type startRunInput struct {
	StartHead
	Body struct {
		Flow string `json:"flow" minLength:"1" doc:"The id of the flow, as GET /flows lists it."`
		StartOptions
	}
}

type startRunOfFlowInput struct {
	StartHead
	Flow string `path:"flow"`
	Body StartOptions
}

// startedRun is the answer to a start.
type startedRun struct {
	Run    string   `json:"run"`
	Flow   string   `json:"flow"`
	State  string   `json:"state" enum:"running,waiting,failed,cancelled,finished"`
	Queued bool     `json:"queued" doc:"Whether it waits for a run slot."`
	Events string   `json:"events" doc:"The path of its events."`
	Notes  []string `json:"notes,omitempty" doc:"What may be wrong with the request."`
}

type startRunOutput struct {
	Status   int
	Location string `header:"Location"`
	Ignored  string `header:"Scheduler-Ignored" doc:"What of the request the flow does not read: conversation."`
	Replayed string `header:"Idempotency-Replayed" doc:"true where the run was begun by an earlier request."`
	Body     shaped[startedRun]
}

func (s *Server) startRun(ctx context.Context, in *startRunInput) (*startRunOutput, error) {
	return s.startOnce(ctx, in.Body.Flow, &in.Body.StartOptions, in.StartHead)
}

func (s *Server) startRunOfFlow(ctx context.Context, in *startRunOfFlowInput) (*startRunOutput, error) {
	return s.startOnce(ctx, in.Flow, &in.Body, in.StartHead)
}

// maxWait limits the time that a request waits for the end of a run.
const maxWait = 10 * time.Minute

// startOnce begins a run, once for each idempotency key, and waits for its end if the client asks for that.
func (s *Server) startOnce(ctx context.Context, id string, o *StartOptions, head StartHead) (*startRunOutput, error) {
	wait := time.Duration(0)
	if head.Wait != "" {
		var err error
		wait, err = time.ParseDuration(head.Wait)
		if err != nil || wait < 0 || wait > maxWait {
			return nil, calls.Errorf(calls.Invalid, "invalid wait %s (use 30s, at most 10m)", quoteText(head.Wait))
		}
	}
	begin := func(ctx context.Context, run string) (value.Value, error) { return s.beginRun(ctx, run, id, o) }
	if err := calls.CheckConversation(o.Conversation); err != nil {
		return nil, err
	}
	out := &startRunOutput{Ignored: s.ignoredOf(id, o)}
	var err error
	if head.Key == "" {
		out.Body.Value, err = begin(ctx, service.NewRunID())
	} else {
		asked := onceRequest{owner: requestOf(ctx).caller.storeKey(), principal: principalOf(ctx), key: head.Key, body: hashOf(id, o)}
		out.Body.Value, out.Replayed, err = s.beginOnce(ctx, asked, begin, func(ctx context.Context, run, _ string) (value.Value, error) {
			return s.startedDoc(ctx, run, id, nil)
		})
	}
	if err != nil {
		return nil, err
	}
	run := textOf(out.Body.Value, "run")
	requestOf(ctx).run = run
	out.Status, out.Location = http.StatusCreated, base+"/runs/"+run
	if wait > 0 {
		return out, s.awaitEnd(ctx, run, wait, out)
	}
	return out, nil
}

// ignoredOf names the options of a start that the flow does not read; "" for nothing.
func (s *Server) ignoredOf(id string, o *StartOptions) string {
	found, err := s.library.Flow(id)
	if err != nil || found.Flow == nil || len(service.ConversationIgnored(found.Flow, o.Conversation)) == 0 {
		return ""
	}
	return "conversation"
}

// hashOf returns the hash of the content of a start.
func hashOf(flow string, o any) []byte {
	sum := sha256.Sum256(value.OfList(value.OfString(flow), value.Must(o)).AppendJSON(nil))
	return sum[:]
}

// beginRun begins a run with an id.
func (s *Server) beginRun(ctx context.Context, run, id string, o *StartOptions) (value.Value, error) {
	found, err := s.library.Flow(id)
	if err != nil {
		return value.Value{}, err
	}
	if found.Flow == nil {
		return value.Value{}, brokenFlow(found.Problems)
	}
	inputs, err := checkedInputs(found.Flow, o.Inputs)
	if err != nil {
		return value.Value{}, err
	}
	p, err := actAs(ctx, o.User)
	if err != nil {
		return value.Value{}, err
	}
	notes, err := s.dispatcher.Start(ctx, p, service.StartRequest{
		ID: run, Flow: found.Flow, Inputs: inputs, Conversation: o.Conversation, Provider: o.LLM, StartedBy: service.StartedByAPI, Session: o.Session, Labels: o.Labels,
	}, 0)
	if err != nil {
		return value.Value{}, err
	}
	notes = append(service.ConversationIgnored(found.Flow, o.Conversation), notes...)
	notes = append(service.UnknownInputs(found.Flow, o.Inputs.Map()), notes...)
	return s.startedDoc(ctx, run, found.ID, notes)
}

// startedDoc returns the answer to a start.
func (s *Server) startedDoc(ctx context.Context, run, flow string, notes []service.Note) (value.Value, error) {
	info, err := s.options.Service.Run(ctx, principalOf(ctx), run)
	if err != nil {
		return value.Value{}, err
	}
	started := startedRun{Run: run, Flow: flow, State: string(info.State), Queued: info.Queued(), Events: base + "/runs/" + run + "/events"}
	for _, n := range notes {
		started.Notes = append(started.Notes, n.Text.In(s.languageOf(ctx)))
	}
	return value.Must(started), nil
}

// checkedInputs applies the defaults of the flow to inputs and checks them. Each fault has
// its pointer.
func checkedInputs(f *flow.Flow, inputs value.Value) (value.Value, error) {
	if inputs.IsNull() {
		inputs = value.OfMap(nil)
	}
	if inputs.Kind() != value.Object {
		return inputs, invalidInputs([]Fault{newFault("/inputs", wording.Say("must be an object"), wording.Text{})})
	}
	checked := f.Inputs.ApplyDefaults(inputs)
	if problems := f.Inputs.Check(checked); problems != nil {
		return inputs, invalidInputs(schemaFaults("/inputs", problems))
	}
	return checked, nil
}

// invalidInputs is the answer to inputs that do not fit.
func invalidInputs(faults []Fault) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, string(calls.Invalid), wording.Say("the inputs do not fit the flow"), wording.Text{})
	p.Errors = faults
	return p
}

// onceRequest is a request that begins a run once.
type onceRequest struct {
	// owner and key name the request, body is the hash of its content.
	owner, key string
	body       []byte
	// principal is whose run it is.
	principal service.Principal
}

// beginOnce begins a run unless a request with the key has begun it; replayed is "true" then. The
// id of the run is stored before it begins, so that a repeat after a crash finds it, or
// begins it then. describe returns the answer of a run that an earlier request has begun.
func (s *Server) beginOnce(
	ctx context.Context, asked onceRequest,
	begin func(ctx context.Context, run string) (value.Value, error),
	describe func(ctx context.Context, run, flow string) (value.Value, error),
) (answer value.Value, replayed string, err error) {
	if ctx.Err() != nil { // nothing has begun
		return answer, "", context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx) // the client may leave; the run continues
	fresh := service.NewRunID()
	r := &store.Request{Principal: asked.owner, Key: asked.key, Body: asked.body, Run: fresh, Claim: fresh}
	if !s.inFlight.addNew(r.Principal + "\x00" + r.Key) {
		return answer, "", newProblem(http.StatusConflict, "held", wording.Say("the first request with this key is still being carried out"), wording.Say("repeat it a little later")).retryAfter(1)
	}
	defer s.inFlight.removeKey(r.Principal + "\x00" + r.Key)
	earlier, err := s.options.Store.BeginRequest(ctx, r)
	if err != nil {
		return answer, "", err
	}
	if earlier != nil {
		r.Run = earlier.Run
		answer, hasBegun, err := s.repeatOnce(ctx, asked, earlier, r, describe)
		if hasBegun || err != nil {
			return answer, "true", err
		}
	}
	answer, err = begin(ctx, r.Run)
	if err == nil {
		return answer, "", s.storeAnswer(ctx, r, answer, nil)
	}
	info, lookUp := s.options.Service.Run(ctx, asked.principal, r.Run)
	isRefused := errors.Is(err, service.ErrMachinesAway) // the run that may be recorded is cancelled
	if isUnknownRun(lookUp) || isRefused {
		_ = s.options.Store.ReleaseRequest(ctx, r) // if that fails, a repeat must have the same content
	}
	if lookUp != nil || isRefused {
		return answer, "", err
	}
	// Another server got the same request at the same time, and was faster.
	answer, err = describe(ctx, r.Run, info.Flow)
	return answer, "true", s.storeAnswer(ctx, r, answer, err)
}

// repeatOnce answers a request whose key an earlier one had; hasBegun is false if that one has begun no run.
func (s *Server) repeatOnce(
	ctx context.Context, asked onceRequest, earlier, r *store.Request,
	describe func(ctx context.Context, run, flow string) (value.Value, error),
) (answer value.Value, hasBegun bool, err error) {
	if !earlier.SameBody(r) {
		return answer, false, newProblem(http.StatusUnprocessableEntity, string(calls.Invalid), wording.Say("the Idempotency-Key was used for another request"), wording.Say("choose a new key"))
	}
	if earlier.Status != 0 {
		answer, err = value.ParseJSON(earlier.Response)
		return answer, true, err
	}
	info, err := s.options.Service.Run(ctx, asked.principal, r.Run)
	if isUnknownRun(err) {
		return answer, false, nil
	}
	if err != nil {
		_ = s.options.Store.ReleaseRequest(ctx, r) // if that fails, a repeat must have the same content
		return answer, false, err
	}
	err = s.dispatcher.StartQueued(ctx, asked.principal, info)
	if err != nil && !errors.Is(err, service.ErrMachinesAway) { // they are notified once they are back
		return answer, true, err
	}
	answer, err = describe(ctx, r.Run, info.Flow)
	return answer, true, s.storeAnswer(ctx, r, answer, err)
}

// storeAnswer stores the answer to a request with a key.
func (s *Server) storeAnswer(ctx context.Context, r *store.Request, answer value.Value, err error) error {
	if err != nil {
		return err
	}
	r.Status, r.Response = http.StatusCreated, answer.AppendJSON(nil)
	return s.options.Store.EndRequest(ctx, r)
}

// awaitEnd waits until a run is over or waits for values, and answers with the whole run if it is over, else with
// its state then.
func (s *Server) awaitEnd(ctx context.Context, run string, limit time.Duration, out *startRunOutput) error {
	ctx, stop := s.withStop(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, err := range s.dispatcher.Follow(ctx, run, dispatch.FollowOptions{UntilWaiting: true}) {
		if err != nil {
			break // the time is over, or the server stops: the answer is the run's state
		}
	}
	info, err := s.options.Service.Run(context.WithoutCancel(ctx), principalOf(ctx), run)
	if err != nil {
		return err
	}
	if !info.State.IsOver() {
		doc := out.Body.Value.Map().Clone()
		doc.Set("state", value.Must(string(info.State)))
		doc.Set("queued", value.Must(info.Queued()))
		out.Body.Value = value.OfMap(doc)
		return nil
	}
	out.Status = http.StatusOK
	out.Body.Value, _, err = s.wholeRun(context.WithoutCancel(ctx), run)
	return err
}

type forkRunInput struct {
	RunID
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"A repeat with the same key within a day begins nothing and answers alike."`
	Body struct {
		At      string                 `json:"at,omitempty" doc:"The first step that runs again, or a piece of its work such as clerk/round-3. Left out, it is the first step that a change touches, or that has not ended."`
		Inputs  value.Value            `json:"inputs,omitempty" doc:"The inputs that change, an object."`
		Outputs map[string]value.Value `json:"outputs,omitempty" doc:"Outputs in place of the steps' own, by step: these steps do not run. Needs the scope flows:write."`
		Params  []forkParam            `json:"params,omitempty" maxItems:"100" doc:"Values in the parameters that steps had; these steps run again. Needs the scope flows:write."`
		Flow    *editedFlow            `json:"flow,omitempty" doc:"An edited flow: the steps that it changes run again. Needs the scope flows:write."`
		LLM     string                 `json:"llm,omitempty" doc:"The name of a model provider; the run's by default."`
		Plan    bool                   `json:"plan,omitempty" doc:"Only tell which steps are kept and which run."`
	}
}

// forkParam is a value in the parameters of a step.
type forkParam struct {
	Step    string      `json:"step" minLength:"1"`
	Pointer string      `json:"pointer" doc:"A JSON pointer into the parameters, for example /temperature."`
	Value   value.Value `json:"value"`
}

// forkedRun is the answer to a fork.
type forkedRun struct {
	Run      string   `json:"run,omitempty" doc:"The id of the new run; none with plan."`
	Events   string   `json:"events,omitempty" doc:"The path of its events."`
	Kept     []string `json:"kept" doc:"The steps that keep their outputs, or have the given ones."`
	Again    []string `json:"again" doc:"The steps that run."`
	Repeated []string `json:"repeated,omitempty" doc:"Those of them that ran before and may act outside of the run a second time."`
}

type forkRunOutput struct {
	Status   int
	Location string `header:"Location"`
	Replayed string `header:"Idempotency-Replayed" doc:"true where the run was begun by an earlier request."`
	Body     forkedRun
}

// maxForkOutputs bounds the outputs that a fork gives.
const maxForkOutputs = 100

// forkRun begins a run that keeps the steps of another one which a change does not touch.
func (s *Server) forkRun(ctx context.Context, in *forkRunInput) (*forkRunOutput, error) {
	if _, err := s.findRun(ctx, in.ID); err != nil {
		return nil, err
	}
	if !in.Body.Inputs.IsNull() && in.Body.Inputs.Kind() != value.Object {
		return nil, invalidInputs([]Fault{newFault("/inputs", wording.Say("must be an object"), wording.Text{})})
	}
	if len(in.Body.Outputs) > maxForkOutputs {
		return nil, calls.Errorf(calls.Invalid, "more than %d outputs", maxForkOutputs)
	}
	if err := s.checkMayFork(ctx, in); err != nil {
		return nil, err
	}
	r, err := s.forkRequest(ctx, in)
	if err != nil {
		return nil, err
	}
	if in.Body.Plan {
		plan, _, err := s.options.Service.PlanFork(ctx, principalOf(ctx), r)
		if err != nil {
			return nil, err
		}
		return &forkRunOutput{Status: http.StatusOK, Body: forkedOf("", plan)}, nil
	}
	begin := func(ctx context.Context, run string) (value.Value, error) {
		if ctx.Err() != nil {
			return value.Value{}, context.Cause(ctx)
		}
		r.ID = run
		run, plan, err := s.dispatcher.Fork(context.WithoutCancel(ctx), principalOf(ctx), r)
		if err != nil {
			return value.Value{}, err
		}
		return value.Must(forkedOf(run, plan)), nil
	}
	var answer value.Value
	out := &forkRunOutput{Status: http.StatusCreated}
	if in.Key == "" {
		answer, err = begin(ctx, service.NewRunID())
	} else {
		asked := onceRequest{owner: requestOf(ctx).caller.storeKey(), principal: principalOf(ctx), key: in.Key, body: hashOf("fork "+in.ID, in.Body)}
		answer, out.Replayed, err = s.beginOnce(ctx, asked, begin, func(ctx context.Context, run, _ string) (value.Value, error) {
			plan, _, err := s.options.Service.PlanFork(ctx, principalOf(ctx), r)
			if err != nil {
				return value.Value{}, err
			}
			return value.Must(forkedOf(run, plan)), nil
		})
	}
	if err != nil {
		return nil, err
	}
	if err := value.Decode(answer, &out.Body); err != nil {
		return nil, err
	}
	requestOf(ctx).run = out.Body.Run
	out.Location = base + "/runs/" + out.Body.Run
	return out, nil
}

// forkedOf returns the answer to a fork; run is "" for its plan alone.
func forkedOf(run string, plan *scheduler.ForkPlan) forkedRun {
	forked := forkedRun{Run: run, Kept: plan.Kept, Again: plan.Again, Repeated: plan.Repeated}
	if run != "" {
		forked.Events = base + "/runs/" + run + "/events"
	}
	return forked
}

// forkRequest reads the changes of a fork.
func (s *Server) forkRequest(ctx context.Context, in *forkRunInput) (*service.ForkRequest, error) {
	r := &service.ForkRequest{LLM: in.Body.LLM, StartedBy: service.StartedByAPI}
	r.Run, r.At, r.Inputs, r.Outputs = in.ID, in.Body.At, in.Body.Inputs, in.Body.Outputs
	for _, edit := range in.Body.Params {
		r.Params = append(r.Params, scheduler.ParamEdit(edit))
	}
	if in.Body.Flow == nil {
		return r, nil
	}
	edited, problems, err := s.options.Service.LoadEditedText(ctx, principalOf(ctx), in.ID, s.editedText(ctx, "", in.Body.Flow.Text))
	if err != nil {
		return nil, err
	}
	if edited == nil {
		return nil, brokenFlow(problems)
	}
	r.Flow = edited
	return r, nil
}

// checkMayFork refuses changes of steps by callers who may not write flows, and runs of flows that are served no more, or are
// served otherwise now, for example with an approval.
func (s *Server) checkMayFork(ctx context.Context, in *forkRunInput) error {
	changesSteps := in.Body.Flow != nil || len(in.Body.Outputs) > 0 || len(in.Body.Params) > 0
	refused := checkScope(requestOf(ctx).caller, store.FlowsWrite)
	if changesSteps && refused != nil {
		return refused
	}
	if changesSteps {
		return s.checkMayEdit(ctx, in.ID)
	}
	if mayWrite := refused == nil && !principalOf(ctx).Bound; mayWrite {
		return nil
	}
	began, err := s.options.Service.RunFlow(ctx, principalOf(ctx), in.ID)
	if err != nil {
		return err
	}
	if !s.isServed(began.File, string(began.Source)) {
		return newProblem(http.StatusForbidden, "forbidden", wording.Say("the flow of the run is not served any more as it was"), wording.Say("start a new run"))
	}
	return nil
}

// checkMayEdit refuses changes of the steps of a run in which people approve uses of calls, by callers who may not decide
// about these: they could change away what was to be approved.
func (s *Server) checkMayEdit(ctx context.Context, run string) error {
	began, err := s.options.Service.RunFlow(ctx, principalOf(ctx), run)
	if err != nil || !began.AsksApproval() {
		return err
	}
	if principalOf(ctx).Bound {
		return newProblem(http.StatusForbidden, "forbidden", wording.Say("a person approves steps of this run: only an operator may change it"), wording.Text{})
	}
	if p := checkScope(requestOf(ctx).caller, store.RunsApprove); p != nil {
		return p
	}
	return nil
}
