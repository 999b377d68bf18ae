package inchat_test

import (
	"bufio"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/llm/value"
)

// different lists the recorded answers that this call does not give, on purpose.
var different = map[string]string{
	"hist-content-4":                     "a boolean as content becomes JSON text, not Python's True",
	"hist-content-9":                     "an object as content becomes JSON text, not Python's {'k': ...}",
	"hist-content-11":                    "a list as content becomes JSON text",
	"wb-id-10":                           "a list as id becomes JSON text",
	"hist-badrole-type-3":                "the message shows a list as JSON",
	"hist-badrole-type-4":                "the message shows an object as JSON",
	"hist-nondict-2":                     "Python's own error text is not copied",
	"hist-nondict-3":                     "Python's own error text is not copied",
	"wb-container-17":                    "{world_book: [...]} is a book",
	"wb-container-18":                    "books are flattened to any depth",
	"wb-container-19":                    "books are flattened to any depth",
	"wb-container-20":                    "books inside a list are flattened",
	"wb-container-21":                    "books inside a list are flattened",
	"cond-wb-32":                         "a trailing comma is ignored instead of matching every text",
	"cond-wb-35":                         "the full-width comma separates keywords",
	"cond-nonstring-history-not-scanned": "a list as content becomes JSON text",
}

func TestVectors(t *testing.T) {
	def := inchat.Definition()
	unused := map[string]bool{}
	for id := range different {
		unused[id] = true
	}
	count := 0
	for _, row := range vectors(t, "../../test/vectors/inchat.jsonl") {
		count++
		id := member(row, "id")
		request, _ := row.Get("request")
		if problems := def.Info.Params.Check(request); problems != nil {
			t.Errorf("%s: the request does not fit the schema: %v", id, problems)
		}
		got, err := run(t, def, request, nil)
		var diff string
		if want, ok := row.Get("error"); ok {
			text, _ := want.Str()
			if err == nil {
				diff = "no error; want " + text
			} else {
				diff = cmp.Diff(text, err.Error())
				if calls.KindOf(err) != calls.Invalid {
					t.Errorf("%s: the error is of kind %s", id, calls.KindOf(err))
				}
			}
		} else if err != nil {
			diff = err.Error()
		} else {
			want, _ := row.At("/response/messages")
			messages, _ := got.Get("messages")
			diff = cmp.Diff(lines(want), lines(messages))
		}
		reason := different[id]
		delete(unused, id)
		if diff != "" && reason == "" {
			t.Errorf("%s %s: %s", id, member(row, "tags"), diff)
		}
		if diff == "" && reason != "" {
			t.Errorf("%s is as recorded, and listed as different: %s", id, reason)
		}
	}
	if count != 441 || len(different) != 16 || len(unused) > 0 {
		t.Errorf("%d rows, %d exceptions, not met: %v", count, len(different), unused)
	}
}

// run runs a call as the engine does.
func run(t testing.TB, def calls.Definition, params value.Value, env *calls.Env) (value.Value, error) {
	t.Helper()
	if env == nil {
		env = calls.NewEnv()
	}
	call, err := def.New(params)
	if err != nil {
		return value.Value{}, err
	}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		return value.Value{}, err
	}
	return callstest.CollectOutput(call.Exec(t.Context(), env, input))
}

func vectors(t *testing.T, path string) []value.Value {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []value.Value
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		row, err := value.ParseJSON(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return slices.Clip(rows)
}

// lines is a list as text with one element per line.
func lines(v value.Value) []string {
	var out []string
	for _, x := range v.List() {
		out = append(out, x.JSON())
	}
	return out
}

func member(v value.Value, key string) string {
	x, _ := v.Get(key)
	if s, ok := x.Str(); ok {
		return s
	}
	return x.JSON()
}
