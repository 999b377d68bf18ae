package scheduler

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Decider is a person who answers a run. The program makes one for each request; the zero Decider may decide about no approval.
type Decider struct {
	// Name stands in the record: a user, the name of a token, or a word such as operator.
	Name string `json:"name"`
	// IsOperator is set for a person who may act for all users, User for the user whose run it is: see [flow.Approval] ByUser.
	IsOperator bool `json:"is_operator,omitempty"`
	IsUser     bool `json:"is_user,omitempty"`
}

// DecidedError means that a person, or the clock, decided about an approval before. It is in an error of kind Canceled.
type DecidedError struct {
	Step     string
	Decision *journal.Decision
}

// Error tells who decided.
func (e *DecidedError) Error() string { return e.Text().En }

// Text is Error in the built-in languages.
func (e *DecidedError) Text() wording.Text {
	return wording.Say("the step %s is decided: %s (%s)", e.Step, e.Decision.Text(), e.Decision.At.Format(time.RFC3339))
}

func newDecidedError(step string, d *journal.Decision) error {
	return calls.Errorf(calls.Canceled, "%w", &DecidedError{step, d})
}

// approvalUse is a use of a call that a person may have to approve.
type approvalUse struct {
	call, tool string
	def        calls.Definition
	// rule is that of the flow; nil: only the settings may ask for an approval.
	rule   *flow.Approval
	params value.Value
	// message is that of a rule which is data; "" for none.
	message string
}

// approveParams asks a person, if the flow or the settings say so, whether the step may run with its parameters. Values that slot waits for
// come after the approval of its step.
func (t *task) approveParams(ctx context.Context) error {
	was := t.recordedState()
	isSlotAgain := t.step.Call == flow.CallSlot && was != nil && !was.Found.IsNull()
	if isSlotAgain || t.step.Approve == nil && !t.run.exec.asksFor(t.step.Call) {
		return nil
	}
	params, err := t.approve(ctx, approvalUse{call: t.step.Call, def: t.step.Def, rule: t.step.Approve, params: t.params})
	if err == nil && !value.Equal(params, t.params) { // a person has changed them: where their texts come from is no longer known
		t.params, t.traced = params, tracedValue{}
	}
	return err
}

// Approve asks a person whether a tool may be used, inside the piece of work that runs it.
func (t *task) Approve(ctx context.Context, use calls.ApprovalUse) (value.Value, error) {
	t.leave = use.Call // the settings ask here, not once more where the call begins
	asked := approvalUse{call: use.Call, tool: use.Name, params: use.Params}
	asked.def, _ = t.run.exec.registry().Call(use.Call)
	if use.Rule.Asked {
		rule, isCompiled := t.outermostTask().step.ToolApprovals[use.At]
		if !isCompiled {
			var err error
			rule, err = readRule(use.Rule)
			if err != nil {
				return value.Value{}, err
			}
			asked.message = use.Rule.Message
		}
		asked.rule = rule
	}
	if asked.rule == nil && !t.run.exec.asksFor(use.Call) {
		return use.Params, nil
	}
	return t.approve(ctx, asked)
}

// readRule returns the rule of a tool that is known only when the flow runs: it has no condition, for data is no template.
func readRule(r calls.ApprovalRule) (*flow.Approval, error) {
	if r.When != "" {
		return nil, calls.Errorf(calls.Invalid, "approve: a condition of a tool that is computed is not read").WithHint("write the tools out in the flow")
	}
	rule := &flow.Approval{Edit: r.Edit, ByUser: r.By == journal.ByUser}
	if r.Timeout == "" {
		return rule, nil
	}
	var err error
	rule.Timeout, err = time.ParseDuration(r.Timeout)
	if err != nil || rule.Timeout <= 0 {
		return nil, calls.Errorf(calls.Invalid, "approve: invalid timeout %q", r.Timeout).WithHint("use 30m or 24h")
	}
	return rule, nil
}

// asksFor reports whether the settings may ask for the approval of a call.
func (e *StepExecutor) asksFor(call string) bool {
	return slices.ContainsFunc(e.Approvals, func(a flow.CallApproval) bool { return a.Matches(call) })
}

