package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// CanAsk reports whether a person sits there: stdin and stderr are terminals.
func (t *Terminal) CanAsk() bool {
	in, ok := t.Stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && IsTerminal(t.Stderr)
}

// Lines returns the lines that a person types, until the input ends. They are
// read on a goroutine, so that no caller has to wait for one, and by one reader, so that none
// is lost between two questions.
func (t *Terminal) Lines() <-chan string {
	if t.lines == nil {
		t.lines = make(chan string)
		go func(in *bufio.Reader) {
			defer close(t.lines)
			for {
				line, err := in.ReadString('\n')
				if line != "" {
					t.lines <- line
				}
				if err != nil {
					return
				}
			}
		}(bufio.NewReader(t.Stdin))
	}
	return t.lines
}

// ErrNoAnswer is that the input has ended before an answer.
var ErrNoAnswer = wording.Errorf("no answer")

// ErrSaid means that the run continues with the answers so far before it asks for more: it reads the last one,
// which is in words, or now knows the kind of a union.
var ErrSaid = wording.Errorf("the run reads the answer")

// ErrCancelled means that the person has cancelled the run.
var ErrCancelled = wording.Errorf("the run is cancelled")

// Asker asks a person the questions of waiting steps. A subcommand makes one each time a run waits; it is not safe
// for concurrent use.
type Asker struct {
	Lines <-chan string
	Out   io.Writer
	// Language is the language of the questions.
	Language Language
	// Words has the texts of the questions.
	Words service.Words
	// Record keeps an answer, which has the typed message, in its final form: as a value, or as the message if the
	// run is to read it. The error is of kind Invalid if the message does not answer the question.
	Record  func(ctx context.Context, answer scheduler.Answer) (scheduler.Answer, error)
	Waiting []journal.WaitingFor
	// Answers has the answers typed so far.
	Answers []scheduler.Answer
}

// Ask asks for everything that waits, field by field, until each answer fits. The error says why it ended early:
// ErrNoAnswer, ErrSaid, ErrCancelled, ctx's error, or the reason why an answer could not be recorded. q.Answers
// has the answers typed until then.
func (q *Asker) Ask(ctx context.Context) error {
	for _, w := range q.Waiting {
		properties, _ := w.RemainingSchema.Get("properties")
		if w.Step == "" {
			fmt.Fprintln(q.Out, q.Language.Say("the flow needs (Ctrl-D to leave):"))
		} else {
			fmt.Fprintf(q.Out, "\n%s\n", q.Language.Say("the run asks (Ctrl-D leaves it for later):"))
		}
		for pointer, property := range properties.Map().All() {
			isLater := pointer == "" && w.Step != "" && properties.Map().Len() > 1
			if isLater {
				continue // the run asks for one of several members when it already has the required ones
			}
			f := field{step: w.Step, pointer: pointer, schema: property, of: w, language: q.Language, words: q.Words}
			f.optional = !requiresProperty(w.RemainingSchema, pointer)
			if err := q.askField(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxNested limits the depth to which objects are asked for member by member.
const maxNested = 6

// askField asks for one value; for an object that names its members, for each of
// them.
func (q *Asker) askField(ctx context.Context, f field) error {
	f.schema = schema.Resolve(f.schema, f.of.RemainingSchema)
	if len(f.of.Place(f.pointer).Either) > 0 {
		f.schema = value.OfMap(nil) // the question names the members, one of which is enough
		return q.askValue(ctx, f)
	}
	if kind, ok := f.of.KindPlace(f.pointer); ok && f.step != "" { // the run asks for the other members when it knows the kind
		f.whole, f.pointer, f.schema = f.pointer, kind.Pointer, kind.Schema
		f.ofKind = true
		if err := q.askValue(ctx, f); err != nil {
			return err
		}
		return ErrSaid // the members of this kind come before the fields after it
	}
	members, _ := f.schema.Get("properties")
	if _, chosen := f.schema.Get("enum"); chosen || members.Map().Len() == 0 || strings.Count(f.pointer, "/") > maxNested {
		return q.askValue(ctx, f)
	}
	fmt.Fprintf(q.Out, "  %s%s\n", Visible(f.words.Label(f.of, f.pointer)), descriptionText(f.schema))
	before := len(q.Answers)
	for _, optional := range []bool{false, true} {
		for name, member := range members.Map().All() {
			if requiresProperty(f.schema, name) == optional {
				continue
			}
			m := field{step: f.step, pointer: f.pointer + "/" + value.Escape(name), schema: member, of: f.of, language: q.Language, words: q.Words, optional: optional || f.optional}
			if err := q.askField(ctx, m); err != nil {
				return err
			}
		}
	}
	if len(q.Answers) > before || f.optional {
		return nil
	}
	err := q.recordAnswer(ctx, scheduler.Answer{Step: f.step, Pointer: f.pointer, Value: value.OfMap(nil)}) // every member was left out
	if calls.KindOf(err) == calls.Invalid {
		return q.askValue(ctx, f)
	}
	return err
}

// recordAnswer records the answer to a field.
func (q *Asker) recordAnswer(ctx context.Context, typed scheduler.Answer) error {
	answer, err := q.Record(ctx, typed)
	if err != nil {
		return err
	}
	if answer.Message != "" {
		return ErrSaid
	}
	q.Answers = append(q.Answers, answer)
	return nil
}

// askValue asks for one value until there is one that fits.
func (q *Asker) askValue(ctx context.Context, f field) error {
	fmt.Fprint(q.Out, f.questionText())
	for misses := 1; ; misses++ {
		fmt.Fprint(q.Out, "  > ")
		var line string
		var more bool
		select {
		case line, more = <-q.Lines:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || !more {
			fmt.Fprintln(q.Out)
			return errors.Join(ctx.Err(), ErrNoAnswer)
		}
		line = strings.TrimSpace(line)
		if f.words.IsCancel(f.of, f.pointer, line) {
			return ErrCancelled
		}
		typed, err := f.readAnswer(line)
		if errors.Is(err, scheduler.ErrLeftOut) {
			return nil
		}
		if err == nil {
			err = q.recordAnswer(ctx, typed)
		}
		if calls.KindOf(err) != calls.Invalid {
			return err
		}
		fmt.Fprintf(q.Out, "  %s\n", Visible(f.words.QuestionAfter(f.of, f.pointer, line, misses)))
	}
}
