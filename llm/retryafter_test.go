package llm_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, header, date, ms string
		want                   time.Duration
	}{
		{name: "none"},
		{name: "seconds", header: "7", want: 7 * time.Second},
		{name: "fraction", header: " 0.5 ", want: time.Second / 2},
		{name: "milliseconds win", header: "7", ms: "20", want: 20 * time.Millisecond},
		{name: "date", header: "Fri, 20 Nov 2026 12:01:00 GMT", want: time.Minute},
		{name: "date by the server's clock", header: "Fri, 20 Nov 2026 12:01:00 GMT", date: "Fri, 20 Nov 2026 12:00:30 GMT", want: time.Minute / 2},
		{name: "past", header: "Fri, 20 Nov 2026 11:00:00 GMT"},
		{name: "negative", header: "-3"},
		{name: "not a number", header: "NaN"},
		{name: "for ever", header: "Inf", want: 24 * time.Hour},
		{name: "nonsense", header: "soon"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for name, text := range map[string]string{"Retry-After": tt.header, "Date": tt.date, "Retry-After-Ms": tt.ms} {
				if text != "" {
					h.Set(name, text)
				}
			}
			if got := llm.RetryAfter(h, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("7", "Fri, 20 Nov 2026 12:01:00 GMT")
	f.Add("Fri, 20 Nov 2026 12:01:00 GMT", "")
	f.Add("1e400", "-1")
	f.Fuzz(func(t *testing.T, header, date string) {
		got := llm.RetryAfter(http.Header{"Retry-After": {header}, "Date": {date}}, time.Unix(0, 0))
		if got < 0 || got > 24*time.Hour {
			t.Errorf("got %v", got)
		}
	})
}