// approve returns the parameters with which a call runs: those that a person has approved, with their changes, or those of the use where
// nobody has to be asked. The error is a [*suspension] until somebody has decided, and of kind Denied for a denial.
func (t *task) approve(ctx context.Context, use approvalUse) (value.Value, error) {
	shown, hidden := t.run.secrets.maskWithPointers(use.params)
	digest := journal.DigestParams(shown)
	was := t.recordedState()
	if was != nil && was.Approval != nil && was.Approval.Digest == digest && was.Approval.Call == use.call {
		isDeniedAgain := was.State == journal.StepStatusFailed && was.Decision != nil && !was.Decision.Approved
		switch {
		case was.Decision == nil && was.State != journal.StepStatusFailed:
			return value.Value{}, &suspension{approval: was.Approval, masked: hidden}
		case was.Decision != nil && was.Decision.Digest == digest && !isDeniedAgain:
			return t.applyDecision(use, was.Decision)
		}
	}
	approval, err := t.findApproval(ctx, use)
	if err != nil || approval == nil {
		return use.params, err
	}
	approval.Params, approval.Digest = shown, digest
	return value.Value{}, &suspension{approval: approval, masked: hidden}
}

// findApproval returns what a person is asked, nil where no rule asks for it. Of several rules the strictest says who decides.
func (t *task) findApproval(ctx context.Context, use approvalUse) (*journal.Approval, error) {
	names := t.approvalScope(ctx, use)
	isAsked, byUser := false, true
	if use.rule != nil {
		holds, err := t.checkCondition(ctx, use.rule.When, names)
		if err != nil {
			return nil, err
		}
		isAsked, byUser = holds, use.rule.ByUser || !holds
	}
	for _, a := range t.run.exec.Approvals {
		if !a.Matches(use.call) {
			continue
		}
		holds, err := t.checkCondition(ctx, a.When, names)
		if err != nil {
			return nil, err
		}
		isAsked, byUser = isAsked || holds, byUser && (a.ByUser || !holds)
	}
	if !isAsked {
		return nil, nil
	}
	approval := &journal.Approval{Call: use.call, Tool: use.tool, By: journal.ByOperator, Message: use.message}
	if byUser {
		approval.By = journal.ByUser
	}
	if use.rule != nil {
		approval.Edit = use.rule.Edit
		if use.rule.Timeout > 0 {
			approval.Until = t.run.exec.elapsed().Add(use.rule.Timeout)
		}
	}
	return approval, t.setMessage(ctx, approval, use, names)
}

// setMessage sets the question to the person.
func (t *task) setMessage(ctx context.Context, a *journal.Approval, use approvalUse, names *approvalScope) error {
	if use.rule != nil && use.rule.Message != nil {
		v, err := t.run.secrets.render(ctx, use.rule.Message, names)
		if err != nil {
			return err
		}
		a.Message = v.PlainText()
	}
	if strings.TrimSpace(a.Message) == "" {
		a.Message = wording.Say("May the step %s run %s?", t.outermostTask().path(), cmp.Or(use.tool, use.call)).In(t.vars.Language)
	}
	a.Message = t.run.secrets.maskText(a.Message)
	return nil
}

// checkCondition reports whether a condition is true; nil is.
func (t *task) checkCondition(ctx context.Context, condition *flow.Param, names *approvalScope) (bool, error) {
	if condition == nil {
		return true, nil
	}
	v, err := condition.Render(ctx, names)
	return prompt.Truthy(v), err
}

// approvalScope is what the templates of an approval may name: params beside the names of the step.
type approvalScope struct {
	*scope
	own value.Value
}

// Lookup finds params, and the names of the step.
func (s *approvalScope) Lookup(name string) (value.Value, bool, error) {
	if name == "params" {
		return s.own, true, nil
	}
	return s.scope.Lookup(name)
}

// approvalScope returns what the templates of an approval may name. A piece of a step's work sees what the step sees.
func (t *task) approvalScope(ctx context.Context, use approvalUse) *approvalScope {
	owner := t.outermostTask()
	names := owner.names
	names.ctx = ctx
	names.params = []*flow.Param{owner.step.With}
	if use.rule != nil {
		names.params = append(names.params, use.rule.Params()...)
	}
	for _, a := range t.run.exec.Approvals {
		names.params = append(names.params, a.When)
	}
	own := use.params
	if use.def.Info != nil { // a condition may ask for a parameter that is left out, for example the timeout of http
		own = use.def.Info.Params.ApplyDefaults(own)
	}
	return &approvalScope{&names, own}
}

