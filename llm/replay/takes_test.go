package replay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
)

// numbered answers with the number of the request, and embeds texts as their lengths.
type numbered struct{ asked atomic.Int64 }

func (n *numbered) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Text: fmt.Sprint(n.asked.Add(1)), Usage: &llm.Usage{InputTokens: 3, OutputTokens: 1, Cost: 0.25}}, nil)
	}
}

func (n *numbered) Embedder(string, int) llm.Embedder { return lengths{n} }

func (n *numbered) Secrets() []string { return []string{"hidden-key-123"} }

type lengths struct{ *numbered }

func (lengths) Model() string { return "lengths" }

func (l lengths) Embed(_ context.Context, texts []string) ([][]float32, error) {
	l.asked.Add(1)
	var vectors [][]float32
	for _, text := range texts {
		vectors = append(vectors, []float32{float32(len(text)), 0.5})
	}
	return vectors, nil
}

func openTakes(t *testing.T, path string, mode replay.Mode, inner llm.Provider) *replay.Takes {
	t.Helper()
	takes, err := replay.OpenTakes(replay.TakesConfig{
		Name: "main", Path: path, Mode: mode, Open: func() (llm.Provider, error) { return inner, nil }, Hint: "record it",
	})
	if err != nil {
		t.Fatal(err)
	}
	return takes
}

func askText(t *testing.T, p llm.Provider, text string) string {
	t.Helper()
	answer, err := llm.Collect(p.Chat(context.Background(), &llm.Request{Messages: []llm.Message{llm.TextMessage("user", text)}}))
	if err != nil {
		return "error: " + err.Error()
	}
	return answer.Text
}

func TestTakesOfRepeats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.test.main.cassette.yaml")
	model := &numbered{}
	recording := openTakes(t, path, replay.Auto, model)
	for repeat := 1; repeat <= 2; repeat++ {
		p := recording.Play(repeat, 0)
		askText(t, p, "hello")
		askText(t, p, "hello") // twice in one repeat
	}
	if err := recording.Close(false); err != nil {
		t.Fatal(err)
	}

	playing := openTakes(t, path, replay.Replay, nil)
	for repeat, want := range []string{"1 2", "3 4"} {
		p := playing.Play(repeat+1, 0)
		if got := askText(t, p, "hello") + " " + askText(t, p, "hello"); got != want {
			t.Errorf("repeat %d plays %s, want %s", repeat+1, got, want)
		}
		if ms, known := p.RecordedMS(); !known || ms < 0 || !p.IsPriced() || p.Missed() != nil {
			t.Errorf("repeat %d: %d ms, known %v, priced %v, missed %v", repeat+1, ms, known, p.IsPriced(), p.Missed())
		}
		if got := askText(t, p, "hello"); !strings.Contains(got, fmt.Sprintf("take %d of this request", repeat+1)) {
			t.Errorf("a third request gets %q", got)
		}
		if p.Missed() == nil {
			t.Error("the miss was not noted")
		}
	}
	if got := askText(t, playing.Play(3, 0), "hello"); !strings.Contains(got, "which has 2 takes") {
		t.Errorf("a third repeat gets %q", got)
	}
	if got := askText(t, playing.Play(1, 0), "other"); !strings.Contains(got, "the nearest is recording 1") {
		t.Errorf("another request gets %q", got)
	}

	// The provider of runs plays all of them in order, and then the last one again.
	runs := open(t, config{Path: path})
	var got []string
	for range 5 {
		got = append(got, askText(t, runs, "hello"))
	}
	if !slices.Equal(got, []string{"1", "2", "3", "4", "4"}) {
		t.Errorf("a run plays %v", got)
	}
}

// Recordings of runs count for the first repeat.
func TestTakesOfAnOldCassette(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.yaml")
	const text = `scheduler: cassette/1
recordings:
  - request: {messages: [{role: user, content: hello}]}
    response: one
  - request: {messages: [{role: user, content: hello}]}
    response: two
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	takes := openTakes(t, path, replay.Replay, nil)
	p := takes.Play(1, 0)
	if got := askText(t, p, "hello") + askText(t, p, "hello"); got != "onetwo" {
		t.Errorf("it plays %s", got)
	}
	if _, known := p.RecordedMS(); known || p.IsPriced() {
		t.Error("an old cassette tells neither time nor cost")
	}
	if err := takes.Close(false); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(path); string(now) != text {
		t.Errorf("a replay has changed the file:\n%s", now)
	}
}

// The file does not depend on which test asks first; a request that two send at once is recorded once.
func TestTakesAreRecordedInOrder(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for round := range 2 {
		path := filepath.Join(dir, fmt.Sprint(round))
		model := &numbered{}
		takes := openTakes(t, path, replay.Auto, model)
		var working sync.WaitGroup
		for i := range 20 {
			order := i
			if round == 1 {
				order = 19 - i
			}
			working.Go(func() {
				p := takes.Play(1, order)
				askText(t, p, fmt.Sprint("question ", order))
				askText(t, p, "shared")
			})
		}
		working.Wait()
		if err := takes.Close(false); err != nil {
			t.Fatal(err)
		}
		if got := model.asked.Load(); got != 21 {
			t.Errorf("the model was asked %d times, want 21", got)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var questions []string
		for line := range strings.Lines(string(text)) {
			if _, question, ok := strings.Cut(line, "content: question "); ok {
				questions = append(questions, strings.TrimSpace(question))
			}
		}
		files = append(files, strings.Join(questions, " "))
	}
	if files[0] != files[1] || !strings.HasPrefix(files[0], "0 1 2 3") {
		t.Errorf("the files have\n%s\n%s", files[0], files[1])
	}
}

func TestTakesOfEmbeddings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	model := &numbered{}
	recording := openTakes(t, path, replay.Auto, model)
	texts := []string{"a", "four"}
	want, err := recording.Play(1, 0).Embedder("m", 2).Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if err := recording.Close(false); err != nil {
		t.Fatal(err)
	}
	playing := openTakes(t, path, replay.Replay, nil)
	got, err := playing.Play(2, 0).Embedder("m", 2).Embed(context.Background(), texts)
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) || model.asked.Load() != 1 {
		t.Errorf("played are %v (%v), want %v; the model was asked %d times", got, err, want, model.asked.Load())
	}
	_, err = playing.Play(1, 0).Embedder("m", 3).Embed(context.Background(), texts)
	var missed *llm.Error
	if !errors.As(err, &missed) || missed.Hint != "record it" {
		t.Errorf("other dimensions: %v", err)
	}
}

func TestTakesHideSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	takes := openTakes(t, path, replay.Auto, &numbered{})
	askText(t, takes.Play(1, 0), "the key is hidden-key-123")
	if err := takes.Close(false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "hidden-key-123") || !strings.Contains(string(text), "[secret]") {
		t.Errorf("the file (%v):\n%s", err, text)
	}
}

// A wrong number of a take is found when the file is read.
func TestTakesRefuse(t *testing.T) {
	for _, wrong := range []string{"take: 0", "take: first", "ms: -1", "ms: 1.5", "vectors: [x]", "vectors: one"} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		text := "scheduler: cassette/1\nrecordings:\n  - request: {texts: [a]}\n    " + wrong + "\n"
		if !strings.HasPrefix(wrong, "vectors") {
			text += "    response: hi\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := replay.OpenTakes(replay.TakesConfig{Path: path}); err == nil || !strings.Contains(err.Error(), "/recordings/0") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
