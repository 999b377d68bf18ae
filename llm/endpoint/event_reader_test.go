package endpoint

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readAll(t *testing.T, r io.Reader) []Event {
	t.Helper()
	events := EventReader{r: bufio.NewReader(r)}
	var all []Event
	for {
		e, err := events.Next()
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
	one := func(data string) Event { return Event{Data: []byte(data)} }
	tests := []struct {
		name, text string
		want       []Event
	}{
		{"empty", "", nil},
		{"comments only", ": a\n\n:\n\n", nil},
		{"two", "data: a\n\ndata: b\n\n", []Event{one("a"), one("b")}},
		{"several lines", "data: a\ndata:b\ndata:  c\ndata\n\n", []Event{one("a\nb\n c\n")}},
		{"mixed ends", "data: a\r\rdata: b\r\n\r\ndata: c\n\r\ndata: d\r\n\n", []Event{one("a"), one("b"), one("c"), one("d")}},
		{"named", "event: error\ndata: x\n\ndata: y\n\n", []Event{{Name: "error", Data: []byte("x")}, one("y")}},
		{"not ended", "data: a\n\ndata: b", []Event{one("a"), {Data: []byte("b"), Partial: true}}},
		{"unknown fields", "foo: bar\ndata: a\n\n", []Event{one("a")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readAll(t, strings.NewReader(tt.text))
			if diff := cmp.Diff(tt.want, got); diff != "" {
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
	f.Add("data: \"\\ud83d\"\n\ndata: {\"a\":\"\\ude00\\ud83d\\u0041\"}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole := readAll(t, strings.NewReader(text))
		bytewise := readAll(t, iotest.OneByteReader(strings.NewReader(text)))
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Errorf("(-whole +bytewise)\n%s", diff)
		}
		for _, event := range whole {
			values, _, rest := event.Values()
			for _, v := range values {
				if !json.Valid(v) {
					t.Errorf("%q is not JSON", v)
				}
			}
			if len(rest) > len(event.Data) {
				t.Errorf("the rest of %q is %q", event.Data, rest)
			}
		}
	})
}
