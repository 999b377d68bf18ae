package replay_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

var morning = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

func openCassette(t *testing.T, path string) *replay.Cassette {
	t.Helper()
	c, err := replay.Open(replay.Options{Path: path, Hidden: secret.NewSet(nil)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange asks by a run; the answer is a word, or "" for a request that is not recorded.
func exchange(t *testing.T, r *replay.Run, step string, part int, request, live string) string {
	t.Helper()
	ctx := llm.WithAsker(t.Context(), llm.Asker{Step: step, Part: part})
	answer, err := r.Exchange(ctx, "http", "GET x", value.OfString(request), func(context.Context) (value.Value, error) {
		return value.OfString(live), nil
	})
	if err != nil {
		var miss *replay.Miss
		if !errors.As(err, &miss) || miss.Step != step {
			t.Errorf("got %v", err)
		}
		return ""
	}
	text, _ := answer.Str()
	return text
}

// Equal requests of steps that run side by side get the answers of their own step back, in any order; so do
// requests of a run that was resumed.
func TestExchangesByStepAndPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	recorded := openCassette(t, path).Record(replay.Header{Inputs: "in", Now: morning, Seed: 1 << 63})
	recorded.Begin("run-one", 0, morning)
	for i, step := range []string{"each[0]", "each[1]", "each[0]"} {
		exchange(t, recorded, step, 0, "a", []string{"first", "second", "third"}[i])
	}
	if err := recorded.End(true); err != nil {
		t.Fatal(err)
	}
	resumed := openCassette(t, path).Record(replay.Header{Run: "run-one", Inputs: "in"})
	resumed.Begin("run-one", 1, morning.Add(time.Hour))
	exchange(t, resumed, "each[0]", 1, "a", "resumed")
	if err := resumed.End(true); err != nil {
		t.Fatal(err)
	}

	p := openCassette(t, path).Play(replay.Header{Inputs: "in"}, true)
	if id, now, seed := p.Start(1); id != "run-one" || !now.Equal(morning.Add(time.Hour)) || seed != 1<<63 {
		t.Errorf("it starts as %s, %v, %d", id, now, seed)
	}
	for _, tt := range []struct {
		step string
		part int
		want string
	}{{"each[1]", 0, "second"}, {"each[0]", 1, "resumed"}, {"each[0]", 0, "first"}, {"each[0]", 0, "third"}, {"each[0]", 0, "third"}} {
		if got := exchange(t, p, tt.step, tt.part, "a", "live"); got != tt.want {
			t.Errorf("step %s, part %d: got %q, want %q", tt.step, tt.part, got, tt.want)
		}
	}
	if got := exchange(t, p, "each[0]", 0, "b", "live"); got != "" {
		t.Errorf("what is not recorded was answered with %q", got)
	}
}

// A replay that asks for less than the recorded run reports it at its end.
func TestLeftover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	recorded := openCassette(t, path).Record(replay.Header{Inputs: "in", Flow: "as it was", Now: morning})
	recorded.Begin("run-one", 0, morning)
	for _, request := range []string{"a", "b", "b"} {
		exchange(t, recorded, "s", 0, request, "answer")
	}
	if err := recorded.End(true); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, flow string
		requests   []string
		isWhole    bool
		want       string
	}{
		{"all", "as it was", []string{"a", "b", "b"}, true, ""},
		{"in another order", "as it was", []string{"b", "a", "b", "a"}, true, ""},
		{"not at its end", "as it was", []string{"a"}, false, ""},
		{"less", "as it was", []string{"a", "b"}, true, "1 recorded answers were not asked for, the first is recording 3 of run 1 of the step s"},
		{"edited", "edited", []string{"b"}, true, "2 recorded answers were not asked for, the first is recording 1 of run 1 of the step s; the flow was edited after the run was recorded"},
	} {
		p := openCassette(t, path).Play(replay.Header{Inputs: "in", Flow: tt.flow}, true)
		for _, request := range tt.requests {
			exchange(t, p, "s", 0, request, "live")
		}
		if err := p.End(tt.isWhole); fmt.Sprint(err) != tt.want && (err != nil || tt.want != "") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Runs are chosen by inputs and user; recording one again replaces it, and no other.
func TestRunsByInputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	record := func(inputs, user, answer string, isWhole bool) {
		r := openCassette(t, path).Record(replay.Header{Inputs: inputs, User: user, Now: morning})
		r.Begin("id of "+answer, 0, morning)
		exchange(t, r, "s", 0, "a", answer)
		if err := r.End(isWhole); err != nil {
			t.Fatal(err)
		}
	}
	play := func(inputs, user string) string {
		return exchange(t, openCassette(t, path).Play(replay.Header{Inputs: inputs, User: user}, true), "s", 0, "a", "live")
	}
	record("x", "", "old", true)
	record("y", "", "of y", true)
	record("x", "ann", "of ann", true)
	record("x", "", "new", true)
	record("x", "", "cut short", false)
	for _, tt := range [][3]string{{"x", "", "new"}, {"y", "", "of y"}, {"x", "ann", "of ann"}, {"z", "", ""}} {
		if got := play(tt[0], tt[1]); got != tt[2] {
			t.Errorf("inputs %q, user %q: got %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
	if text := read(t, path); strings.Contains(text, "of old") {
		t.Errorf("the run that was recorded again is still there:\n%s", text)
	}
}

// Two runs of one process with the same inputs, as in a chat, are two runs of the cassette.
func TestSameInputsTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	c := openCassette(t, path)
	for _, answer := range []string{"one", "two"} {
		r := c.Record(replay.Header{Inputs: "yes", Now: morning})
		r.Begin(answer, 0, morning)
		exchange(t, r, "s", 0, "a", answer)
		if err := r.End(true); err != nil {
			t.Fatal(err)
		}
	}
	c = openCassette(t, path)
	for _, want := range []string{"one", "two", "two"} {
		if got := exchange(t, c.Play(replay.Header{Inputs: "yes"}, true), "s", 0, "a", "live"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Each answer leaves a file that can be read, whenever the program dies.
func TestRecordingIsReadableAtAnyTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	r := openCassette(t, path).Record(replay.Header{Inputs: "in", Now: morning})
	r.Begin("id", 0, morning)
	exchange(t, r, "s", 0, "a", "kept")
	p := openCassette(t, path).Play(replay.Header{Inputs: "in"}, true)
	if got := exchange(t, p, "s", 0, "a", "live"); got != "kept" {
		t.Errorf("got %q", got)
	}
	ctx := llm.WithAsker(t.Context(), llm.Asker{Step: "s"})
	_, err := p.Exchange(ctx, "http", "GET x", value.OfString("b"), nil)
	if err == nil || !strings.Contains(err.Error(), "the recorded run did not finish") {
		t.Errorf("got %v", err)
	}
}

// A try that failed does so again, with all that decides about the next one.
func TestFailedTries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	broken := &llm.Error{Provider: "main", Status: 503, Message: "overloaded", Temporary: true, RetryAfter: 2 * time.Second, Hint: "wait"}
	r := openCassette(t, path).Record(replay.Header{Inputs: "in", Now: morning})
	provider := r.Provider("main", scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "par"}}, Error: broken}, scripted.Answer{Text: "whole"}))
	_, first := llm.Collect(provider.Chat(t.Context(), user("x")))
	if got := collect(t, provider, user("x")).Text; got != "whole" {
		t.Errorf("got %q", got)
	}
	if err := r.End(true); err != nil {
		t.Fatal(err)
	}
	played := openCassette(t, path).Play(replay.Header{Inputs: "in"}, true).Provider("other", nil)
	answer, err := llm.Collect(played.Chat(t.Context(), user("x")))
	var e *llm.Error
	if !errors.As(err, &e) || err.Error() != first.Error() || !e.Temporary || e.RetryAfter != 2*time.Second || e.Hint != "wait" || answer.Text != "par" {
		t.Errorf("got %q, %#v, want %v", answer.Text, err, first)
	}
	if got := collect(t, played, user("x")).Text; got != "whole" {
		t.Errorf("then got %q", got)
	}
	// Recording again asks for answers that failed.
	again := openCassette(t, path).Record(replay.Header{Inputs: "in", Now: morning}).Provider("main", scripted.Texts("unused"))
	if got := collect(t, again, user("x")).Text; got != "whole" {
		t.Errorf("recording again got %q", got)
	}
}