// applyDecision returns the parameters with the changes of the person who approved them.
func (t *task) applyDecision(use approvalUse, d *journal.Decision) (value.Value, error) {
	if !d.Approved {
		return value.Value{}, deniedError(d)
	}
	params, err := d.Edit(use.params)
	if err != nil || d.Edits.Map().Len() == 0 || use.def.Info == nil || use.call == flow.CallFlow {
		return params, err
	}
	if problems := use.def.Info.Params.Check(params); problems != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "the changed parameters do not fit the call %s: %w", use.call, problems)
	}
	return params, nil
}

// deniedError returns the error of a step that was denied.
func deniedError(d *journal.Decision) error {
	if d.By == journal.ByClock {
		return calls.Errorf(calls.Denied, "%s", d.Text())
	}
	if d.Reason == "" {
		return calls.Errorf(calls.Denied, "denied by a person")
	}
	return calls.Errorf(calls.Denied, "denied by a person: %s", d.Reason)
}

// takeApproved returns the parameters of a step that a person was asked to approve, as they were shown then; secrets that the record does not
// keep come from rendering them once more. taken is false where the step was begun with others since.
func (t *task) takeApproved(ctx context.Context, was *journal.StepState) (params value.Value, taken bool, err error) {
	if was.Approval == nil || !was.IsApprovalLast() {
		return value.Value{}, false, nil
	}
	params = was.Approval.Params
	if len(was.MaskedApproved) == 0 {
		return params, true, nil
	}
	rendered, err := t.run.secrets.render(ctx, t.step.With, t.scope(ctx))
	if err != nil {
		return value.Value{}, true, err
	}
	params, lost := t.run.secrets.restoreHidden(params, rendered, was.MaskedApproved)
	return params, len(lost) == 0, nil
}

// decideApprovals makes decisions of the answers to approvals, and adds those of the clock. by are the answers with their deciders.
func (e *StepExecutor) decideApprovals(r *run, state *journal.RunState, notes []*pendingEvent, by []Answer) ([]*pendingEvent, error) {
	now := e.elapsed()
	for _, w := range state.Waiting {
		st := state.Step(w.Step)
		if w.Approval == nil || st == nil || st.Decision != nil {
			continue
		}
		i := slices.IndexFunc(notes, func(n *pendingEvent) bool { return journal.StepPath(n.event.Step, n.event.Index) == w.Step })
		isOver := w.Approval.IsOver(now)
		if isOver {
			d := &journal.Decision{By: journal.ByClock, At: now, Digest: w.Approval.Digest}
			if i >= 0 {
				return nil, newDecidedError(w.Step, d)
			}
			n := newPendingEvent(journal.StepAnswered)
			n.event.Step, n.event.Index = journal.SplitPath(w.Step)
			n.data.Decision = d
			notes = append(notes, n)
			continue
		}
		if i < 0 {
			continue
		}
		d, err := e.readDecision(r, w, notes[i].params, by)
		if err != nil {
			return nil, err
		}
		d.At = now
		notes[i].data.Decision, notes[i].params = d, value.OfMap(nil)
	}
	return notes, nil
}

// readDecision makes a decision of the answers to an approval.
func (e *StepExecutor) readDecision(r *run, w journal.WaitingFor, given value.Value, answers []Answer) (*journal.Decision, error) {
	i := slices.IndexFunc(answers, func(a Answer) bool { return a.Step == w.Step })
	by := answers[i].By
	mayDecide := by.IsOperator || by.IsUser && w.Approval.By == journal.ByUser
	if !mayDecide {
		return nil, notAllowedError(w)
	}
	yes, isGiven := given.Get(journal.ApprovedPlace)
	if !isGiven {
		return nil, calls.Errorf(calls.Invalid, "%s: is it approved or denied?", w.Step).WithHint("give %s as well: true or false", journal.ApprovedPlace)
	}
	d := &journal.Decision{By: cmp.Or(by.Name, journal.ByOperator), Digest: w.Approval.Digest}
	d.Approved, _ = yes.Bool()
	reason, _ := given.Get(journal.ReasonPlace)
	d.Reason = r.secrets.maskText(strings.TrimSpace(reason.PlainText()))
	if reason.IsNull() {
		d.Reason = ""
	}
	edits, _ := given.Get(journal.EditsPlace)
	if edits.Map().Len() > 0 {
		d.Edits = edits
	}
	return d, e.checkEdits(r, w, d)
}

// notAllowedError returns the error of a person who may not decide.
func notAllowedError(w journal.WaitingFor) error {
	if w.Approval.By == journal.ByUser {
		return calls.Errorf(calls.Denied, "%s: only the user of the run, or an operator, decides about this", w.Step)
	}
	return calls.Errorf(calls.Denied, "%s: only an operator decides about this", w.Step).
		WithHint("use the command line, or a token without a user that has the scope runs:approve")
}

