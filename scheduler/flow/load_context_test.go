package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
)

// countedContext is over once it was asked so many times. It notes how often it was asked, and how often of these it was over.
type countedContext struct {
	context.Context
	until, asked, over int
}

func (c *countedContext) Err() error {
	c.asked++
	if c.asked <= c.until {
		return nil
	}
	c.over++
	return errLeft
}

func (c *countedContext) Value(any) any { return nil }

var errLeft = errors.New("the client has left")

// A client that leaves ends the check of its text wherever that is: nothing is returned of it, and hardly anything is done afterwards.
func TestParseContextEnds(t *testing.T) {
	var steps, triggers strings.Builder
	for i := range 40 {
		fmt.Fprintf(&steps, "  - {id: s%d, call: chat, with: {user: '{{ s%d.text if s%d is defined }} {{ inputs.x }} {{ nobody }}'}}\n", i, max(0, i-1), max(0, i-1))
		fmt.Fprintf(&triggers, "    - {id: w%d, verify: none, inputs: {x: '{{ webhook.body.text }}'}}\n", i)
	}
	text := "inputs: {type: object, properties: {x: {type: string}}}\ntriggers:\n  webhooks:\n" + triggers.String() +
		"steps:\n" + steps.String() + "  - {id: sub, call: flow, with: {path: sub.yaml}}\n"
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	loader := &flow.Loader{Registry: registry, ReadFile: func(string) ([]byte, error) {
		read++
		return []byte("steps:\n" + steps.String()), nil
	}}
	whole := &countedContext{Context: t.Context(), until: 1 << 30}
	_, problems, err := loader.ParseContext(whole, "f.yaml", []byte(text))
	if err != nil || len(problems) == 0 || read != 1 {
		t.Fatalf("%d problems, %d files, %v", len(problems), read, err)
	}
	if whole.asked < 400 {
		t.Fatalf("the context was asked %d times", whole.asked)
	}
	for until := 0; until < whole.asked; until += whole.asked / 60 {
		left := &countedContext{Context: t.Context(), until: until}
		f, problems, err := loader.ParseContext(left, "f.yaml", []byte(text))
		if f != nil || problems != nil || !errors.Is(err, errLeft) {
			t.Fatalf("after %d: %v, %d problems, %v", until, f, len(problems), err)
		}
		if left.over > 20 {
			t.Fatalf("after %d: asked %d times more", until, left.over)
		}
	}
	f, problems, err := loader.LoadContext(&countedContext{Context: t.Context(), until: 10}, "f.yaml")
	if f != nil || problems != nil || !errors.Is(err, errLeft) {
		t.Fatalf("a file: %v, %d problems, %v", f, len(problems), err)
	}
	read = 0
	_, _, err = loader.ParseContext(&countedContext{Context: t.Context()}, "f.yaml", []byte(text))
	if read != 0 || !errors.Is(err, errLeft) {
		t.Fatalf("%d files are read, %v", read, err)
	}
}
