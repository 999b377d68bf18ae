package slot_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

func get(v value.Value, key string) value.Value { x, _ := v.Get(key); return x }
func str(v value.Value, key string) string      { s, _ := get(v, key).Str(); return s }

// lost lists the members of known, by pointer, that are not in data as they were.
func lost(known, data value.Value, pointer string) (all []string) {
	if known.Kind() == value.Object && data.Kind() == value.Object {
		for name, member := range known.Map().All() {
			mine, ok := data.Get(name)
			if !ok {
				all = append(all, pointer+"/"+name)
				continue
			}
			all = append(all, lost(member, mine, pointer+"/"+value.Escape(name))...)
		}
		return all
	}
	if known.Kind() == value.List && len(known.List()) == len(data.List()) {
		for i, item := range known.List() {
			all = append(all, lost(item, data.List()[i], fmt.Sprintf("%s/%d", pointer, i))...)
		}
		return all
	}
	if !value.Equal(known, data) {
		all = append(all, pointer)
	}
	return all
}

// The original is run with the same answers. Our results follow rules instead: a known valid value is never lost,
// an answer at a missing pointer is taken when it fits, and nothing remains exactly when the data is valid. The
// history is the newest steps; the original drops them.
func TestCallVectors(t *testing.T) {
	data, err := os.ReadFile("../../test/vectors/slot_call.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	differs := map[string]int{}
	for line := range bytes.Lines(data) {
		row, err := value.ParseJSON(line)
		if err != nil {
			t.Fatal(err)
		}
		id := str(row, "id")
		t.Run(id, func(t *testing.T) { callVector(t, row, differs) })
	}
	t.Logf("the original gives something else: %v", differs)
}

func callVector(t *testing.T, row value.Value, differs map[string]int) {
	known, doc := get(row, "data"), get(row, "schema")
	s, err := schema.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.Texts(str(row, "llm_text"), get(row, "function_result").JSON())
	steps := int64(2)
	if n, ok := get(row, "history").Int(); ok {
		steps = n
	}
	vars := &calls.Vars{Question: "?", Upstream: calls.FixedUpstream{}}
	past := calls.FixedUpstream{}
	for i := range steps {
		past.Steps = append(past.Steps, calls.FinishedStep{ID: fmt.Sprintf("s%d", i), Name: fmt.Sprintf("step s%d", i), Output: value.OfMap(value.Pairs("n", i))})
	}
	vars.Upstream = past
	params := value.Pairs("data", known, "current_schema", doc)
	window := int64(1)
	if n, ok := get(row, "step_num").Int(); ok && n >= 0 {
		window = n
		params.Set("step_num", value.OfInt(n))
	}
	out := run(t, model, vars, params)
	result, remaining := get(out, "slot_data"), get(out, "remaining_schema")

	wrong := map[string]bool{}
	for _, p := range s.Check(known) {
		wrong[p.Pointer] = true
	}
	for _, pointer := range lost(known, result, "") {
		if !wrong[pointer] {
			t.Errorf("the known value at %q was lost: %s became %s", pointer, known, result)
		}
	}
	if valid := s.Check(result) == nil; valid != (remaining.Map().Len() == 0) {
		t.Errorf("valid is %t, but %s remains of %s", valid, remaining, result)
	}
	asked := len(model.Requests())
	told, _ := value.ParseJSON([]byte(str(row, "llm_text")))
	answers := []value.Value{told}
	if asked > 1 {
		answers = append(answers, get(row, "function_result"))
	}
	for _, answer := range answers {
		for pointer, piece := range answer.Map().All() {
			if mine, ok := result.At(pointer); wrong[pointer] && (!ok || !value.Equal(mine, piece)) {
				t.Errorf("the answer %s to %q was not taken: %s", piece, pointer, result)
			}
		}
	}
	if asked > 0 {
		checkHistory(t, string(model.Requests()[0].Messages[0]), steps, window)
	}
	if raised := get(row, "raise"); !raised.IsNull() {
		differs["raises"]++
	} else if theirs := get(row, "slot_data"); !value.Equal(theirs, result) {
		differs["loses or invents data"]++
		if testing.Verbose() {
			t.Logf("%s\n known %s\n text %s\n function %s\n theirs %s\n ours %s\n rejected %s", str(row, "note"), known, str(row, "llm_text"), get(row, "function_result"), theirs, result, get(out, "rejected"))
		}
	}
}

// checkHistory wants the newest steps in a prompt, and no other.
func checkHistory(t *testing.T, prompt string, steps, window int64) {
	t.Helper()
	for i := range steps {
		want := i >= steps-window
		if strings.Contains(prompt, fmt.Sprintf("step s%d", i)) != want {
			t.Errorf("of %d steps with step_num %d, s%d in the prompt should be %t", steps, window, i, want)
		}
	}
}