// Folders and the id of the run have names in the file, even if spread over several pieces of an answer, and a
// replay shows the machine's own.
func TestPlacesOfMachines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	deltas := []llm.Delta{{Text: "see /data/ann/de"}, {Text: "sk/a.txt of run-4711, not /data/ann/desktop"}}
	r := openCassette(t, path).Record(replay.Header{Inputs: "in", Now: morning})
	r.SetPlaces([]replay.Place{{Text: "/data/ann/desk", Name: "[scheduler:project]"}})
	r.Begin("run-4711", 0, morning)
	collect(t, r.Provider("main", scripted.New(scripted.Answer{Deltas: deltas})), user("read /data/ann/desk/a.txt"))
	if err := r.End(true); err != nil {
		t.Fatal(err)
	}
	text := read(t, path)
	if strings.Contains(text, "/data/ann/desk/") || !strings.Contains(text, "/data/ann/desktop") || strings.Count(text, "run-4711") != 1 {
		t.Errorf("the file has places of this machine:\n%s", text)
	}
	p := openCassette(t, path).Play(replay.Header{Inputs: "in"}, true)
	p.SetPlaces([]replay.Place{{Text: "/srv/desk", Name: "[scheduler:project]"}})
	p.Begin("run-5", 0, morning)
	if got := collect(t, p.Provider("main", nil), user("read /srv/desk/a.txt")).Text; got != "see /srv/desk/a.txt of run-5, not /data/ann/desktop" {
		t.Errorf("got %q", got)
	}
}

