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
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Failure is why a run failed or was cancelled.
type Failure struct {
	// Info is the error as flow.failed carries it, secrets masked.
	Info journal.ErrorInfo
	// Err is the error itself; its text may hold secrets.
	Err error
}

// Error is file:line:col: step ID: message (hint).
func (f *Failure) Error() string {
	var b strings.Builder
	if f.Info.Position != "" {
		b.WriteString(f.Info.Position + ": ")
	}
	if f.Info.Step != "" {
		b.WriteString("step " + f.Info.Step + ": ")
	}
	b.WriteString(f.Info.Message)
	if f.Info.Hint != "" {
		b.WriteString(" (" + f.Info.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the error of the call.
func (f *Failure) Unwrap() error { return f.Err }

// JournalError ends the events of a run whose journal cannot be written or read. Nothing
// is known to be wrong with the flow: once the journal works again,
// [StepExecutor.Resume] goes on after the last event that it has.
type JournalError struct {
	Run string
	Err error
	// Failure is what the run had failed with, which the journal does not have either;
	// nil where it had not.
	Failure *Failure
}

// Error returns the error of the journal, and that of the run below it.
func (e *JournalError) Error() string {
	if e.Failure == nil {
		return e.Err.Error()
	}
	return e.Err.Error() + "\nand before that the run failed: " + e.Failure.Error()
}

// Unwrap returns the error of the journal.
func (e *JournalError) Unwrap() error { return e.Err }

// journalError returns an error of the journal as a [*JournalError], unless the journal
// works and refuses what it was asked: another process holds the run, there is no such
// run, or there is one already.
func journalError(run, doing string, err error) error {
	var held *journal.HeldError
	kind := calls.KindOf(err)
	refused := kind == calls.NotFound || kind == calls.Invalid || kind == calls.Canceled
	if err == nil || refused || errors.As(err, &held) {
		return err
	}
	return &JournalError{Run: run, Err: calls.Errorf(calls.Internal, "%s: %w", doing, err)}
}

// ErrHandOver as the cause of a context's end lets go of a run without ending it: its
// steps are told to stop, what has finished is recorded, the others run again when
// another process resumes the run. No event tells of it; it is the error that the
// events end with.
var ErrHandOver error = calls.Errorf(calls.Canceled, "the run was handed over").
	WithHint("resume it to go on")

// isHandingOver reports whether the steps stop because another process goes on with
// the run.
func (r *run) isHandingOver() bool {
	return r.ctx.Err() != nil && errors.Is(context.Cause(r.ctx), ErrHandOver)
}

// failureOf turns any error into a Failure. pos is where it stands unless the
// error knows better: a template knows its own place, a sub-flow its own step.
func (r *run) failureOf(err error, pos flow.Position) *Failure {
	info := journal.ErrorInfo{Kind: calls.KindOf(err), Message: err.Error(), Hint: calls.HintOf(err)}
	if pos.Line > 0 {
		info.Position = pos.String()
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
		info.Position = placed.Pos.String()
	}
	var t *prompt.Error
	if errors.As(err, &t) {
		r.explainTemplateError(&info, t, err)
	}
	info.Message, info.Hint = r.secrets.maskText(info.Message), r.secrets.maskText(info.Hint)
	return &Failure{Info: info, Err: err}
}

// explainTemplateError says of a template's error where it is, what sort it is, and why a name
// may be unknown.
func (r *run) explainTemplateError(info *journal.ErrorInfo, t *prompt.Error, err error) {
	if t.File == r.flow.File && t.File != "" {
		info.Position = flow.Position{File: t.File, Line: t.Line, Col: t.Col}.String()
		info.Message = t.Msg
	}
	var known *calls.Error
	if info.Kind == calls.Internal && !errors.As(err, &known) {
		info.Kind = calls.Invalid
	}
	if info.Hint == "" {
		info.Hint = t.Hint
	}
	if t.Class == prompt.Undefined && t.File != "" { // the names of a call's own template are not the flow's
		if hint := r.hintFor(t.Name); hint != "" {
			info.Hint = hint
		}
	}
}

// hintFor returns why the dotted name is undefined; "" where there is nothing to
// add.
func (r *run) hintFor(name string) string {
	first, rest, _ := strings.Cut(name, ".")
	switch first {
	case "secrets":
		return fmt.Sprintf("allow the secret %s in the settings (secrets), and set the environment variable of that name", rest)
	case "vars":
		return fmt.Sprintf("no resolver gave a value to %s", rest)
	}
	step, ok := r.flow.Step(first)
	if !ok || r.states == nil {
		return ""
	}
	r.stream.Lock()
	defer r.stream.Unlock()
	if st := &r.states[step.Index]; r.order.Status(step.Index) == order.Skipped {
		return fmt.Sprintf("the step %s was skipped: %s; give a default, or ask whether it is defined", first, st.reason)
	}
	return ""
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

// cancellationError returns why ctx ended, as an error of kind Canceled.
func cancellationError(ctx context.Context) error {
	cause := context.Cause(ctx)
	var own *calls.Error
	if cause == nil || errors.Is(cause, context.Canceled) {
		return calls.Errorf(calls.Canceled, "the run was cancelled")
	}
	if errors.As(cause, &own) && own.Kind == calls.Canceled { // it says so itself
		return cause
	}
	return calls.Errorf(calls.Canceled, "the run was cancelled: %w", cause)
}
