package remote

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/service"
)

// fakeVersion is the variable with the version of the second program, which is this test.
const fakeVersion = "REMOTE_TEST_VERSION"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ServeCommand {
		Serve(os.Getenv(fakeVersion), func(_ context.Context, s Settings) (service.Remote, error) {
			if s.On == "nowhere" {
				return nil, calls.Errorf(calls.Provider, "%s", wording.Text{En: "nobody there", Zh: "那里没有人"}).WithHint("%s", wording.Text{En: "start it", Zh: "请启动"})
			}
			return fake{s}, nil
		})
		return
	}
	goleak.VerifyTestMain(m)
}

// fake is served by the second program: it returns the requests that it got.
type fake struct{ settings Settings }

func (f fake) Start(_ context.Context, run service.RemoteRun) error {
	if run.ID == "die" {
		os.Exit(3)
	}
	return calls.Errorf(calls.Invalid, "%s on %s: %s %d %t", run.ID, f.settings.On, run.Queue, run.Seq, run.IsChild)
}

func (fake) Answer(_ context.Context, _ service.RemoteRun, answers []scheduler.Answer, more bool) ([]scheduler.Answer, error) {
	answers[0].Step = "taken"
	if more {
		answers[0].Step = "more"
	}
	return answers, nil
}

func (fake) Wake(_ context.Context, run string) error {
	os.Stderr.WriteString("woken " + run + "\n")
	return nil
}

func (f fake) Check(context.Context) error {
	return calls.Errorf(calls.Provider, "%s was checked", f.settings.On)
}

func (fake) Wait(ctx context.Context, run service.RemoteRun, hint func(wording.Text)) error {
	hint(wording.Text{En: "held up", Zh: "受阻"})
	if run.ID == "long" {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// newClient returns a client of this test as the second program, of a version.
func newClient(t *testing.T, version string, s Settings) (*Client, *lockedBuffer) {
	t.Helper()
	t.Setenv(fakeVersion, version)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	c := NewClient(Options{Program: own, Settings: s, Log: log})
	t.Cleanup(c.Close)
	return c, log
}

// lockedBuffer is a buffer that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func TestRequests(t *testing.T) {
	c, log := newClient(t, "v1", Settings{Version: "v1", On: "temporal://x"})
	err := c.Start(t.Context(), service.RemoteRun{ID: "r", Queue: "gpu", Seq: 7, IsChild: true})
	if calls.KindOf(err) != calls.Invalid || err.Error() != "r on temporal://x: gpu 7 true" {
		t.Errorf("start: %v", err)
	}
	answers := []scheduler.Answer{{Pointer: "/n", Value: value.Must(map[string]any{"a": "好", "b": 1.5}), Message: "m", Seen: 3}}
	taken, err := c.Answer(t.Context(), service.RemoteRun{}, answers, true)
	if err != nil {
		t.Fatal(err)
	}
	answers[0].Step = "more"
	if diff := cmp.Diff(formatAnswers(answers), formatAnswers(taken)); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
	if err := c.Check(t.Context()); calls.KindOf(err) != calls.Provider || err.Error() != "temporal://x was checked" {
		t.Errorf("check: %v", err)
	}
	if err := c.Wake(t.Context(), "r7"); err != nil {
		t.Error(err)
	}
	var hints []wording.Text
	if err := c.Wait(t.Context(), service.RemoteRun{}, func(text wording.Text) { hints = append(hints, text) }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]wording.Text{{En: "held up", Zh: "受阻"}}, hints); diff != "" {
		t.Error(diff)
	}
	for began := time.Now(); !strings.Contains(log.String(), "woken r7"); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute { // the lines of a program arrive beside its answers
			t.Fatalf("the log is %q", log)
		}
	}
	c.Close()
}

// A wait ends with its context, and the program stays.
func TestWaitEnds(t *testing.T) {
	c, _ := newClient(t, "v1", Settings{Version: "v1"})
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Wait(ctx, service.RemoteRun{ID: "long"}, func(wording.Text) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := c.Wake(t.Context(), "r"); err != nil {
		t.Error(err)
	}
}

// A program that died is started again by the next request.
func TestStartsAgain(t *testing.T) {
	c, _ := newClient(t, "v1", Settings{Version: "v1"})
	err := c.Start(t.Context(), service.RemoteRun{ID: "die"})
	if calls.KindOf(err) != calls.Provider || calls.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	if err := c.Wake(t.Context(), "r"); err != nil {
		t.Errorf("it is not started again: %v", err)
	}
}

func TestVersions(t *testing.T) {
	c, _ := newClient(t, "v2", Settings{Version: "v1"})
	err := c.Wake(t.Context(), "r")
	if calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), "has the version v2, and scheduler v1") || calls.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	if text := calls.MessageIn(err, "zh"); !strings.Contains(text, "的版本是 v2，而 scheduler 是 v1") {
		t.Errorf("in Chinese: %s", text)
	}
	for given, ok := range map[string]bool{"": true, "v2": true, "v1": false} {
		if err := CheckVersion(given, "v2"); (err == nil) != ok {
			t.Errorf("%q: %v", given, err)
		}
	}
}

// An error of the connection comes back in both languages.
func TestOpenFails(t *testing.T) {
	c, _ := newClient(t, "v1", Settings{Version: "v1", On: "nowhere"})
	err := c.Open(t.Context())
	if calls.KindOf(err) != calls.Provider || err.Error() != "nobody there" || calls.MessageIn(err, "zh") != "那里没有人" || calls.HintIn(err, "zh") != "请启动" {
		t.Errorf("got %v (%s)", err, calls.HintOf(err))
	}
}

func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs of Windows are found by their ending")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Find(""); calls.KindOf(err) != calls.NotFound || !strings.Contains(calls.HintOf(err), "archive of the release") || !strings.Contains(calls.HintIn(err, "zh"), "发行版的压缩包") {
		t.Errorf("without a program: %v (%s)", err, calls.HintOf(err))
	}
	path := filepath.Join(dir, Program)
	if err := os.WriteFile(path, nil, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, setting := range []string{"", path, Program} {
		if found, err := Find(setting); err != nil || found != path {
			t.Errorf("%q: got %s, %v", setting, found, err)
		}
	}
	if _, err := Find(filepath.Join(dir, "other")); calls.KindOf(err) != calls.NotFound || !strings.Contains(err.Error(), "temporal.program") {
		t.Errorf("a setting of nothing: %v", err)
	}
	if c := NewClient(Options{Program: "/bin/true"}); calls.KindOf(c.Open(t.Context())) != calls.Invalid {
		t.Error("another program was taken for it")
	}
}
