package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// isHandingOver reports whether the steps stop because another process continues the run.
func (r *run) isHandingOver() bool {
	return r.life.ctx.Err() != nil && errors.Is(context.Cause(r.life.ctx), ErrHandOver)
}

// failureOf turns any error into a Failure. pos is its place unless the error has a better one: a template's error
// has its own place, a sub-flow's its own step.
func (r *run) failureOf(err error, pos flow.Position) *Failure {
	info := journal.ErrorInfo{
		Kind: calls.KindOf(err), Message: calls.MessageIn(err, r.vars.Language), Hint: calls.HintIn(err, r.vars.Language),
	}
	if pos.Line > 0 {
		info.Position = r.placeText(pos)
	}
	var inner *Failure
	if errors.As(err, &inner) {
		place := cmp.Or(inner.Info.Position, info.Position)
		if err == error(inner) { //nolint:errorlint // what wraps a failure says more than it
			info = inner.Info
		}
		info.Position, info.Step = place, inner.Info.Step
	}
	var placed *flow.LocatedError
	if errors.As(err, &placed) {
		info.Position = r.placeText(placed.Pos)
	}
	var t *prompt.Error
	if errors.As(err, &t) {
		r.explainTemplateError(&info, t, err)
	}
	info.Message, info.Hint = r.secrets.maskText(info.Message), r.secrets.maskText(info.Hint)
	return &Failure{Info: info, Err: err}
}

// placeText returns a place as records and messages have it, for example flows/support.yaml:4:7. It is independent
// of the machine: the same run has the same places in another folder, and after it was resumed.
func (r *run) placeText(pos flow.Position) string {
	pos.File = portablePath(r.exec.Root, r.flows.root.File, pos.File)
	return pos.String()
}

// explainTemplateError adds to a template's error its place, its kind, and the reason why a name may be unknown.
func (r *run) explainTemplateError(info *journal.ErrorInfo, t *prompt.Error, err error) {
	if t.File == r.flow.File && t.File != "" {
		info.Position = r.placeText(flow.Position{File: t.File, Line: t.Line, Col: t.Col})
		message, _ := t.Text()
		info.Message = message.In(r.vars.Language)
	}
	var known *calls.Error
	if info.Kind == calls.Internal && !errors.As(err, &known) {
		info.Kind = calls.Invalid
	}
	if info.Hint == "" {
		_, hint := t.Text()
		info.Hint = hint.In(r.vars.Language)
	}
	if t.Class == prompt.Undefined && t.File != "" { // the names of a call's own template are not the flow's
		if hint := r.hintFor(t.Name); hint != "" {
			info.Hint = hint
		}
	}
}

// hintFor returns why the dotted name is undefined; "" if there is nothing to add. For example, for step.text it
// says that the step was skipped.
func (r *run) hintFor(name string) string {
	first, rest, _ := strings.Cut(name, ".")
	switch first {
	case "secrets":
		return r.say("allow the secret %s in the settings (secrets), and set the environment variable of that name", rest)
	case "vars":
		return r.say("no resolver gave a value to %s", rest)
	}
	step, ok := r.flow.Step(first)
	if !ok || r.states == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if st := &r.states[step.Index]; r.order.Status(step.Index) == order.Skipped {
		return r.say("the step %s was skipped: %s; give a default, or ask whether it is defined", first, wording.Of(st.reason))
	}
	return ""
}

// say returns a message in the language of the flow.
func (r *run) say(format string, args ...any) string {
	return wording.Say(format, args...).In(r.vars.Language)
}

// recoverPanic makes an error of a panic, deferred. The stack goes to the log only.
func (r *run) recoverPanic(err *error, where string) {
	p := recover()
	if p == nil {
		return
	}
	r.env.Log.Error("a panic", "run", r.vars.Run.ID, "where", where,
		"panic", r.secrets.maskText(fmt.Sprint(p)), "stack", string(debug.Stack()))
	*err = calls.Errorf(calls.Internal, "panic: %v", p).
		WithHint("this is a fault of the program, not of the flow; the log has the stack")
}

// recordingError returns why the run cannot continue. failure is its own failure besides.
func (r *run) recordingError(err error, failure *Failure) *JournalError {
	broken := &JournalError{Run: r.vars.Run.ID, Err: calls.Errorf(calls.Internal, "recording the run: %w", err)}
	if failure != nil && !errors.Is(failure, err) {
		broken.Failure = failure
	}
	return broken
}
