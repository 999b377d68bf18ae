package host

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/callnode/scheduler/plugins/host/process"
)

// An error shows the output of a process since a request began, and says if other requests may have caused it.
func TestRequestAnnotate(t *testing.T) {
	instance := &Instance{output: process.NewOutput(slog.New(slog.DiscardHandler), nil)}
	write := func(text string) { _, _ = instance.output.Write([]byte(text)) }
	base := errors.New("gone")
	expect := func(r *request, want string) {
		t.Helper()
		if got := r.Annotate(base); got.Error() != want || !errors.Is(got, base) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	write("before\n")
	first := newRequest(instance, func() {})
	expect(first, "gone")
	write("one\n")
	expect(first, "gone; it wrote:\none")
	second := newRequest(instance, func() {})
	write("two\n")
	second.release()
	expect(first, "gone; it served other calls too, and wrote:\none\ntwo")
	expect(second, "gone; it served other calls too, and wrote:\ntwo")
	first.release()
	third := newRequest(instance, func() {})
	write("three\n")
	expect(third, "gone; it wrote:\nthree")
	third.release()
}
