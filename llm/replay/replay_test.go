package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/llmtest"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value/secret"
)

// config is a cassette with one provider.
type config struct {
	Name, Path, Hint string
	// Records is false for a provider that plays.
	Records bool
	Inner   llm.Provider
	Secrets []string
	Hidden  *secret.Set
}

func openErr(c config) (llm.Provider, error) {
	if c.Name == "" {
		c.Name = "tape"
	}
	if c.Hidden == nil {
		c.Hidden = secret.NewSet(nil)
	}
	cassette, err := replay.Open(replay.Options{Path: c.Path, Hint: c.Hint, Hidden: c.Hidden})
	if err != nil {
		return nil, err
	}
	if c.Records {
		run := cassette.Record(replay.Header{Now: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)})
		return saving{run.Provider(c.Name, withSecrets{c.Inner, c.Secrets}), run}, nil
	}
	return cassette.Play(replay.Header{}, true).Provider(c.Name, nil), nil
}

// saving writes the cassette after each answer.
type saving struct {
	llm.Provider
	run *replay.Run
}

func (s saving) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range s.Provider.Chat(ctx, req) {
			if !yield(d, err) {
				break
			}
		}
		_ = s.run.End(false) // the answer has the error
	}
}

// withSecrets is a provider with keys.
type withSecrets struct {
	llm.Provider
	keys []string
}

func (p withSecrets) Secrets() []string { return p.keys }

