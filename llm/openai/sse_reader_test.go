package openai

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
)

func readAll(t *testing.T, r io.Reader) []event {
	t.Helper()
	events := sseReader{r: bufio.NewReader(r)}
	var all []event
	for {
		e, err := events.nextEvent()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func TestEventReader(t *testing.T) {
	one := func(data string) event { return event{data: []byte(data)} }
	tests := []struct {
		name, text string
		want       []event
	}{
		{"empty", "", nil},
		{"comments only", ": a\n\n:\n\n", nil},
		{"two", "data: a\n\ndata: b\n\n", []event{one("a"), one("b")}},
		{"several lines", "data: a\ndata:b\ndata:  c\ndata\n\n", []event{one("a\nb\n c\n")}},
		{"mixed ends", "data: a\r\rdata: b\r\n\r\ndata: c\n\r\ndata: d\r\n\n", []event{one("a"), one("b"), one("c"), one("d")}},
		{"named", "event: error\ndata: x\n\ndata: y\n\n", []event{{name: "error", data: []byte("x")}, one("y")}},
		{"not ended", "data: a\n\ndata: b", []event{one("a"), {data: []byte("b"), partial: true}}},
		{"unknown fields", "foo: bar\ndata: a\n\n", []event{one("a")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readAll(t, strings.NewReader(tt.text))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(event{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// FuzzEvents checks that the parser takes anything, and that the events do not
// depend on how the text is cut into packets.
func FuzzEvents(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n: c\ndata: [DONE]\n\n")
	f.Add("event: error\rdata: x\r\rdata")
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":{}}}]}}]}\n\n")
	p, err := New(Config{BaseURL: "http://x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole := readAll(t, strings.NewReader(text))
		bytewise := readAll(t, iotest.OneByteReader(strings.NewReader(text)))
		if diff := cmp.Diff(whole, bytewise, cmp.AllowUnexported(event{})); diff != "" {
			t.Errorf("(-whole +bytewise)\n%s", diff)
		}
		var answer llm.AnswerBuilder
		err := p.readAnswer(strings.NewReader(text), func(d llm.Delta) bool { answer.Add(d); return true })
		var e *llm.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("got error %v (%T)", err, err)
		}
	})
}