// checkEdits checks the changes of a person: places that they may change, and values that fit there.
func (e *StepExecutor) checkEdits(r *run, w journal.WaitingFor, d *journal.Decision) error {
	if d.Edits.Map().Len() == 0 {
		return nil
	}
	if !d.Approved {
		return calls.Errorf(calls.Invalid, "%s: a denial changes no parameters", w.Step).WithHint("leave the changes out")
	}
	for pointer := range d.Edits.Map().All() {
		if slices.Contains(w.Approval.Edit, pointer) {
			continue
		}
		err := calls.Errorf(calls.Invalid, "%s:%s: this may not be changed", w.Step, pointer)
		if len(w.Approval.Edit) > 0 {
			return err.WithHint("edit of the flow lists %s", strings.Join(w.Approval.Edit, ", "))
		}
		return err.WithHint("list it under edit of approve in the flow")
	}
	if _, masked := r.secrets.maskWithPointers(d.Edits); len(masked) > 0 {
		return calls.Errorf(calls.Invalid, "%s: a change holds a secret, and the journal does not keep secrets", w.Step)
	}
	params, err := d.Edit(w.Approval.Params)
	if err != nil {
		return err
	}
	def, ok := e.registry().Call(w.Approval.Call)
	if !ok || w.Approval.Call == flow.CallFlow {
		return nil
	}
	var wrong schema.Problems // a secret that is masked may not fit: only the changes count
	for _, problem := range def.Info.Params.Check(params) {
		for pointer := range d.Edits.Map().All() {
			if strings.HasPrefix(problem.Pointer+"/", pointer+"/") || strings.HasPrefix(pointer+"/", problem.Pointer+"/") {
				wrong = append(wrong, problem)
			}
		}
	}
	if len(wrong) > 0 {
		return calls.Errorf(calls.Invalid, "%s: %w", w.Step, wrong)
	}
	return nil
}

// checkDecided returns an error where an answer is for an approval that is decided, by another answer or another person.
func checkDecided(state *journal.RunState, a Answer) error {
	st := state.Step(a.Step)
	isDecision := a.Message != "" || slices.Contains([]string{journal.ApprovedPlace, journal.ReasonPlace, journal.EditsPlace}, a.Pointer)
	if st == nil || st.Decision == nil || !isDecision || isSameDecision(st.Decision, a) {
		return nil
	}
	return newDecidedError(a.Step, st.Decision)
}

// isSameDecision reports whether an answer is on record as a part of a decision.
func isSameDecision(d *journal.Decision, a Answer) bool {
	if d.By != cmp.Or(a.By.Name, journal.ByOperator) || a.Message != "" {
		return false
	}
	switch a.Pointer {
	case journal.ApprovedPlace:
		return value.Equal(a.Value, value.OfBool(d.Approved))
	case journal.ReasonPlace:
		return a.Value.PlainText() == d.Reason
	case journal.EditsPlace:
		return value.Equal(a.Value, d.Edits)
	}
	return false
}

// readLeave reads what a person wrote about an approval: yes or no, and why after a comma or a colon, for example "no: too much".
func readLeave(w *journal.WaitingFor, a Answer) ([]Answer, error) {
	word, reason, _ := cutAtAny(strings.TrimSpace(a.Message), ":：,，;；\n")
	yes, ok := schema.YesOrNo(strings.TrimSpace(strings.TrimRight(word, ".!。！")))
	isYes, _ := yes.Bool()
	reason = strings.TrimSpace(reason)
	if isConditional := isYes && reason != ""; !ok || isConditional {
		return nil, calls.Errorf(calls.Invalid, "the message does not answer what the step %s waits for", w.Step).WithHint("write yes or no")
	}
	read := []Answer{{Step: w.Step, Pointer: journal.ApprovedPlace, Value: yes, By: a.By}}
	if reason != "" {
		read = append(read, Answer{Step: w.Step, Pointer: journal.ReasonPlace, Value: value.OfString(reason), By: a.By})
	}
	return read, nil
}

// cutAtAny cuts a text at the first of some characters.
func cutAtAny(text, cuts string) (before, after string, found bool) {
	i := strings.IndexAny(text, cuts)
	if i < 0 {
		return text, "", false
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return text[:i], text[i+size:], true
}