// A cassette of version 1 has answers of models, and everything else is asked.
func TestVersionOneHasOnlyModels(t *testing.T) {
	p := openCassette(t, write(t, byHand)).Play(replay.Header{Inputs: "in"}, true)
	if got := exchange(t, p, "s", 0, "a", "live"); got != "live" || p.IsKnown() {
		t.Errorf("got %q", got)
	}
	if got := collect(t, p.Provider("main", nil), user("Say hello.")).Text; got != "Hello!" {
		t.Errorf("got %q", got)
	}
}

// Without strictness requests that are not recorded are asked, and the memory always.
func TestFallback(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	r := openCassette(t, path).Record(replay.Header{Inputs: "in", Now: morning})
	r.Begin("id", 0, morning)
	exchange(t, r, "s", 0, "a", "recorded")
	if err := r.End(true); err != nil {
		t.Fatal(err)
	}
	p := openCassette(t, path).Play(replay.Header{Inputs: "in"}, false)
	if got := exchange(t, p, "s", 0, "a", "live") + ", " + exchange(t, p, "s", 0, "b", "live"); got != "recorded, live" {
		t.Errorf("got %s", got)
	}
	answer, err := p.Exchange(t.Context(), "memory", "recent", value.OfString("a"), func(context.Context) (value.Value, error) { return value.OfString("own"), nil })
	if text, _ := answer.Str(); err != nil || text != "own" {
		t.Errorf("got %s, %v", answer, err)
	}
}

// Two cassettes on one file, as two programs that record at once have them: no recording is lost, and a run that is replaced
// meanwhile stays replaced.
func TestRecordedByTwoAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	record := func(c *replay.Cassette, inputs, id string) *replay.Run {
		r := c.Record(replay.Header{Inputs: inputs, Now: morning})
		r.Begin(id, 0, morning)
		return r
	}
	end := func(r *replay.Run) {
		t.Helper()
		if err := r.End(true); err != nil {
			t.Fatal(err)
		}
	}
	one, two := openCassette(t, path), openCassette(t, path)
	a, b := record(one, "a", "run-a"), record(two, "b", "run-b")
	exchange(t, a, "s", 0, "q", "first of a")
	exchange(t, b, "s", 0, "q", "first of b")
	exchange(t, a, "s", 0, "r", "second of a")
	end(b)
	again := record(two, "a", "run-a2")
	exchange(t, again, "s", 0, "q", "of the other")
	end(a)
	end(again)
	end(record(one, "c", "run-c"))
	after := openCassette(t, path)
	for _, c := range []struct{ inputs, request, want string }{{"a", "q", "of the other"}, {"b", "q", "first of b"}} {
		if got := exchange(t, after.Play(replay.Header{Inputs: c.inputs}, true), "s", 0, c.request, "live"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.inputs, got, c.want)
		}
	}
	if got := exchange(t, after.Play(replay.Header{Inputs: "a"}, true), "s", 0, "r", "live"); got != "" {
		t.Errorf("the run that was replaced came back: %q", got)
	}
}

// TestRecordedByMany records with many cassettes on one file at the same time.
func TestRecordedByMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := fmt.Sprint("in", i)
			r := openCassette(t, path).Record(replay.Header{Inputs: name, Now: morning})
			r.Begin(name, 0, morning)
			exchange(t, r, "s", 0, "q", name)
			if err := r.End(true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	after := openCassette(t, path)
	for i := range 8 {
		name := fmt.Sprint("in", i)
		if got := exchange(t, after.Play(replay.Header{Inputs: name}, true), "s", 0, "q", "live"); got != name {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
