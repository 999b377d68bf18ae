package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
)

// TestSecretsInOtherForms holds the mask to the forms in which templates and calls
// write a secret down.
func TestSecretsInOtherForms(t *testing.T) {
	const secret = "a\"b\\c\nd/é ?"
	s := newSecrets(nil)
	s.set.Add(secret)
	asJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		secret, string(asJSON), url.QueryEscape(secret), url.PathEscape(secret), "https://x/?k=" + url.QueryEscape(secret),
	} {
		if got := s.maskText("<" + text + ">"); !strings.Contains(got, masked) || strings.Contains(got, `b\\c`) || strings.Contains(got, "%5Cc") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestTimeoutIsRetriable: a provider calls a request that was cut off final, but the
// step's own time ran out.
func TestTimeoutIsRetriable(t *testing.T) {
	cut := &llm.Error{Message: "cut off", Err: context.DeadlineExceeded}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{calls.Errorf(calls.Timeout, "attempt 1: %w", cut), true},
		{fmt.Errorf("asking: %w", &llm.Error{Status: 401}), false},
		{fmt.Errorf("asking: %w", &llm.Error{Status: 503, Temporary: true}), true},
		{calls.Errorf(calls.Invalid, "wrong"), false},
	} {
		if got := canRetry(test.err); got != test.want {
			t.Errorf("retriable(%v) = %v", test.err, got)
		}
	}
}
