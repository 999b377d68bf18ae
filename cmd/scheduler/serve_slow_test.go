package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/test/slow"
)

// serverProcess is a process of scheduler serve.
type serverProcess struct {
	*exec.Cmd
	base string
}

// startServer starts the program in a directory, and waits until it listens.
func startServer(t *testing.T, program, dir string) *serverProcess {
	t.Helper()
	p := &serverProcess{Cmd: exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--auth", "none")}
	p.Dir, p.Env = dir, append(os.Environ(), "SCHEDULER_SERVE_MAX_QUEUED=100000")
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = os.Stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening at ")
	if err != nil || !ok {
		t.Fatalf("got %q, %v", line, err)
	}
	p.base = base
	return p
}

// fetch makes a request; nil where the server is not there, or refuses it.
func fetch(base, path, key, body string) map[string]any {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		return nil
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	client := &http.Client{Timeout: 10 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var doc map[string]any
	if err != nil || answer.StatusCode >= 300 || json.Unmarshal(text, &doc) != nil {
		return nil
	}
	return doc
}

// TestServerIsKilled kills the server again and again while clients start runs, each until
// its key is answered: no run is lost or begun twice, all finish, and no step that had
// finished runs again.
func TestServerIsKilled(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "scheduler")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	flow := "name: three\nsteps:\n  - {id: a, call: template, with: {template: x}}\n  - {id: b, call: template, with: {template: x}}\n  - {id: c, call: template, with: {template: x}}\n"
	for name, text := range map[string]string{"scheduler.yaml": "", "flows/three.yaml": flow} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var base atomic.Value
	p := startServer(t, program, dir)
	base.Store(p.base)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var answered sync.Map // the run of each key
	for n := range 4 {
		clients.Go(func() {
			for i := 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%d-%d", n, i)
				if r := fetch(base.Load().(string), "/api/v1/runs", key, `{"flow": "three"}`); r != nil {
					answered.Store(key, r["run"])
					i++
				} else {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	const kills = 10
	for i := range kills {
		time.Sleep(time.Duration(100+i*70) * time.Millisecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait() // it was killed
		p = startServer(t, program, dir)
		base.Store(p.base)
	}
	close(stop)
	clients.Wait()
	runs := finishedRuns(t, p.base)
	n := 0
	for _, run := range answered.Range {
		n++
		if !runs[run.(string)] {
			t.Errorf("the run %s is lost", run)
		}
	}
	if n < kills || len(runs) < n || len(runs) > n+4 { // the last request of each client may not have been answered
		t.Errorf("%d keys were answered, there are %d runs", n, len(runs))
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// finishedRuns waits until no run is at work, and returns those that have finished, each with
// every step once.
func finishedRuns(t *testing.T, base string) map[string]bool {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if left := fetch(base, "/api/v1/runs?state=running", "", ""); left != nil && len(left["items"].([]any)) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("runs are still at work")
		}
	}
	runs := map[string]bool{}
	for cursor := ""; ; {
		page := fetch(base, "/api/v1/runs?limit=200&cursor="+cursor, "", "")
		for _, item := range page["items"].([]any) {
			run := item.(map[string]any)
			id := run["run"].(string)
			runs[id] = run["state"] == "finished"
			ended := fetch(base, "/api/v1/runs/"+id+"/events?types=step.finished", "", "")
			if n := len(ended["items"].([]any)); n != 3 || !runs[id] {
				t.Errorf("the run %s is %v and has %d steps that finished", id, run["state"], n)
			}
		}
		next, ok := page["next"].(string)
		if !ok {
			return runs
		}
		cursor = next
	}
}
