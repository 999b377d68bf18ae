package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
)

// canAsk says whether a person sits there: stdin and stderr are terminals.
func (a *app) canAsk() bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && isTerminal(a.stderr)
}

// errNoAnswer says that the person ended the input.
var errNoAnswer = errors.New("no answer")

// ask asks a person for everything that waits, field by field, until each answer
// fits its schema.
func (a *app) ask(waiting []scheduler.WaitingFor) ([]scheduler.Answer, error) {
	in := bufio.NewReader(a.stdin)
	var answers []scheduler.Answer
	for _, w := range waiting {
		properties, _ := w.RemainingSchema.Get("properties")
		fmt.Fprintf(a.stderr, "\nstep %s needs:\n", w.Step)
		for pointer, property := range properties.Map().All() {
			answer, err := a.askOne(in, w, pointer, property, waiting)
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer)
		}
	}
	return answers, nil
}

// askOne asks for one field. An empty line takes the default.
func (a *app) askOne(in *bufio.Reader, w scheduler.WaitingFor, pointer string, property value.Value, waiting []scheduler.WaitingFor) (scheduler.Answer, error) {
	choices, _ := property.Get("enum")
	fmt.Fprint(a.stderr, question(pointer, property))
	for i, choice := range choices.List() {
		fmt.Fprintf(a.stderr, "    %d) %s\n", i+1, display(choice))
	}
	for {
		fmt.Fprint(a.stderr, "  > ")
		line, err := in.ReadString('\n')
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			fmt.Fprintln(a.stderr)
			return scheduler.Answer{}, errNoAnswer
		}
		line = strings.TrimRight(line, "\r\n")
		if def, ok := property.Get("default"); ok && line == "" {
			return scheduler.Answer{Step: w.Step, Pointer: pointer, Value: def}, nil
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(choices.List()) {
			return scheduler.Answer{Step: w.Step, Pointer: pointer, Value: choices.List()[n-1]}, nil
		}
		answer, err := scheduler.ParseAnswer(w.Step+":"+pointer+"="+line, waiting)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintf(a.stderr, "  %v\n", err)
		if hint := calls.HintOf(err); hint != "" {
			fmt.Fprintf(a.stderr, "  (%s)\n", hint)
		}
	}
}

// question is the line that asks for a field: its name, type, description and
// default.
func question(pointer string, property value.Value) string {
	name := strings.TrimPrefix(pointer, "/")
	if name == "" {
		name = "the whole value"
	}
	s := fmt.Sprintf("  %s (%s)", name, typeOf(property))
	if text, ok := property.Get("description"); ok {
		doc, _ := text.Str()
		s += ": " + doc
	}
	if def, ok := property.Get("default"); ok {
		s += fmt.Sprintf(" [%s]", display(def))
	}
	return s + "\n"
}

// display is a value as people write it: text without quotes.
func display(v value.Value) string {
	if text, ok := v.Str(); ok {
		return text
	}
	return v.JSON()
}
