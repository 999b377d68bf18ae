package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

func registry(t *testing.T) *calls.Registry {
	t.Helper()
	r, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every call that is listed is held to the contract with everything built in.
func TestConformance(t *testing.T) {
	for _, def := range builtin.Calls() {
		t.Run(def.Info.Name, func(t *testing.T) {
			callstest.Run(t, def, func(env *calls.Env) {
				env.Registry, env.Memory = registry(t), &memory.SnapshotProcessor{Store: memorytest.NewStore(t, env.Clock)}
			})
		})
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	for _, f := range builtin.Functions() {
		if f.Summary.En == "" || f.Summary.Zh == "" {
			t.Errorf("the function %s needs a summary in en and zh", f.Name)
		}
	}
	for _, v := range builtin.Variables() {
		if v.Summary.En == "" || v.Summary.Zh == "" {
			t.Errorf("the variable %s needs a summary in en and zh", v.Name)
		}
	}
}

// Every text of the reference has its Chinese, and there are no others.
func TestReference(t *testing.T) {
	used := map[string]bool{}
	var visit func(where string, v value.Value)
	visit = func(where string, v value.Value) {
		for key, member := range v.Map().All() {
			text, isText := member.Str()
			if key != "description" || !isText {
				visit(where, member)
				continue
			}
			used[text] = true
			if got := builtin.Reference(text); got.Zh == text {
				t.Errorf("%s: %q has no Chinese in reference.go", where, text)
			}
		}
		for _, item := range v.List() {
			visit(where, item)
		}
	}
	for _, def := range builtin.Calls() {
		visit(def.Info.Name, def.Info.Params.Doc())
		visit(def.Info.Name, def.Info.Output.Doc())
		for _, e := range def.Info.Examples {
			visit(def.Info.Name, value.OfMap(value.Pairs("description", e.Title)))
		}
	}
	for _, text := range builtin.ReferenceTexts() {
		if !used[text] {
			t.Errorf("reference.go has %q, which no call says", text)
		}
	}
}

// Every text that is there in several languages is listed by a call, so that those of
// users are checked; and the built-in ones stand the check.
func TestTexts(t *testing.T) {
	listed := map[string]bool{}
	for _, def := range builtin.Calls() {
		for _, set := range def.Texts {
			for _, name := range set.Names() {
				for _, language := range []string{"en", "zh"} {
					text, err := fs.ReadFile(set.BuiltIn, "lang/"+language+"/"+name)
					if err != nil {
						t.Errorf("%s: %v", set.Folder, err)
					}
					if problems := set.Check(name, text); len(problems) > 0 {
						t.Errorf("%s/%s/%s: %v", language, set.Folder, name, problems)
					}
				}
				listed[set.Folder+"/"+name] = true
			}
		}
	}
	files, err := filepath.Glob("../*/lang/en/*")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.Replace(filepath.ToSlash(file)[len("../"):], "/lang/en/", "/", 1)
		if !listed[name] {
			t.Errorf("no call lists the text %s", name)
		}
	}
}

func readMemories(texts ...string) func(context.Context) ([]plugins.Recalled, error) {
	return func(context.Context) ([]plugins.Recalled, error) {
		var found []plugins.Recalled
		for _, text := range texts {
			found = append(found, plugins.Recalled{Text: text, Score: 0.9})
		}
		return found, nil
	}
}

func TestFunctions(t *testing.T) {
	r := registry(t)
	said := []plugins.Turn{{Role: "user", Content: "hi"}}
	for name, c := range map[string]struct {
		function string
		state    plugins.State
		want     bool
		reason   string
	}{
		"always":              {"always", plugins.State{}, true, "as its name says"},
		"never":               {"never", plugins.State{}, false, "as its name says"},
		"input":               {"has_input", plugins.State{Input: "x"}, true, "the user said something"},
		"no input":            {"has_input", plugins.State{Input: " \n"}, false, "the input is empty"},
		"history":             {"has_history", plugins.State{History: said}, true, "1 utterances before this one"},
		"no history":          {"has_history", plugins.State{}, false, "nothing was said before"},
		"first turn":          {"is_first_turn", plugins.State{}, true, "nothing was said before"},
		"second turn":         {"is_first_turn", plugins.State{History: said}, false, "1 utterances before this one"},
		"memories":            {"has_memories", plugins.State{Retrieve: readMemories("x", "y")}, true, "2 memories were found"},
		"no memories":         {"has_memories", plugins.State{Retrieve: readMemories()}, false, "no memory was found"},
		"nothing to retrieve": {"has_memories", plugins.State{}, false, "no memory was found"},

		"past in Chinese":       {"is_relevant", plugins.State{Input: "你还记得我吗"}, true, `the input says "记得"`},
		"past in English":       {"is_relevant", plugins.State{Input: "Please REMEMBER me"}, true, `the input says "remember"`},
		"its older name":        {"is_relevant_func", plugins.State{Input: "总结一下"}, true, `the input says "总结"`},
		"a part of a word":      {"is_relevant", plugins.State{Input: "prehistory and remembers"}, false, "the input has nothing in common with what was before"},
		"nothing in common":     {"is_relevant", plugins.State{Input: "今天天气", Retrieve: readMemories("茶是绿的")}, false, "the input has nothing in common with what was before"},
		"a pair in common":      {"is_relevant", plugins.State{Input: "北京天气", Retrieve: readMemories("茶", "天气很好")}, true, `input and memory share "天气"`},
		"a word in common":      {"is_relevant", plugins.State{Input: "Which tea?", Retrieve: readMemories("Tea is green")}, true, `input and memory share "tea"`},
		"a small word":          {"is_relevant", plugins.State{Input: "what is the time", Retrieve: readMemories("the tea is what we want")}, false, "the input has nothing in common with what was before"},
		"small words together":  {"is_relevant", plugins.State{Input: "什么", Retrieve: readMemories("什么")}, false, "the input has nothing in common with what was before"},
		"characters not beside": {"is_relevant", plugins.State{Input: "天，气", Retrieve: readMemories("天气")}, false, "the input has nothing in common with what was before"},

		"question mark":        {"is_question", plugins.State{Input: "Tea?"}, true, "the input has a question mark"},
		"wide question mark":   {"is_question", plugins.State{Input: "茶？"}, true, "the input has a question mark"},
		"question in Chinese":  {"is_question", plugins.State{Input: "你是谁"}, true, `the input says "谁"`},
		"question in English":  {"is_question", plugins.State{Input: "How hot is it"}, true, `the input begins with "how"`},
		"statement":            {"is_question", plugins.State{Input: "It is how I like it"}, false, "the input asks nothing"},
		"statement in Chinese": {"is_question", plugins.State{Input: "我喜欢茶"}, false, "the input asks nothing"},
		"nothing":              {"is_question", plugins.State{}, false, "the input asks nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := r.Importance(c.function)
			if !ok {
				t.Fatalf("no function %s", c.function)
			}
			got, err := f.Judge(t.Context(), c.state, make([]plugins.Item, 2))
			want := plugins.Verdict{Include: c.want, Reason: c.reason}
			if diff := cmp.Diff([]plugins.Verdict{want, want}, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestFailingRetrieval(t *testing.T) {
	boom := errors.New("boom")
	state := plugins.State{Input: "tea", Retrieve: func(context.Context) ([]plugins.Recalled, error) { return nil, boom }}
	for _, name := range []string{"is_relevant", "has_memories"} {
		f, _ := registry(t).Importance(name)
		if _, err := f.Judge(t.Context(), state, make([]plugins.Item, 1)); !errors.Is(err, boom) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// What needs no memory does not ask for one.
	state.Input = "before"
	f, _ := registry(t).Importance("is_relevant")
	if _, err := f.Judge(t.Context(), state, make([]plugins.Item, 1)); err != nil {
		t.Error(err)
	}
}

func TestVariables(t *testing.T) {
	r := registry(t)
	now := time.Date(2026, 3, 5, 9, 7, 8, 0, time.FixedZone("", 8*3600))
	state := plugins.State{
		Now: now, User: "ann", Session: "main", Language: "zh-CN",
		History: []plugins.Turn{{Role: "user", Content: "one"}, {Role: "assistant", Content: "two"}, {Role: "user", Content: "three"}},
	}
	want := map[string]string{
		"current_time": `"09:07"`, "current_date": `"2026-03-05"`, "current_datetime": `"2026-03-05 09:07:08"`,
		"weekday": `"星期四"`, "timestamp": `1772672828`, "timezone": `"+08:00"`,
		"user": `"ann"`, "session": `"main"`, "language": `"zh-CN"`,
		"turn_count": `3`, "last_user_message": `"three"`, "last_assistant_message": `"two"`,
	}
	resolver, _ := r.Resolver("weekday")
	for _, name := range r.VariableNames() {
		if other, _ := r.Resolver(name); other != resolver {
			t.Errorf("%s has a resolver of its own: no batch", name)
		}
	}
	values, err := resolver.Resolve(t.Context(), state, r.VariableNames())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, text := range values {
		got[name] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	values, err = resolver.Resolve(t.Context(), plugins.State{Now: now}, []string{"weekday", "last_user_message"})
	if diff := cmp.Diff(map[string]json.RawMessage{"weekday": json.RawMessage(`"Thursday"`), "last_user_message": json.RawMessage(`""`)}, values); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := resolver.Resolve(t.Context(), state, []string{"nothing"}); err == nil {
		t.Error("an unknown name has a value")
	}
}

// The branch that choice took is its outcome; another call may have a member of that name.
func TestOutcomes(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	output := value.OfMap(value.Pairs("branch", "weather"))
	for call, want := range map[string]string{"choice": "weather", "http": ""} {
		def, _ := registry.Call(call)
		if got := def.Info.OutcomeOf(output); got != want {
			t.Errorf("%s: %q, not %q", call, got, want)
		}
	}
}
