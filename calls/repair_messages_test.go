package calls_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

func TestRepairMessages(t *testing.T) {
	const (
		hi   = `{"role":"user","content":"hi"}`
		call = `{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`
		two  = `{"role":"assistant","content":"wait","tool_calls":[{"id":"a"},{"id":"b"}]}`
		twin = `{"role":"assistant","content":"","tool_calls":[{"id":"a"},{"id":"a"}]}`
		a    = `{"role":"tool","tool_call_id":"a","content":"1"}`
		b    = `{"role":"tool","tool_call_id":"b","content":"2"}`
	)
	for name, test := range map[string]struct {
		given, later []string
		want         []string // index and message
		notes        []string
	}{
		"whole":            {given: []string{hi, call, a, hi}, want: []string{"0 " + hi, "1 " + call, "2 " + a, "3 " + hi}},
		"orphan result":    {given: []string{hi, b}, want: []string{"0 " + hi}, notes: []string{`1: the tool result is left out: no message before it calls "b"`}},
		"result too late":  {given: []string{call, hi, a}, want: []string{"1 " + hi}, notes: []string{`0: the tool call "a" is left out: no result follows it`, `2: the tool result is left out: no message before it calls "a"`}},
		"second result":    {given: []string{call, a, a}, want: []string{"0 " + call, "1 " + a}, notes: []string{`2: the tool result is left out: it is another result of the call "a"`}},
		"no tool_call_id":  {given: []string{call, `{"role":"tool","content":"1"}`, a}, want: []string{"0 " + call, "2 " + a}, notes: []string{`1: the tool result is left out: it has no tool_call_id`}},
		"no result":        {given: []string{hi, call}, want: []string{"0 " + hi}, notes: []string{`1: the tool call "a" is left out: no result follows it`}},
		"one of two":       {given: []string{two, b}, want: []string{`0 {"role":"assistant","content":"wait","tool_calls":[{"id":"b"}]}`, "1 " + b}, notes: []string{`0: the tool call "a" is left out: no result follows it`}},
		"text stays":       {given: []string{two, hi}, want: []string{`0 {"role":"assistant","content":"wait"}`, "1 " + hi}, notes: []string{`0: the tool call "a" is left out: no result follows it`, `0: the tool call "b" is left out: no result follows it`}},
		"any order":        {given: []string{two, b, a}, want: []string{"0 " + two, "1 " + b, "2 " + a}},
		"one id twice":     {given: []string{twin, a, a}, want: []string{`0 {"role":"assistant","content":"","tool_calls":[{"id":"a"},{"id":"a_2"}]}`, "1 " + a, `2 {"role":"tool","tool_call_id":"a_2","content":"1"}`}},
		"one id in turns":  {given: []string{call, a, call, a}, want: []string{"0 " + call, "1 " + a, `2 {"role":"assistant","content":"","tool_calls":[{"id":"a_2","function":{"name":"f","arguments":"{}"}}]}`, `3 {"role":"tool","tool_call_id":"a_2","content":"1"}`}},
		"call without id":  {given: []string{`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"f"}}]}`, hi}, want: []string{`0 {"role":"assistant","content":"x"}`, "1 " + hi}, notes: []string{`0: a tool call is left out: it has no id`}},
		"no role":          {given: []string{`{"content":"x"}`, hi}, want: []string{"1 " + hi}, notes: []string{`0: the message is left out: it has no role`}},
		"thinking between": {given: []string{call, `{"role":"thinking","content":"hm"}`, a}, want: []string{"0 " + call, `1 {"role":"thinking","content":"hm"}`, "2 " + a}},
		"answered later":   {given: []string{hi, call}, later: []string{a}, want: []string{"0 " + hi, "1 " + call}},
		"one later":        {given: []string{two, a}, later: []string{b, hi}, want: []string{"0 " + two, "1 " + a}},
	} {
		t.Run(name, func(t *testing.T) {
			kept, notes := calls.RepairMessages(maps(t, test.given), maps(t, test.later))
			var got, said []string
			for _, m := range kept {
				got = append(got, fmt.Sprint(m.Index, " ", value.OfMap(m.Map).JSON()))
			}
			for _, n := range notes {
				said = append(said, fmt.Sprint(n.Index, ": ", n.Text.En))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.notes, said); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func maps(t *testing.T, texts []string) (list []*value.Map) {
	t.Helper()
	v, err := value.ParseJSON([]byte("[" + strings.Join(texts, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.List() {
		list = append(list, m.Map())
	}
	return list
}
