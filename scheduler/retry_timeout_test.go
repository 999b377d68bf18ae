package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
)

// A step whose time was over names the limit and its current work, not that a deadline was exceeded.
func TestTimeoutError(t *testing.T) {
	at := calls.Errorf(calls.Timeout, "reading: %w", context.DeadlineExceeded)
	for _, c := range []struct {
		err    error
		en, zh string
	}{
		{context.DeadlineExceeded, "the step took longer than 2s", "步骤超过了 2s"},
		{at, "the step took longer than 2s: reading", "步骤超过了 2s：reading"},
		{fmt.Errorf("a: %w", at), "the step took longer than 2s: a: reading", "步骤超过了 2s：a: reading"},
		{errors.New("cut off"), "the step took longer than 2s: cut off", "步骤超过了 2s：cut off"},
	} {
		got := timeoutError(2*time.Second, c.err)
		if got.Error() != c.en || calls.MessageIn(got, "zh") != c.zh || calls.KindOf(got) != calls.Timeout || calls.HintOf(got) == "" {
			t.Errorf("%v: got %v, in Chinese %s", c.err, got, calls.MessageIn(got, "zh"))
		}
	}
}
