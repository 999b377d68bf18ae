package main

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
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// canAsk says whether a person sits there: stdin and stderr are terminals.
func (a *app) canAsk() bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && isTerminal(a.stderr)
}

// typedLines gives the lines that a person types, until the input ends. They are
// read beside, so that nobody has to wait for one, and by one reader, so that none
// is lost between two questions.
func (a *app) typedLines() <-chan string {
	if a.lines == nil {
		a.lines = make(chan string)
		go func(in *bufio.Reader) {
			defer close(a.lines)
			for {
				line, err := in.ReadString('\n')
				if line != "" {
					a.lines <- line
				}
				if err != nil {
					return
				}
			}
		}(bufio.NewReader(a.stdin))
	}
	return a.lines
}

// Why a person gave no more answers: the input has ended, or a question takes none.
var (
	errNoAnswer = errors.New("no answer")
	errLeftOut  = errors.New("left out")
)

// asker asks a person for what steps wait for.
type asker struct {
	lines <-chan string
	out   io.Writer
	// record keeps an answer as it is understood, or says in an error of kind Invalid what
	// is wrong with it.
	record  func(ctx context.Context, answer scheduler.Answer) (scheduler.Answer, error)
	waiting []journal.WaitingFor
	// answers are those that were typed so far.
	answers []scheduler.Answer
}

// ask asks for everything that waits, field by field, until each answer fits. The
// error says why it ended before: errNoAnswer, that of ctx, or why an answer could not
// be recorded. What was typed until then is in q.answers.
func (q *asker) ask(ctx context.Context) error {
	for _, w := range q.waiting {
		properties, _ := w.RemainingSchema.Get("properties")
		fmt.Fprintf(q.out, "\nstep %s needs (Ctrl-D leaves the rest for later):\n%s", w.Step, reasons(w))
		for pointer, property := range properties.Map().All() {
			f := field{step: w.Step, pointer: pointer, schema: property, flat: w.RemainingSchema}
			f.optional = !names(w.RemainingSchema, pointer)
			if err := q.field(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxNested bounds how deep objects are asked for member by member.
const maxNested = 6

// field asks for one value; for an object that names its members, for each of
// them.
func (q *asker) field(ctx context.Context, f field) error {
	f.schema = resolved(f.schema, f.flat)
	members, _ := f.schema.Get("properties")
	if _, chosen := f.schema.Get("enum"); chosen || members.Map().Len() == 0 || strings.Count(f.pointer, "/") > maxNested {
		return q.value(ctx, f)
	}
	fmt.Fprintf(q.out, "  %s, an object%s\n", f.name(), description(f.schema))
	before := len(q.answers)
	for _, optional := range []bool{false, true} {
		for name, member := range members.Map().All() {
			if names(f.schema, name) == optional {
				continue
			}
			m := field{step: f.step, pointer: f.pointer + "/" + value.Escape(name), schema: member, flat: f.flat, optional: optional || f.optional}
			if err := q.field(ctx, m); err != nil {
				return err
			}
		}
	}
	if len(q.answers) > before || f.optional {
		return nil
	}
	err := q.take(ctx, f, value.OfMap(nil)) // every member was left out
	if calls.KindOf(err) == calls.Invalid {
		q.complain(err)
		return q.value(ctx, f)
	}
	return err
}

// take records the answer to a field.
func (q *asker) take(ctx context.Context, f field, v value.Value) error {
	answer, err := q.record(ctx, scheduler.Answer{Step: f.step, Pointer: f.pointer, Value: v})
	if err == nil {
		q.answers = append(q.answers, answer)
	}
	return err
}

func (q *asker) complain(err error) {
	fmt.Fprintf(q.out, "  %v\n", err)
	if hint := calls.HintOf(err); hint != "" {
		fmt.Fprintf(q.out, "  (%s)\n", hint)
	}
}

// value asks for one value until there is one that fits.
func (q *asker) value(ctx context.Context, f field) error {
	fmt.Fprint(q.out, f.question())
	for {
		fmt.Fprint(q.out, "  > ")
		var line string
		var more bool
		select {
		case line, more = <-q.lines:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || !more {
			fmt.Fprintln(q.out)
			return errors.Join(ctx.Err(), errNoAnswer)
		}
		v, err := f.read(strings.TrimSpace(line), q.waiting)
		if errors.Is(err, errLeftOut) {
			return nil
		}
		if err == nil {
			if err = q.take(ctx, f, v); err == nil || calls.KindOf(err) != calls.Invalid {
				return err
			}
		}
		q.complain(err)
	}
}