func open(t *testing.T, c config) llm.Provider {
	t.Helper()
	p, err := openErr(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func collect(t *testing.T, p llm.Provider, req *llm.Request) llm.Answer {
	t.Helper()
	a, err := llm.Collect(p.Chat(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func user(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.TextMessage("user", text)}}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cassette.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const byHand = `scheduler: cassette/1
recordings:
  - request: {messages: [{role: user, content: Say hello.}]}
    response: Hello!
  - request:
      messages:
        - {role: user, content: Say hello.}
    deltas: [Hel, lo, {text: " again", finish_reason: stop, usage: {input_tokens: 3, output_tokens: 4}}]
`

func TestBasics(t *testing.T) {
	path := write(t, byHand)
	llmtest.Basics(t, func() llm.Provider { return open(t, config{Path: path}) })
}

func TestPlaysInOrder(t *testing.T) {
	p := open(t, config{Path: write(t, byHand)})
	again := llm.Answer{Text: "Hello again", FinishReason: "stop", Usage: llm.Usage{InputTokens: 3, OutputTokens: 4}}
	for i, want := range []llm.Answer{{Text: "Hello!"}, again, again} {
		if diff := cmp.Diff(want, collect(t, p, llmtest.Request())); diff != "" {
			t.Errorf("%d: (-want +got)\n%s", i, diff)
		}
	}
}

// full is a request with everything, and full answers.
func full() *llm.Request {
	warm := 0.7
	return &llm.Request{
		Model: "m", Temperature: &warm, MaxTokens: 50,
		Messages: []llm.Message{
			llm.TextMessage("system", "Line one\nline two\n"),
			llm.Message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"text","text":"See?"}]}`),
		},
		Tools:          []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)},
		ResponseSchema: json.RawMessage(`{"type":"object"}`),
		Extra:          map[string]json.RawMessage{"seed": json.RawMessage("1.50")},
	}
}

func fullAnswer() []llm.Delta {
	return []llm.Delta{
		{Reasoning: "hm"}, {Text: "Hel"}, {Text: "lo\nthere"},
		{ToolCalls: []llm.ToolCallDelta{{Index: 1, ID: "a", Name: "f", Arguments: `{"x":`, Extra: map[string]json.RawMessage{"sig": json.RawMessage(`"s"`)}}}},
		{ToolCalls: []llm.ToolCallDelta{{Index: 1, Arguments: `1}`}}, Extra: map[string]json.RawMessage{"note": json.RawMessage(`{"b":1,"a":2.50}`)}},
		{FinishReason: "tool_calls", Usage: &llm.Usage{InputTokens: 5, OutputTokens: 6, CachedTokens: 1}},
	}
}

const golden = `# Recorded runs: answers of models, servers, tools and the memory. A request is found by its key; a
# recording without a key gets it from its request, so that recordings can be written by hand.
scheduler: cassette/2
runs:
  - now: "2026-11-28T09:00:00Z"
    seed: 0
    ended: false
    recordings:
      - key: KEY
        name: tape
        request:
          model: m
          messages:
            - role: system
              content: |
                Line one
                line two
            - role: user
              content:
                - type: image_url
                  image_url:
                    url: data:image/png;sha256,63c1dd951ffedf6f7fd968ad4efa39b8ed584f162f46e715114ee184f8de9201
                - type: text
                  text: See?
          tools:
            - type: function
              function:
                name: f
          schema:
            type: object
          temperature: 0.7
          max_tokens: 50
          extra:
            seed: 1.50
        deltas:
          - reasoning: hm
          - Hel
          - |-
            lo
            there
          - tool_calls:
              - index: 1
                id: a
                name: f
                arguments: '{"x":'
                extra:
                  sig: s
          - tool_calls:
              - index: 1
                arguments: "1}"
            extra:
              note:
                b: 1
                a: 2.50
          - finish_reason: tool_calls
            usage:
              input_tokens: 5
              output_tokens: 6
              cached_tokens: 1
`

func TestRecordThenReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "cassette.yaml")
	recorder := open(t, config{Path: path, Records: true, Inner: scripted.New(scripted.Answer{Deltas: fullAnswer()})})
	collect(t, recorder, full())
	text := read(t, path)
	_, rest, _ := strings.Cut(text, "key: ")
	key, _, _ := strings.Cut(rest, "\n")
	if diff := cmp.Diff(strings.Replace(golden, "KEY", key, 1), text); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	// The same request spelt differently.
	req := full()
	req.Extra["seed"] = json.RawMessage("15e-1")
	req.Messages[0] = llm.Message(`{"content":"Line one\nline two\n", "role":"system"}`)
	var got []llm.Delta
	for d, err := range open(t, config{Path: path}).Chat(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	if diff := cmp.Diff(fullAnswer(), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Recording asks for no answer that the cassette has.
func TestRecordingAsksForWhatIsMissing(t *testing.T) {
	path := write(t, byHand)
	inner := scripted.Texts("fresh", "fresh again", "third")
	p := open(t, config{Path: path, Records: true, Inner: inner})
	for _, tt := range []struct {
		req  *llm.Request
		want string
	}{{llmtest.Request(), "Hello!"}, {user("new"), "fresh"}, {user("new"), "fresh again"}, {llmtest.Request(), "Hello again"}, {llmtest.Request(), "third"}} {
		if got := collect(t, p, tt.req).Text; got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if inner.Left() != 0 || len(inner.Requests()) != 3 {
		t.Errorf("the inner provider got %d requests", len(inner.Requests()))
	}
	if got := collect(t, open(t, config{Path: path}), user("new")).Text; got != "fresh" {
		t.Errorf("replayed %q", got)
	}
}

func TestOnlyWholeAnswersAreRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cassette.yaml")
	inner := scripted.New(
		scripted.Answer{Deltas: []llm.Delta{{Text: "a"}, {Text: "b"}}},
	)
	p := open(t, config{Path: path, Records: true, Inner: inner})
	for range p.Chat(t.Context(), user("x")) {
		break
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cassette was written: %v", err)
	}
}

func TestMiss(t *testing.T) {
	long := strings.Repeat("many words before the change ", 20)
	path := filepath.Join(t.TempDir(), "c.yaml")
	recorder := open(t, config{Path: path, Records: true, Inner: scripted.Texts("1", "2", "3")})
	collect(t, recorder, user("quite another thing"))
	req := func(city, tail string) *llm.Request {
		return &llm.Request{Model: "m", Messages: []llm.Message{
			llm.TextMessage("system", "You are terse.\nAnswer in one line.\nBe kind.\nNever lie.\nKeep secrets."),
			llm.TextMessage("user", "How is the weather?\nIn "+city+", I mean.\n"+long+tail),
		}}
	}
	collect(t, recorder, req("Paris", "one"))
	_, err := llm.Collect(open(t, config{Path: path}).Chat(t.Context(), req("Rome", "two")))
	var e *llm.Error
	if !errors.As(err, &e) || e.Temporary || !e.Unsent || e.Hint == "" {
		t.Fatalf("got %v", err)
	}
	want := []string{
		"no recording of this request in " + path + "; the nearest is recording 2 of run 1 (- recorded, + asked):",
		"        content: |-",
		"          How is the weather?",
		"  -       In Paris, I mean.",
	}
	if diff := cmp.Diff(want, strings.Split(e.Err.Error(), "\n")[:4]); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, e.Err.Error())
	}
	for _, part := range []string{"recording 2 of run 1 (", "  - ... ", "change one", "  + ... ", "change two"} {
		if !strings.Contains(e.Err.Error(), part) {
			t.Errorf("the message has no %q:\n%s", part, e.Err.Error())
		}
	}
	if strings.Contains(e.Err.Error(), "Be kind") {
		t.Errorf("the message shows what is far from a change:\n%s", e.Err.Error())
	}
}

func TestMissIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	recorder := open(t, config{Path: path, Records: true, Inner: scripted.Texts("1")})
	collect(t, recorder, user(strings.Repeat("old line\n", 5000)+strings.Repeat("x", 5000)))
	_, err := llm.Collect(open(t, config{Path: path, Hint: "press record"}).Chat(t.Context(), user(strings.Repeat("new line\n", 5000))))
	var e *llm.Error
	if !errors.As(err, &e) || len(e.Err.Error()) > 10_000 || !strings.Contains(e.Err.Error(), "... (+") || e.Hint != "press record" {
		t.Errorf("got %d bytes: %.2000s", len(err.Error()), err)
	}
}

func TestMissOfEmptyCassette(t *testing.T) {
	_, err := llm.Collect(open(t, config{Path: write(t, "")}).Chat(t.Context(), user("hi")))
	if err == nil || !strings.Contains(err.Error(), "+     content: hi") {
		t.Errorf("got %v", err)
	}
	var e *llm.Error
	if !errors.As(err, &e) || !strings.Contains(e.In("zh"), "没有此请求的录制内容") || !strings.Contains(e.In("zh"), "content: hi") {
		t.Errorf("in Chinese: %v", e)
	}
}

// standIn replaces a secret of eight bytes without a name.
const standIn = "holggxgl"

func TestSecretsAreMasked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	config := config{Path: path, Records: true, Secrets: []string{"hunter2", "hunter22", " "}}
	spread := []llm.Delta{{Text: "It is hun"}, {Text: "ter22!"}, {FinishReason: "stop", Usage: &llm.Usage{InputTokens: 1, Cost: 0.5}}}
	config.Inner = scripted.New(scripted.Answer{Text: "hunter2 and hunter22"}, scripted.Answer{Deltas: spread})
	recorder := open(t, config)
	if got := collect(t, recorder, user("I am hunter2.")).Text; got != "hunter2 and hunter22" {
		t.Errorf("the answer itself was masked: %q", got)
	}
	if got := collect(t, recorder, user("And?")).Text; got != "It is hunter22!" {
		t.Errorf("got %q", got)
	}
	if text := read(t, path); strings.Contains(text, "hunter") || strings.Contains(text, "ter2") {
		t.Errorf("the cassette has the secret:\n%s", text)
	}
	hidden := secret.NewSet(nil)
	for _, text := range config.Secrets[:2] {
		hidden.Add(text)
	}
	config.Records, config.Hidden = false, hidden
	p := open(t, config)
	if got := collect(t, p, user("I am hunter2.")).Text; got != standIn[:7]+" and "+standIn {
		t.Errorf("got %q", got)
	}
	want := llm.Answer{Text: "It is " + standIn + "!", FinishReason: "stop", Usage: llm.Usage{InputTokens: 1, Cost: 0.5}}
	if diff := cmp.Diff(want, collect(t, p, user("And?"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSecretsThatStayAreRefused(t *testing.T) {
	asNumber := llm.Message(`{"role":"user","content":"x","pin":48151623}`)
	asKey := llm.Message(`{"role":"user","content":"x","48151623":1}`)
	tests := []struct {
		name   string
		req    *llm.Request
		answer scripted.Answer
	}{
		{"number in the request", &llm.Request{Messages: []llm.Message{asNumber}}, scripted.Answer{Text: "a"}},
		{"key in the request", &llm.Request{Messages: []llm.Message{asKey}}, scripted.Answer{Text: "a"}},
		{"number of tokens", user("x"), scripted.Answer{Deltas: []llm.Delta{{Usage: &llm.Usage{InputTokens: 48151623}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.yaml")
			p := open(t, config{Path: path, Records: true, Secrets: []string{"48151623"}, Inner: scripted.New(tt.answer)})
			_, err := llm.Collect(p.Chat(t.Context(), tt.req))
			var e *llm.Error
			if !errors.As(err, &e) || !strings.Contains(e.Error(), "secret") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Error("a cassette was written")
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	recording := func(text string) string { return "scheduler: cassette/1\nrecordings:\n  - " + text + "\n" }
	const request = "request: {messages: []}, "
	for text, want := range map[string]string{
		"a: [":                                 "yaml:1:4: the [ that opens here is not closed",
		"- a":                                  "want an object, got array",
		"scheduler: cassette/1\nx: 1":          `unknown member "x", known are scheduler, recordings`,
		"recordings: []":                       "unknown format of a cassette: scheduler is null",
		"scheduler: cassette/3":                `scheduler is "cassette/3", want cassette/2`,
		"scheduler: cassette/1\nrecordings: 5": "/recordings: want an array",
		recording("5"):                         "/recordings/0: want an object",
		recording("{request: {}, answer: x}"):  "want response, deltas or vectors for a model",
		recording("{response: x}"):             "request: want an object, got null",
		recording("{request: {message: x}, response: x}"):     `request: unknown member "message"`,
		recording("{" + request + "}"):                        "want either deltas or response",
		recording("{" + request + "response: a, deltas: []}"): "want either deltas or response",
		recording("{" + request + "deltas: a}"):               "deltas: want an array, got string",
		recording("{" + request + "response: {txt: a}}"):      `unknown member "txt"`,
		recording("{" + request + "response: {usage: 1}}"):    "/usage: want object",
		recording("{" + request + "respons: a}"):              "yaml:3:31: /recordings/0: unknown member",
		recording("{key: abc, " + request + "response: a}"):   "delete the key to make it fit",
	} {
		_, err := openErr(config{Path: write(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) || !regexp.MustCompile(`\.yaml:\d+:\d+: `).MatchString(err.Error()) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := openErr(config{Path: t.TempDir(), Records: true, Inner: scripted.Echo{}}); err == nil {
		t.Error("a folder was opened")
	}
}

func TestBadRequest(t *testing.T) {
	_, err := llm.Collect(open(t, config{Path: write(t, byHand)}).Chat(t.Context(), &llm.Request{Messages: []llm.Message{llm.Message("{")}}))
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "c.yaml")
	p := open(t, config{Path: path, Records: true, Inner: scripted.Echo{}})
	if err := os.Mkdir(path, 0o755); err != nil { // in the way of the rename
		t.Fatal(err)
	}
	got, err := llm.Collect(p.Chat(t.Context(), user("hi")))
	var e *llm.Error
	if !errors.As(err, &e) || got.Text != "hi" {
		t.Errorf("got %q, %v", got.Text, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestConcurrentRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	p := open(t, config{Path: path, Records: true, Inner: scripted.Echo{}})
	var wg sync.WaitGroup
	words := strings.Fields("a b c d e f g h")
	for _, word := range append(words, words...) {
		wg.Go(func() {
			if got := collect(t, p, user(word)).Text; got != word {
				t.Errorf("got %q, want %q", got, word)
			}
		})
	}
	wg.Wait()
	again := open(t, config{Path: path})
	for _, word := range words {
		if got := collect(t, again, user(word)).Text; got != word {
			t.Errorf("replayed %q, want %q", got, word)
		}
	}
}

func TestCanceledInTheMiddle(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := open(t, config{Path: write(t, byHand)})
	collect(t, p, llmtest.Request())
	var last error
	text := ""
	for d, err := range p.Chat(ctx, llmtest.Request()) {
		text, last = text+d.Text, err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || text != "Hel" {
		t.Errorf("got %q, %v", text, last)
	}
}

// Encrypted thoughts that go back are digests in a cassette, and the same request is found
// again; another thought is another request.
func TestDigestsThoughts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	thinks := func(sealed string) *llm.Request {
		return &llm.Request{Messages: []llm.Message{
			llm.Message(`{"role":"assistant","content":"a","response_items":[{"type":"reasoning","encrypted_content":"` + sealed + `"},{"type":"message","bytes":1}]}`),
		}}
	}
	collect(t, open(t, config{Path: path, Records: true, Inner: scripted.Texts("ok")}), thinks("gAAAsealed"))
	if text := read(t, path); strings.Contains(text, "gAAAsealed") || !strings.Contains(text, "encrypted_content: sha256:") || !strings.Contains(text, "bytes: 1") {
		t.Errorf("the cassette is\n%s", text)
	}
	if got := collect(t, open(t, config{Path: path}), thinks("gAAAsealed")); got.Text != "ok" {
		t.Errorf("got %+v", got)
	}
	if _, err := llm.Collect(open(t, config{Path: path}).Chat(t.Context(), thinks("gAAAother"))); err == nil {
		t.Error("another thought is taken for the same")
	}
}

// A cassette keeps the name under which thoughts go back, and masking does not lose it.
func TestKeepsReasoningMember(t *testing.T) {
	for _, hidden := range [][]string{nil, {"a-long-secret"}} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		inner := scripted.New(scripted.Answer{Deltas: []llm.Delta{{Reasoning: "a-long-"}, {Reasoning: "secret", ReasoningMember: "reasoning"}}, Text: "ok"})
		collect(t, open(t, config{Path: path, Records: true, Inner: inner, Secrets: hidden}), user("x"))
		if got := collect(t, open(t, config{Path: path}), user("x")); got.ReasoningMember != "reasoning" {
			t.Errorf("got %+v", got)
		}
	}
}
