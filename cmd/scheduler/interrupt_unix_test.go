//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptedTwice: whoever is told to stop a second time, as by timeout(1), must
// still be there to stop in good order. Without that this very process dies.
func TestInterruptedTwice(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, stop := untilInterrupted()
		interrupt(t, sig)
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond) // whatever the first signal sets going is done
		interrupt(t, sig)
		time.Sleep(500 * time.Millisecond) // a busy machine may deliver it late, and it must find the handler
		stop()
	}
}

// TestInterruptedReading: who types to a command that reads stdin, and gives up, need not
// say so twice.
func TestInterruptedReading(t *testing.T) {
	t.Chdir(t.TempDir())
	flow := "inputs: {type: object, properties: {q: {type: string}}}\nsteps: [{id: a, call: template, with: {template: hello}}]\n"
	if err := os.WriteFile("flow.yaml", []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"memory add --user lin -", "memory search --jsonl -", "memory import --jsonl -", "call template --with -", "call template --jsonl -",
		"run flow.yaml --input -", "run flow.yaml -i q=@-",
	} {
		var said bytes.Buffer
		stdin := &undecided{t: t}
		if code := execute(strings.Fields(command), stdin, io.Discard, &said); code != exitInterrupted || !strings.HasSuffix(said.String(), "error: interrupted\n") {
			t.Errorf("%s: exit code %d\n%s", command, code, &said)
		}
	}
}

// undecided interrupts this process instead of typing anything.
type undecided struct{ t *testing.T }

func (u *undecided) Read([]byte) (int, error) {
	interrupt(u.t, syscall.SIGINT)
	time.Sleep(3 * time.Second) // so long that nobody else ends the reading first
	return 0, io.EOF
}

func interrupt(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}
