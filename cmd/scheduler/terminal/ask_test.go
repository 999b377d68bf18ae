package terminal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// wanting is a step that waits for the members of the flat schema.
func wanting(t *testing.T, step, schema string) journal.WaitingFor {
	t.Helper()
	v, err := yaml.ParseValue([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return journal.WaitingFor{Step: step, RemainingSchema: v}
}

var words = service.New(service.Parts{CancelWords: []string{"cancel"}}).Words("en")

// asked types lines, and returns the answers, the screen and the error.
func asked(t *testing.T, typed string, waiting ...journal.WaitingFor) (answers []string, screen string, err error) {
	t.Helper()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for line := range strings.Lines(typed) {
			lines <- line
		}
	}()
	var out strings.Builder
	q := &Asker{Lines: lines, Out: &out, Waiting: waiting, Words: words}
	q.Record = func(_ context.Context, a scheduler.Answer) (scheduler.Answer, error) {
		if a.Message != "" {
			read, err := scheduler.ReadAnswer(a, waiting)
			if err != nil {
				return a, err
			}
			a = read
		}
		return a, scheduler.CheckAnswers(append(slices.Clip(q.Answers), a), waiting)
	}
	err = q.Ask(t.Context())
	for range lines { // drain the rest
	}
	for _, a := range q.Answers {
		answers = append(answers, a.Step+":"+a.Pointer+"="+a.Value.JSON())
	}
	return answers, out.String(), err
}

// TestAskTellsWaysOut: a question that the run repeats after reading messages also names the ways out.
func TestAskTellsWaysOut(t *testing.T) {
	w := wanting(t, "a", "{required: [/name], properties: {/name: {type: string}}}")
	w.Unread, w.Misses = true, 2
	_, screen, _ := asked(t, "Lin\n", w)
	if want := `What is it? You can answer like this: "name: ...". To stop, write "cancel".`; !strings.Contains(screen, want) {
		t.Errorf("%q is not on the screen:\n%s", want, screen)
	}
}

func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		schema, typed string
		want          []string
		shown         []string
	}{
		"numbers as choices mean themselves": {
			"{required: [/n], properties: {/n: {enum: [10, 2, 1]}}}", "3\n1\n", []string{"a:/n=1"}, []string{"Which n is it: 10 or 2 or 1?", "    - 10", "I could not find a n in that."},
		},
		"choices by number, word and case": {
			"{required: [/a, /b, /c], properties: {/a: {enum: [red, Blue]}, /b: {enum: [red, Blue]}, /c: {enum: [red, Blue]}}}",
			"2\nblue\nrod\nred\n", []string{`a:/a="Blue"`, `a:/b="Blue"`, `a:/c="red"`}, []string{"1) red", "in that. Is it red or Blue?"},
		},
		"a choice that is listed twice is one": {
			"{required: [/a], properties: {/a: {enum: [red, Blue, red]}}}", "2\n", []string{`a:/a="Blue"`}, []string{"Which a is it: red or Blue?", "    1) red\n    2) Blue\n"},
		},
		"one of two members is enough": {
			`{required: [""], properties: {"": {properties: {name: {type: string}, email: {type: string, format: email}, phone: {type: string}}, anyOf: [{required: [email]}, {required: [phone]}]}}}`,
			"me@x.org\n", []string{`a:/email="me@x.org"`}, []string{"What is the email or phone?"},
		},
		"members that are needed anyway come first": {
			`{required: ["", /name], properties: {"": {required: [name], properties: {name: {type: string}}, anyOf: [{required: [email]}, {required: [phone]}]}, /name: {type: string}}}`,
			"Lin\nme@x.org\n", []string{`a:/name="Lin"`}, []string{"What is the name?"},
		},
		"the kind of a union": {
			"{required: [/shape], properties: {/shape: {oneOf: [{required: [kind, w], properties: {kind: {const: rect}}}, {title: A circle, required: [kind, r], properties: {kind: {const: circle}}}]}}}",
			"square\nA circle\n", []string{`a:/shape/kind="circle"`}, []string{"Which kind is it: rect or A circle?", "I could not find a kind in that."},
		},
		"fields after a union wait for its members": {
			"{required: [/shape, /z], properties: {/shape: {oneOf: [{required: [kind, w], properties: {kind: {const: rect}}}, {required: [kind, r], properties: {kind: {const: circle}}}]}, /z: {type: string}}}",
			"circle\nnot asked\n", []string{`a:/shape/kind="circle"`}, []string{"Which kind is it"},
		},
		"the whole of a union as JSON": {
			"{required: [/shape], properties: {/shape: {oneOf: [{required: [kind, w], properties: {kind: {const: rect}}}, {required: [kind, r], properties: {kind: {const: circle}}}]}}}",
			`{"kind": "rect", "w": 3}` + "\n", []string{`a:/shape={"kind":"rect","w":3}`}, nil,
		},
		"yes and no": {
			"{required: [/a, /b, /c, /d], properties: {/a: {type: boolean}, /b: {type: boolean}, /c: {type: boolean}, /d: {type: boolean}}}",
			"y\n否\nYES\nperhaps\nfalse\n", []string{"a:/a=true", "a:/b=false", "a:/c=true", "a:/d=false"}, []string{"A: yes or no?", "I could not find a yes or a no in that."},
		},
		"nothing is no answer, but for a default, a schema that takes it, or where it may be left out": {
			"{required: [/a, /b, /c], properties: {/a: {type: string}, /b: {type: integer, default: 3}, /c: {type: string, minLength: 0}, /d: {type: string}}}",
			"\n  \n\"\"\nx\n\n\n\n", []string{`a:/a="x"`, "a:/b=3", `a:/c=""`}, []string{"I could not find an a in that", "[3]", "[Enter leaves it out]"},
		},
		"a union tells its branches": {
			`{required: [/a, /b, /c], definitions: {p: {type: object, required: [x, y], properties: {x: {const: 1}}}}, properties: {
			  /a: {oneOf: [{$ref: "#/definitions/p"}, {type: object, required: [z], properties: {z: {enum: [2]}}}]}, /b: {anyOf: [{type: integer}, {enum: [all]}, {type: integer}]}, /c: {const: big}}}`,
			"{\"x\": 2}\n{\"z\": 2}\nall\nbig\n", []string{`a:/a={"z":2}`, `a:/b="all"`, `a:/c="big"`},
			[]string{"What is the a?\n    as JSON: {...}\n", "What is the b (a number or all)?", "What is the c?"},
		},
		"limits are told": {
			`{required: [/a, /b, /c, /d], properties: {
			  /a: {type: integer, minimum: 1, maximum: 7, description: How many}, /b: {type: string, pattern: "^[A-Z]", minLength: 2},
			  /c: {type: array, minItems: 1, uniqueItems: true, items: {type: integer, exclusiveMinimum: 0}},
			  /d: {type: string, format: date, pattern: "^[0-9-]+$"}}}`,
			"9\n3\nxx\nXX\n1，0\n1, 2\ntomorrow\n", []string{"a:/a=3", `a:/b="XX"`, "a:/c=[1,2]", `a:/d="tomorrow"`},
			[]string{
				"What is the a (from 1 to 7)?", "It can be at most 7. What is the a (from 1 to 7)?", "What is the d (a date, such as 2026-05-01)?",
				"with commas between",
			},
		},
		"lists": {
			`{required: [/a, /b, /c, /d], properties: {
			  /a: {type: array, items: {type: string}}, /b: {type: array, items: {enum: [red, blue]}}, /c: {type: array, items: {type: boolean}},
			  /d: {type: array, items: {type: object}}}}`,
			"1、two\nBLUE, red\ny,n\nx\n[{\"k\": 1}]\n",
			[]string{`a:/a=["1","two"]`, `a:/b=["blue","red"]`, "a:/c=[true,false]", `a:/d=[{"k":1}]`}, []string{"as JSON: [{...}, {...}]"},
		},
		"objects are asked for by their members": {
			`{required: [/at, /free, /all], definitions: {place: {type: object, required: [zip], properties: {city: {type: string}, zip: {type: integer}}}}, properties: {
			  /at: {$ref: "#/definitions/place"}, /free: {type: object}, /all: {type: object, properties: {x: {type: string}}}}}`,
			"7\n\n{\"k\": 1}\n\n", []string{"a:/at/zip=7", `a:/free={"k":1}`, "a:/all={}"}, []string{"  At\n", "What is the zip (a number)?", `written like "name: value"`},
		},
		"the ways out from the second miss on": {
			"{required: [/n, /m], properties: {/n: {type: integer}, /m: {type: integer}}}", "many\nlots\n3\nfew\n4\n", []string{"a:/n=3", "a:/m=4"},
			[]string{
				"I could not find a n (a number) in that. What is it?\n", "I could not find a n (a number) in that. What is it? To stop, write \"cancel\".\n",
				"I could not find a m (a number) in that. What is it?\n",
			},
		},
		"the whole value": {`{required: [""], properties: {"": {type: integer}}}`, "5\n", []string{"a:=5"}, []string{"What is it (a number)?"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, screen, err := asked(t, c.typed, wanting(t, "a", c.schema))
			if err != nil && !errors.Is(err, ErrSaid) {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			for _, text := range c.shown {
				if !strings.Contains(screen, text) {
					t.Errorf("%q is not on the screen:\n%s", text, screen)
				}
			}
		})
	}
}

// Answers typed before the input ended are kept.
func TestAskIsLeft(t *testing.T) {
	a := wanting(t, "a", "{required: [/x, /y], properties: {/x: {type: string}, /y: {type: string}}}")
	got, _, err := asked(t, "one\n", a)
	if diff := cmp.Diff([]string{`a:/x="one"`}, got); diff != "" || !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v, %s", err, diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	lines := make(chan string, 1)
	lines <- "one\n"
	q := &Asker{Lines: lines, Out: &out, Waiting: []journal.WaitingFor{a}, Words: words, Record: func(_ context.Context, a scheduler.Answer) (scheduler.Answer, error) {
		cancel() // as Ctrl-C does
		a.Message = ""
		return a, nil
	}}
	if err := q.Ask(ctx); !errors.Is(err, context.Canceled) || len(q.Answers) != 1 {
		t.Errorf("got %v, %v", q.Answers, err)
	}
	lines <- "one\n"
	held := &journal.HeldError{Run: "r"} // another process continues the run
	q.Record = func(_ context.Context, a scheduler.Answer) (scheduler.Answer, error) { return a, held }
	if err := q.Ask(t.Context()); !errors.Is(err, held) {
		t.Errorf("got %v", err)
	}
}
