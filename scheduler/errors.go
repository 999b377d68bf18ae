package scheduler

import (
	"context"
	"errors"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Failure is why a run failed or was cancelled. The engine makes it at the end of the run; it
// does not change afterwards.
type Failure struct {
	// Info is the error as flow.failed carries it, secrets masked.
	Info journal.ErrorInfo
	// Err is the error itself; its text may hold secrets.
	Err error
}

// Error is file:line:col: step ID: message (hint).
func (f *Failure) Error() string { return f.In("en") }

// In is [Failure.Error] in a language; the message and the hint are in the run's language.
func (f *Failure) In(language string) string {
	var b strings.Builder
	if f.Info.Position != "" {
		b.WriteString(f.Info.Position + ": ")
	}
	if f.Info.Step != "" {
		b.WriteString(wording.Say("step %s", f.Info.Step).In(language) + ": ")
	}
	b.WriteString(f.Info.Message)
	if f.Info.Hint == "" {
		return b.String()
	}
	before, after := " (", ")"
	if wording.IsChinese(language) {
		before, after = "（", "）"
	}
	return b.String() + before + f.Info.Hint + after
}

// Unwrap returns the error of the call.
func (f *Failure) Unwrap() error { return f.Err }

// JournalError ends the events of a run whose journal cannot be written or read. It does not mean a fault of the
// flow: once the journal works again, [StepExecutor.Resume] continues after the last event in it. The engine makes
// it; it does not change afterwards.
type JournalError struct {
	Run string
	Err error
	// Failure is the failure of the run, which the journal does not have either; nil if it had not failed.
	Failure *Failure
}

// Error returns the error of the journal, and the run's error below it.
func (e *JournalError) Error() string { return e.In("en") }

// In returns them in a language.
func (e *JournalError) In(language string) string {
	if e.Failure == nil {
		return wording.OfError(e.Err).In(language)
	}
	return wording.Say("%v\nand before that the run failed: %v", e.Err, e.Failure).In(language)
}

// Unwrap returns the error of the journal.
func (e *JournalError) Unwrap() error { return e.Err }

// journalError returns an error of the journal as a [*JournalError], unless the journal works and refuses the
// request: another process holds the run, the run does not exist, or it exists already. For example, a full disk
// gives a [*JournalError].
func journalError(run, doing string, err error) error {
	var held *journal.HeldError
	kind := calls.KindOf(err)
	refused := kind == calls.NotFound || kind == calls.Invalid || kind == calls.Canceled
	if err == nil || refused || errors.As(err, &held) {
		return err
	}
	return &JournalError{Run: run, Err: calls.Errorf(calls.Internal, "%s: %w", wording.Of(doing), err)}
}

// ErrHandOver as the cause of a context's end releases a run without ending it: its steps are told to stop,
// finished ones are recorded, the others run again when another process resumes the run. There is no event of it;
// it is the error that the events end with.
var ErrHandOver error = calls.Errorf(calls.Canceled, "the run was handed over").
	WithHint("resume it to go on")

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
