package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// console is a program on a terminal of its own.
type console struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	screen bytes.Buffer
	seen   int
}

// onTerminal runs the program as a person does, in a folder.
func onTerminal(t *testing.T, dir string, args ...string) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	control := func(request uintptr, value *int32) {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value))); e != 0 {
			t.Skip("a terminal cannot be set up here:", e)
		}
	}
	var unlocked, number int32
	control(syscall.TIOCSPTLCK, &unlocked)
	control(syscall.TIOCGPTN, &number)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("a terminal cannot be opened here:", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "scheduler") // as TestMain knows it
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	term := &console{t: t, master: master, cmd: exec.Command(name, args...)}
	term.cmd.Dir, term.cmd.Env = dir, append(os.Environ(), "TERM=dumb", "LANG=en_US.UTF-8")
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = slave, slave, slave
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close() // the program has it
	go func() {
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			term.mu.Lock()
			term.screen.Write(chunk[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = term.cmd.Process.Kill() })
	return term
}

// sees waits until a text is on the screen, after those that were seen before.
func (x *console) sees(text string) {
	x.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		x.mu.Lock()
		at := strings.Index(x.screen.String()[x.seen:], text)
		if at >= 0 {
			x.seen += at + len(text)
		}
		x.mu.Unlock()
		if at >= 0 {
			return
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.t.Fatalf("%q does not come on the screen:\n%s", text, x.screen.String())
}

func (x *console) types(text string) {
	x.t.Helper()
	if _, err := x.master.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// exits waits for the end.
func (x *console) exits(code int) {
	x.t.Helper()
	err := x.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || x.cmd.ProcessState.ExitCode() != code {
		x.t.Errorf("exit code %d, want %d (%v)", x.cmd.ProcessState.ExitCode(), code, err)
	}
}

const askingFlow = `
steps:
  - id: args
    call: slot
    with:
      stages: []
      current_schema:
        type: object
        required: [city, sure, day]
        properties: {city: {type: string}, sure: {type: boolean}, day: {type: string, format: date}}
  - {id: say, call: template, to_user: true, with: {template: "{{ a }} {{ b }}", values: {a: "{{ args.slot_data.city }}", b: "{{ args.slot_data.day }}"}}}
`

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

func TestAskOnTerminal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ask.yaml"), []byte(askingFlow), 0o600); err != nil {
		t.Fatal(err)
	}
	x := onTerminal(t, dir, "run", "ask.yaml", "--now", "2026-03-05T09:07:00Z")
	x.sees("What is the city?")
	x.types("Lyon\ny\n") // ahead of the question
	x.sees("What is the day (a date, such as 2026-05-01)?")
	x.types("some day\n")
	x.sees("I could not find a day")
	x.types("tomorrow\n")
	x.sees("Lyon 2026-03-06")
	x.exits(exitDone)

	x = onTerminal(t, dir, "run", "ask.yaml") // text typed before Ctrl-D counts
	x.sees("What is the city?")
	x.types("Lyon\n")
	x.sees("Sure: yes or no?")
	x.types(ctrlD)
	x.sees("/sure  boolean")
	x.sees("--set /sure=VALUE --set /day=VALUE")
	x.exits(exitWaiting)

	x = onTerminal(t, dir, "resume", "last", "--now", "2026-03-05T09:07:00Z") // answered questions are not repeated
	x.sees("Sure: yes or no?")
	x.types("no\n明天\n")
	x.sees("Lyon 2026-03-06")
	x.exits(exitDone)

	x = onTerminal(t, dir, "run", "ask.yaml") // Ctrl-C ends it, and the printed command has the text typed so far
	x.sees("What is the city?")
	x.types("New York\n")
	x.sees("Sure: yes or no?")
	x.types(ctrlC)
	x.sees("interrupted")
	x.sees("--set '/city=New York' --set /sure=VALUE")
	x.exits(exitInterrupted)

	x = onTerminal(t, dir, "run", "ask.yaml") // killed at a question, it keeps the answers typed before
	x.sees("What is the city?")
	x.types("Oslo\n")
	x.sees("Sure: yes or no?")
	if err := x.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	x.exits(-1)
	x = onTerminal(t, dir, "resume", "last")
	x.sees("Sure: yes or no?")
	x.types("no\n2026-05-01\n")
	x.sees("Oslo 2026-05-01")
	x.exits(exitDone)

	x = onTerminal(t, dir, "run", "ask.yaml", "--ephemeral") // without a record, too
	x.sees("What is the city?")
	x.types("Rome\ny\n2026-05-01\n")
	x.sees("Rome 2026-05-01")
	x.exits(exitDone)

	x = onTerminal(t, dir, "run", "ask.yaml") // a word cancels the run
	x.sees("What is the city?")
	x.types("Rome\nmaybe\n")
	x.sees("I could not find a yes or a no in that.")
	x.types("cancel\n")
	x.sees("I have stopped")
	x.exits(exitInterrupted)
	x = onTerminal(t, dir, "runs", "list", "--json")
	x.sees(`"cancelled"`)
	x.exits(exitDone)
}

// TestUnreadOnTerminal: if the model finds nothing in an answer in words, the program says so and repeats the
// question.
func TestUnreadOnTerminal(t *testing.T) {
	dir := t.TempDir()
	const flow = `steps:
  - id: o
    call: slot
    with:
      stages: [llm]
      current_schema: {type: object, required: [order], properties: {order: {type: string, pattern: "^[A-Z]-[0-9]{4}$"}}}
  - {id: say, call: template, to_user: true, with: {template: "order {{ o.slot_data.order }}"}}
`
	texts := make(chan string, 3)
	texts <- "{}"
	texts <- "{}"
	texts <- `{"/order": "A-1042"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		delta := fmt.Sprintf(`{"choices": [{"index": 0, "delta": {"content": %q}, "finish_reason": "stop"}]}`, <-texts)
		_, _ = w.Write([]byte("data: " + delta + "\n\ndata: [DONE]\n\n")) // a test that ended does not read it
	}))
	t.Cleanup(server.Close)
	settings := `llm: {default: m, providers: [{name: m, base_url: "` + server.URL + `/v1", model: m}]}`
	for name, text := range map[string]string{"ask.yaml": flow, "scheduler.yaml": settings} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := onTerminal(t, dir, "run", "ask.yaml")
	x.sees("What is the order")
	x.types("the blue one\n")
	x.sees("I could not find an order")
	x.types("It is the order A-1042\n")
	x.sees("order A-1042")
	x.exits(exitDone)
}
