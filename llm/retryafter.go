package llm

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds a server's wish to wait.
const maxRetryAfter = 24 * time.Hour

// RetryAfter returns how long a server asks to wait: retry-after-ms, or Retry-After in seconds or as a date, which
// counts from the server's own clock if it sends that. It returns 0 if the server did not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return boundWait(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return boundWait(seconds)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return boundWait(at.Sub(now).Seconds())
}

// boundWait returns seconds as a duration of 0 to [maxRetryAfter].
func boundWait(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN is not a wait either
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
