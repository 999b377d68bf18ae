//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interruptedChild is the environment variable that makes this test program the process
// that TestInterruptedTwice interrupts.
const interruptedChild = "SCHEDULER_TEST_INTERRUPTED"

// TestInterruptedTwice: a process that is told to stop a second time, for example by timeout(1), must still stop
// in good order.
func TestInterruptedTwice(t *testing.T) {
	if os.Getenv(interruptedChild) != "" {
		waitInterrupted()
		return
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		interruptTwice(t, sig)
	}
}

// waitInterrupted prints on stdout when it can be interrupted, and when it was. Then it continues until its stdin
// ends.
func waitInterrupted() {
	ctx, _ := untilInterrupted() // it is not stopped: a signal that is on its way would end the process
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("interrupted")
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println("done")
}

// interruptTwice interrupts a process of waitInterrupted: its output says when.
func interruptTwice(t *testing.T, sig syscall.Signal) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptedTwice$")
	child.Env = append(os.Environ(), interruptedChild+"=1")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "interrupted"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("%s: got %q, want %q", sig, lines.Text(), want)
		}
		if err := child.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "done" {
		t.Errorf("%s: the second one ended it: %q", sig, lines.Text())
	}
	for lines.Scan() {
		continue // the summary of the test program
	}
	if err := child.Wait(); err != nil {
		t.Errorf("%s: %v", sig, err)
	}
}

// TestInterruptedReading: a user who types to a command that reads stdin, and gives up, needs only one interrupt.
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
		if code := runProgram(strings.Fields(command), stdin, io.Discard, &said); code != exitInterrupted || !strings.HasSuffix(said.String(), "error: interrupted\n") {
			t.Errorf("%s: exit code %d\n%s", command, code, &said)
		}
	}
}

// undecided interrupts this process instead of typing anything.
type undecided struct{ t *testing.T }

func (u *undecided) Read([]byte) (int, error) {
	interrupt(u.t, syscall.SIGINT)
	time.Sleep(3 * time.Second) // so long that nothing else ends the reading first
	return 0, io.EOF
}

// TestTestsInterrupted: the results of an interrupted test run are kept, and --rerun runs the remaining cases.
func TestTestsInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	hangs := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs {
			hangs = false
			interrupt(t, syscall.SIGINT)
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "done")
	}))
	defer server.Close()
	for name, text := range map[string]string{
		"scheduler.yaml": "http: {allow_hosts: [127.0.0.1]}\nrun: {max_parallel: 1}\n", // one case after the other, in their order
		"a.yaml": "inputs: {type: object, properties: {to: {type: string, default: go}}}\n" +
			"steps: [{id: ask, call: http, when: \"{{ inputs.to != 'stay' }}\", with: {url: \"" + server.URL + "\"}}]\noutputs: {to: \"{{ inputs.to }}\"}\n",
		"a.test.yaml": "defaults: {allow: [http], expect: [{output: to, equals: go}]}\n" +
			"cases: [{name: one, inputs: {to: stay}}, {name: two}, {name: three}]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		args string
		code int
		want []string
	}{
		{"test -v", exitInterrupted, []string{"fail one", "interrupted; to go on: scheduler test --rerun errors"}},
		{"test -v --rerun errors --filter two", 0, []string{"pass two"}},
		{"test -v --rerun errors", 0, []string{"pass three"}},
		{"test -v --rerun errors", 0, nil},
		{"test -v --rerun failed", exitFailed, []string{"fail one"}},
	} {
		var said bytes.Buffer
		if code := runProgram(strings.Fields(step.args), strings.NewReader(""), &said, &said); code != step.code {
			t.Errorf("%s: exit code %d, not %d\n%s", step.args, code, step.code, &said)
		}
		plain := strings.Join(strings.Fields(said.String()), " ")
		for _, name := range []string{"fail one", "pass two", "pass three", "interrupted; to go on: scheduler test --rerun errors"} {
			if got, want := strings.Contains(plain, name), slices.Contains(step.want, name); got != want {
				t.Errorf("%s: %q is told: %v, not %v\n%s", step.args, name, got, want, &said)
			}
		}
	}
}

func interrupt(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}
