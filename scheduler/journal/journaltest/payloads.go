package journaltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// readBoth compares the events that a reader and a resumed run get.
func (s *script) readBoth(t *testing.T, from int64) (shown, full *journal.Event) {
	t.Helper()
	for ev, err := range s.Events(s.b.ctx, from) {
		if err != nil {
			t.Fatal(err)
		}
		full = ev
		break
	}
	return s.b.readEvents(t, s.id, from)[0], full
}

func testBigPayloads(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted)
	var messages []any
	for i := range 300 {
		messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprintf("message %d", i)})
	}
	long := strings.Repeat("一段长文 <long> \u0001 ", 3000)
	input := value.Must(map[string]any{"messages": messages, "long": long, "few": []any{1.0, "x"}})
	huge := value.OfString(strings.Repeat("0123456789abcdef", 1<<17)) // 2 MiB
	events := []*journal.Event{
		s.newEvent(journal.StepInput, "one", &journal.Data{Params: &input, Input: &input}),
		s.newEvent(journal.StepDelta, "one", &journal.Data{Text: long}),
		s.newEvent(journal.StepWarning, "one", &journal.Data{Code: "cut", Text: long, Source: "flow.yaml:2:3"}),
		s.newEvent(journal.StepFailed, "one", &journal.Data{Error: &journal.ErrorInfo{Kind: "invalid", Message: long}}),
		s.newEvent(journal.StepFinished, "one", &journal.Data{Output: &huge}),
	}
	s.append(events...)
	wantSame(t, "the events", events, b.readEvents(t, "r1", 2))
	shown, full := s.readBoth(t, 2)
	wantSame(t, "what is shown", events[0], shown)
	wantSame(t, "what a resume gets", events[0], full)
}

func testLookalikes(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	var lists []any
	for _, key := range []string{"$blob", "$media", "$$blob", "$$$media", "$other", "blob", "$", ""} {
		lists = append(lists,
			value.OfMap(value.Pairs(key, strings.Repeat("0", 64))),
			value.OfMap(value.Pairs(key, value.OfMap(value.Pairs(key, []string{"x"})))),
			value.OfMap(value.Pairs(key, 1, "more", 2)))
	}
	tricky := value.OfMap(value.Pairs("$blob", value.Must(lists)))
	events := []*journal.Event{
		s.newEvent(journal.FlowStarted, "", &journal.Data{Inputs: &tricky}),
		s.newEvent(journal.StepInput, "one", &journal.Data{Params: &tricky, Input: &tricky}),
	}
	s.append(events...)
	wantSame(t, "the events", events, b.readEvents(t, "r1", 1))
	s.close()

	h := b.newHeader("r2")
	h.Inputs, h.Conversation = tricky, value.OfList(tricky, value.OfMap(value.Pairs("role", "user", "content", strings.Repeat("long ", 2000))))
	if _, err := b.Begin(b.ctx, h); err != nil {
		t.Fatal(err)
	}
	got, err := b.Header(b.ctx, "r2")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the inputs", tricky, got.Inputs)
	wantSame(t, "the conversation", h.Conversation, got.Conversation)
	without, err := b.Header(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "no conversation", value.Value{}, without.Conversation)
}

func encoded64(magic string, data []byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte(magic), data...))
}

// A value nested as deep as JSON allows can be stored in events and read again.
func testDeep(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted)
	deep := value.Must([]string{"x", "data:image/png;base64,AAAA"})
	for range 990 {
		deep = value.OfMap(value.Pairs("a", []value.Value{deep}))
	}
	event := s.newEvent(journal.StepFinished, "one", &journal.Data{Output: &deep})
	s.append(event)
	_, full := s.readBoth(t, 2)
	wantSame(t, "what a resume gets", event, full)
}

func testImages(t *testing.T, b *bench) {
	image := make([]byte, 3000)
	for i := range image {
		image[i] = byte(i * i >> 3)
	}
	encoded := base64.StdEncoding.EncodeToString(image)
	shownAs := fmt.Sprintf("data:image/png;sha256=%x;size=%d", sha256.Sum256(image), len(image))
	const oddText = "iVBORw0KGgo_-AA="
	odd := fmt.Sprintf("DATA:image/webp;charset=x;sha256=%x;size=%d", sha256.Sum256([]byte(oddText)), len(oddText))
	lines := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ\r\nAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	var images, wants []value.Value
	for _, test := range []struct{ text, shown string }{
		{"data:image/png;base64," + encoded, shownAs},
		{"see data:image/png;base64," + encoded + " and (data:image/png;base64," + encoded + ")!", "see " + shownAs + " and (" + shownAs + ")!"},
		{"DATA:image/webp;charset=x;BASE64," + oddText, odd},
		{"data:image/png;base64," + lines + "\nWhat is this?", fmt.Sprintf("data:image/png;sha256=%x;size=%d\nWhat is this?", sha256.Sum256([]byte(lines)), len(lines))},
		{`{\"url\":\"data:image/png;base64,AA\/BB\"}`, fmt.Sprintf(`{\"url\":\"data:image/png;sha256=%x;size=%d\"}`, sha256.Sum256([]byte(`AA\/BB`)), 6)},
		{encoded64("\x89PNG\r\n\x1a\n", image), fmt.Sprintf("image;sha256=%x;size=%d", sha256.Sum256(append([]byte("\x89PNG\r\n\x1a\n"), image...)), 8+len(image))},
		{"data:image/png;base64, nothing", "data:image/png;base64, nothing"},
		{"no data: see data:,x;base64,AAAA", "no data: see data:,x;base64,AAAA"},
		{"base64,AAAA", "base64,AAAA"},
		{"the mark ;base64,AAAA alone", "the mark ;base64,AAAA alone"},
	} {
		images = append(images, value.OfString(test.text))
		wants = append(wants, value.OfString(test.shown))
	}
	content, want := value.OfList(images...), value.OfList(wants...)

	h := b.newHeader("r1")
	h.Inputs = content
	h.Text = journal.FlowText{Source: []byte("icon: data:image/png;base64," + encoded), Files: map[string][]byte{"a.txt": []byte("a"), "b.txt": []byte("data:image/png;base64," + encoded)}}
	log, err := b.Begin(b.ctx, h)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{RunLog: log, t: t, b: b, id: "r1"}
	s.append(s.newEvent(journal.StepFinished, "one", &journal.Data{Output: &content, Text: "data:image/png;base64," + encoded}))
	shown, full := s.readBoth(t, 1)
	wantSame(t, "what a resume gets", content, full.Data.Output)
	wantSame(t, "what is shown", want, shown.Data.Output)
	if shown.Data.Text != shownAs {
		t.Errorf("text is shown as %.100s", shown.Data.Text)
	}
	for _, read := range []struct {
		header func() (*journal.RunHeader, error)
		want   value.Value
	}{
		{func() (*journal.RunHeader, error) { return s.Header(b.ctx) }, content},
		{func() (*journal.RunHeader, error) { return b.Header(b.ctx, "r1") }, want},
	} {
		h, err := read.header()
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, "the inputs", read.want, h.Inputs)
		if string(h.Text.Source) != "icon: data:image/png;base64,"+encoded || len(h.Text.Files) != 2 || string(h.Text.Files["b.txt"]) != "data:image/png;base64,"+encoded {
			t.Errorf("the text of the flow is %.200q", h.Text.Source)
		}
	}
	if text := value.Must(shown).AppendJSON(nil); bytes.Contains(text, []byte(encoded[:64])) {
		t.Errorf("the image is shown: %.300s", text)
	}
}
