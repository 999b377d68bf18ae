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
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
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

// Asker asks a person for what steps wait for. A subcommand makes one each time a run waits;
// it is not safe for concurrent use.
type Asker struct {
	Lines <-chan string
	Out   io.Writer
	// Language is that of the questions.
	Language Language
	// Record keeps an answer as it is understood, or returns an error of kind Invalid that
	// tells what is wrong with it.
	Record  func(ctx context.Context, answer scheduler.Answer) (scheduler.Answer, error)
	Waiting []journal.WaitingFor
	// Answers are those that were typed so far.
	Answers []scheduler.Answer
}

// Ask asks for everything that waits, field by field, until each answer fits. The
// error is why it ended before: ErrNoAnswer, that of ctx, or why an answer could not
// be recorded. What was typed until then is in q.Answers.
func (q *Asker) Ask(ctx context.Context) error {
	for _, w := range q.Waiting {
		properties, _ := w.RemainingSchema.Get("properties")
		if w.Step == "" {
			fmt.Fprintln(q.Out, q.Language.Say("the flow needs (Ctrl-D to leave):"))
		} else {
			fmt.Fprintf(q.Out, "\n%s\n%s", q.Language.Say("step %s needs (Ctrl-D leaves the rest for later):", w.Step), reasonLines(w, q.Language))
		}
		for pointer, property := range properties.Map().All() {
			f := field{step: w.Step, pointer: pointer, schema: property, flat: w.RemainingSchema, language: q.Language}
			f.optional = !requiresProperty(w.RemainingSchema, pointer)
			if err := q.askField(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxNested bounds how deep objects are asked for member by member.
const maxNested = 6

// askField asks for one value; for an object that names its members, for each of
// them.
func (q *Asker) askField(ctx context.Context, f field) error {
	f.schema = resolveRef(f.schema, f.flat)
	members, _ := f.schema.Get("properties")
	if _, chosen := f.schema.Get("enum"); chosen || members.Map().Len() == 0 || strings.Count(f.pointer, "/") > maxNested {
		return q.askValue(ctx, f)
	}
	fmt.Fprintf(q.Out, "  %s%s\n", q.Language.Say("%s, an object", f.displayName()), descriptionText(f.schema))
	before := len(q.Answers)
	for _, optional := range []bool{false, true} {
		for name, member := range members.Map().All() {
			if requiresProperty(f.schema, name) == optional {
				continue
			}
			m := field{step: f.step, pointer: f.pointer + "/" + value.Escape(name), schema: member, flat: f.flat, language: q.Language, optional: optional || f.optional}
			if err := q.askField(ctx, m); err != nil {
				return err
			}
		}
	}
	if len(q.Answers) > before || f.optional {
		return nil
	}
	err := q.recordAnswer(ctx, f, value.OfMap(nil)) // every member was left out
	if calls.KindOf(err) == calls.Invalid {
		q.printError(err)
		return q.askValue(ctx, f)
	}
	return err
}

// recordAnswer records the answer to a field.
func (q *Asker) recordAnswer(ctx context.Context, f field, v value.Value) error {
	answer, err := q.Record(ctx, scheduler.Answer{Step: f.step, Pointer: f.pointer, Value: v})
	if err == nil {
		q.Answers = append(q.Answers, answer)
	}
	return err
}

func (q *Asker) printError(err error) {
	fmt.Fprintf(q.Out, "  %s\n", q.Language.sayOf(err))
	if hint := calls.HintIn(err, string(q.Language)); hint != "" {
		fmt.Fprintf(q.Out, "  (%s)\n", hint)
	}
}

// askValue asks for one value until there is one that fits.
func (q *Asker) askValue(ctx context.Context, f field) error {
	fmt.Fprint(q.Out, f.questionText())
	for {
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
		v, err := f.readAnswer(strings.TrimSpace(line), q.Waiting)
		if errors.Is(err, errLeftOut) {
			return nil
		}
		if err == nil {
			err = q.recordAnswer(ctx, f, v)
			if err == nil || calls.KindOf(err) != calls.Invalid {
				return err
			}
		}
		q.printError(err)
	}
}
