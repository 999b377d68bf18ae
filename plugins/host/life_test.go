package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
)

func pid(t testing.TB, r *calls.Registry) int {
	t.Helper()
	f, _ := r.Resolver("pid")
	values, err := f.Resolve(t.Context(), plugins.State{}, []string{"pid"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(values["pid"]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not happen", what)
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// One process serves all; it is started again when it is gone.
func TestRestart(t *testing.T) {
	_, r := open(t, folder(t, ""), host.Options{Backoff: time.Millisecond})
	var all sync.WaitGroup
	pids := make([]int, 32)
	for i := range pids {
		all.Go(func() { pids[i] = pid(t, r) })
	}
	all.Wait()
	if slices.Min(pids) != slices.Max(pids) {
		t.Errorf("several processes were started: %v", pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the process", func() bool { return !alive(pids[0]) })
	eventually(t, "the restart", func() bool {
		f, _ := r.Resolver("pid")
		values, err := f.Resolve(t.Context(), plugins.State{}, []string{"pid"})
		return err == nil && string(values["pid"]) != strconv.Itoa(pids[0])
	})
}

// The last output of a process before its end is in the error.
func TestLastWords(t *testing.T) {
	_, r := open(t, folder(t, "limits: {restarts: 100}"), host.Options{Backoff: time.Millisecond})
	f, _ := r.Importance("sample.is_long")
	const want = "plugin sample, function is_long: its process ended: exit status 9; it wrote:\nthese are its last words"
	for range 10 {
		// A program that measures its coverage has a word more.
		if _, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Name: "exit"}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("got %v", err)
		}
	}
}

// logLines are the lines of a log.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Text that a process wrote in an earlier request is not in the error of the one that it dies of.
func TestLastWordsOfAnotherRequest(t *testing.T) {
	lines := make(logLines, 1000)
	options := host.Options{Log: slog.New(slog.NewTextHandler(lines, nil))}
	_, r := open(t, folder(t, "limits: {restarts: 100}"), options)
	f, _ := r.Importance("sample.is_long")
	if _, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Name: "complain"}}); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(<-lines, "a complaint") { // the test's own time limit ends it
	}
	_, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Name: "quit"}})
	if err == nil || !strings.Contains(err.Error(), "exit status 9") || strings.Contains(err.Error(), "complaint") {
		t.Errorf("got %v", err)
	}
}

// A step that is out of time before its request is sent learns why it waited.
func TestWaitsInVain(t *testing.T) {
	_, r := open(t, folder(t, "limits: {concurrency: 1}"), host.Options{Backoff: time.Hour})
	if err := syscall.Kill(pid(t, r), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f, _ := r.Resolver("pid")
	resolve := func(ctx context.Context) error {
		_, err := f.Resolve(ctx, plugins.State{}, []string{"pid"})
		return err
	}
	briefly := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return resolve(ctx)
	}
	is := func(err error, want string) bool {
		return errors.Is(err, context.DeadlineExceeded) && calls.KindOf(err) == calls.Timeout && err.Error() == "plugin sample, variable pid: "+want+": context deadline exceeded"
	}
	// A request notices the end of the process, or the next one finds it gone: either way
	// it is started again after the pause.
	eventually(t, "that it is waited for", func() bool { return is(briefly(), "it is still being started") })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { first <- resolve(ctx) }()
	eventually(t, "that the first request is in the way", func() bool {
		return is(briefly(), "1 requests before it are not answered yet (limits.concurrency in plugin.yaml)")
	})
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) || calls.KindOf(err) != calls.Canceled {
		t.Errorf("the first got %v", err)
	}
}

// beAHost starts a plugin, says its process id, and waits to be killed.
func beAHost(dir, temp string) {
	h, err := host.Single(context.Background(), dir, host.Options{TempDir: temp})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r, _ := calls.NewRegistry()
	_ = h.Register(r)
	f, _ := r.Resolver("pid")
	values, err := f.Resolve(context.Background(), plugins.State{}, []string{"pid"})
	fmt.Println(string(values["pid"]), err)
	select {}
}

// A plugin does not outlive a host that is killed.
func TestOrphan(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // the host cannot do it
	cmd := exec.Command(program, "be-a-host", folder(t, ""), temp)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	word, _, _ := strings.Cut(line, " ")
	plugin, err := strconv.Atoi(word)
	if err != nil || !alive(plugin) {
		t.Fatalf("the host says %q", line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the end of the plugin", func() bool { return !alive(plugin) || zombie(plugin) })
}

// zombie: without a process that collects orphans, they stay in the table.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}
