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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/server/store"
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

// fetch makes a request; nil if the server is not there or refuses it.
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

// shortKills is how often the slow tests kill the server; make chaos sets SERVER_KILLS.
const shortKills = 10

// clientsAtOnce is how many clients start runs meanwhile.
const clientsAtOnce = 8

// missedFires is how many fires of a schedule were missed when the server starts.
const missedFires = 60

// chaosFlow has a schedule whose missed fires are all made up for, and a webhook.
const chaosFlow = `name: three
inputs: {type: object, properties: {at: {type: string, default: ""}}}
triggers:
  schedules: [{id: often, cron: "* * * * *", inputs: {at: "{{ schedule.time }}"}, overlap: parallel, catch_up: all}]
  webhooks: [{id: hook, verify: none}]
steps:
  - {id: a, call: template, with: {template: x}}
  - {id: b, call: template, with: {template: x}}
  - {id: c, call: template, with: {template: x}}
`

// TestServerIsKilled kills the server again and again while clients start runs, each until
// its key is answered, deliver webhooks, and fires of a schedule are made up for: no run is
// lost or begun twice, all finish, and no step that had finished runs again.
func TestServerIsKilled(t *testing.T) {
	slow.Test(t)
	kills := shortKills
	if n, err := strconv.Atoi(os.Getenv("SERVER_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "scheduler")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	for name, text := range map[string]string{"scheduler.yaml": "", "flows/three.yaml": chaosFlow} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stateDir := filepath.Join(dir, ".scheduler")
	missFires(t, stateDir)
	var base atomic.Value
	p := startServer(t, program, dir)
	base.Store(p.base)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var answered sync.Map // the run of each key
	for n := range clientsAtOnce {
		path := "/api/v1/runs"
		if n == 0 {
			path = "/hooks/three/hook"
		}
		clients.Go(func() {
			for i := 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%d-%d", n, i)
				if r := fetch(base.Load().(string), path, key, `{"flow": "three"}`); r != nil {
					answered.Store(key, r["run"])
					i++
				} else {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	for i := range kills {
		time.Sleep(time.Duration(100+i%10*70) * time.Millisecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait() // it was killed
		p = startServer(t, program, dir)
		base.Store(p.base)
	}
	close(stop)
	clients.Wait()
	runs, fired := finishedRuns(t, p.base, stateDir)
	n := 0
	for _, run := range answered.Range {
		n++
		if !runs[run.(string)] {
			t.Errorf("the run %s is lost", run)
		}
	}
	if n < kills || len(runs) < n || len(runs) > n+clientsAtOnce { // the last request of each client may not have been answered
		t.Errorf("%d keys were answered, there are %d runs", n, len(runs))
	}
	t.Logf("%d kills, %d runs of clients, %d of the schedule", kills, len(runs), len(fired))
	checkFires(t, fired)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// missFires makes the schedule one that no server has seen for a while.
func missFires(t *testing.T, stateDir string) {
	t.Helper()
	s, err := store.Open(t.Context(), stateDir, func() time.Time { return time.Now().Add(-missedFires * time.Minute) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindSchedule(t.Context(), "three:often"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkFires holds the times of the scheduled runs to one run for each minute.
func checkFires(t *testing.T, fired []string) {
	t.Helper()
	slices.Sort(fired)
	if len(fired) < missedFires {
		t.Errorf("%d fires were missed, %d have a run", missedFires, len(fired))
	}
	for i := 1; i < len(fired); i++ {
		before, err := time.Parse(time.RFC3339, fired[i-1])
		at, err2 := time.Parse(time.RFC3339, fired[i])
		if err != nil || err2 != nil || at.Sub(before) != time.Minute {
			t.Errorf("after the fire of %s comes that of %s", fired[i-1], fired[i])
		}
	}
}

// finishedRuns waits until no run is at work and all fires have their runs, and returns the runs that clients
// began, true for runs that have finished with every step once, and the times of the scheduled runs.
func finishedRuns(t *testing.T, base, stateDir string) (runs map[string]bool, fired []string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		left := fetch(base, "/api/v1/runs?state=running", "", "")
		if left != nil && len(left["items"].([]any)) == 0 && hasFired(t, stateDir) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("runs are still at work")
		}
	}
	runs = map[string]bool{}
	for cursor := ""; ; {
		page := fetch(base, "/api/v1/runs?limit=200&cursor="+cursor, "", "")
		for _, item := range page["items"].([]any) {
			run := item.(map[string]any)
			id := run["run"].(string)
			ended := fetch(base, "/api/v1/runs/"+id+"/events?types=step.finished", "", "")
			if n := len(ended["items"].([]any)); n != 3 || run["state"] != "finished" {
				t.Errorf("the run %s is %v and has %d steps that finished", id, run["state"], n)
			}
			if labels, _ := run["labels"].(map[string]any); labels["schedule"] == nil {
				runs[id] = run["state"] == "finished"
				continue
			}
			started := fetch(base, "/api/v1/runs/"+id+"/events?types=flow.started", "", "")
			data := started["items"].([]any)[0].(map[string]any)["data"].(map[string]any)
			fired = append(fired, data["inputs"].(map[string]any)["at"].(string))
		}
		next, ok := page["next"].(string)
		if !ok {
			return runs, fired
		}
		cursor = next
	}
}

// hasFired reports whether no fire of a schedule is still to be carried out.
func hasFired(t *testing.T, stateDir string) bool {
	t.Helper()
	s, err := store.Open(t.Context(), stateDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pending, err := s.PendingFires(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(pending) == 0
}
