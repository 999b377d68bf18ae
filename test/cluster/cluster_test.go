//go:build unix

// Package cluster checks the guarantees of runs on several machines, for example that no event is lost, while
// workers, Postgres and Temporal die, freeze and come back. Every process is real; they share one machine.
//
// make cluster sets CLUSTER_ROUNDS, without which the tests are skipped: they need Postgres, for
// one server with the store and one with the state of Temporal, and a server of Temporal, which is
// temporalserver, the module in this folder, whose compilation takes minutes.
// CLUSTER_TEMPORALSERVER and CLUSTER_SCHEDULER name programs that are built already; beside the
// second must be scheduler-temporal.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

const (
	// heartbeat is after how long without a sign of life Temporal takes a worker for dead; the
	// lease of a run, in the journal, takes 4 s.
	heartbeat = 5 * time.Second
	// patience bounds every wait.
	patience = 3 * time.Minute
)

// rounds returns how often each fault is tried.
func rounds(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("CLUSTER_ROUNDS"))
	if err != nil || n < 1 {
		t.Skip("make cluster runs it")
	}
	return n
}

// cluster is a Temporal server, a Postgres, a folder with flows, and workers. [newCluster] makes
// one for a test.
type cluster struct {
	t        testing.TB // reports failures
	root     testing.TB // with whose end the processes end
	program  string     // the path of scheduler
	dir      string     // the project
	store    string     // the URL of the database
	postgres *pgdbtest.Server
	journal  journal.Journal
	temporal *process
	server   []string // the command of Temporal
	address  string   // of Temporal
	work     *workplace
	workers  []*process
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t, root: t, dir: t.TempDir(), postgres: pgdbtest.NewServer(t), work: newWorkplace(t)}
	c.store = c.postgres.NewURL(t)
	bin := t.TempDir()
	c.program = os.Getenv("CLUSTER_SCHEDULER")
	if c.program == "" {
		c.program = filepath.Join(bin, "scheduler")
		c.build(c.program, "../..", "./cmd/scheduler")
		c.build(c.program+"-temporal", "../../cmd/scheduler-temporal", ".")
	}
	c.prepareTemporal(bin)
	settings := fmt.Sprintf("on: temporal://%s\ntemporal: {heartbeat: %s}\nworker: {drain: 1s}\nhttp: {allow_hosts: ['127.0.0.1:*']}\n"+
		"llm: {default: talker, providers: [{name: talker, type: openai, base_url: %s/v1, model: talker}]}\n", c.address, heartbeat, c.work.URL)
	if err := os.Mkdir(filepath.Join(c.dir, "flows"), 0o750); err != nil {
		t.Fatal(err)
	}
	flows := map[string]string{"scheduler.yaml": settings, "flows/chain.yaml": chainFlow(), "flows/mixed.yaml": mixedFlow, "flows/ask.yaml": askFlow, "flows/spread.yaml": spreadFlow, "flows/item.yaml": itemFlow}
	for name, text := range flows {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := sqljournal.OpenShared(t.Context(), sqljournal.SharedOptions{URL: c.store})
	if err != nil {
		t.Fatal(err)
	}
	c.journal = j
	t.Cleanup(func() { _ = j.Close() })
	c.startTemporal()
	return c
}

func (c *cluster) build(out, dir, pkg string) {
	c.t.Helper()
	// The same flags as in make build, so that its compiled packages are reused. Both programs must have one version.
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=cluster", "-o", out, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("building %s: %v\n%s", pkg, err, text)
	}
}

// prepareTemporal chooses the address of the Temporal server and the place of its state: a Postgres of its own,
// which keeps running when the store's crashes.
func (c *cluster) prepareTemporal(bin string) {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.address = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(c.address)
	path := os.Getenv("CLUSTER_TEMPORALSERVER")
	if path == "" {
		path = filepath.Join(bin, "temporalserver")
		c.build(path, "temporalserver", ".")
	}
	c.server = []string{path, "-port", port, "-db", pgdbtest.NewServer(c.t).NewURL(c.t)}
}

// startTemporal starts the server of Temporal and returns when it takes requests.
func (c *cluster) startTemporal() {
	c.t.Helper()
	c.temporal = c.start("temporal", c.server...)
	c.eventually("Temporal takes requests", func() error {
		_, err := c.scheduler("worker", "--setup")
		return err
	})
}

// startWorker starts a worker, which takes its first run a moment later.
func (c *cluster) startWorker(flags ...string) *process {
	c.t.Helper()
	w := c.start("worker", append([]string{c.program, "worker"}, flags...)...)
	c.workers = append(c.workers, w)
	return w
}

// scheduler runs a command and returns its output.
func (c *cluster) scheduler(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir, cmd.Env = c.dir, c.environ()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("scheduler %s: %w\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), nil
}

func (c *cluster) environ() []string {
	return append(os.Environ(), "SCHEDULER_STORE="+c.store, "LANG=C")
}

// startRun starts a run, which is not followed, and returns its id.
func (c *cluster) startRun(flow string) (id string, err error) {
	out, err := c.scheduler("run", filepath.Join("flows", flow+".yaml"), "-i", "url="+c.work.URL, "--detach")
	return strings.TrimSpace(out), err
}

// eventually calls check until it succeeds.
func (c *cluster) eventually(what string, check func() error) {
	c.t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < patience; time.Sleep(100 * time.Millisecond) {
		err = check()
		if err == nil {
			return
		}
	}
	c.t.Fatalf("not in %s: %s: %v\n%s", patience, what, err, c.logs())
}

// waitFor waits until a run is in a state.
func (c *cluster) waitFor(run string, state journal.RunStatus) {
	c.t.Helper()
	c.eventually("the run "+run+" is "+string(state), func() error {
		info, err := c.journal.Run(context.Background(), run)
		if err == nil && info.State != state {
			err = fmt.Errorf("it is %s after %d events, held by %v", info.State, info.LastSeq, info.Holder)
		}
		return err
	})
}

// logs returns the ends of the processes' output.
func (c *cluster) logs() string {
	var b strings.Builder
	for _, p := range append(c.workers, c.temporal) {
		text, _ := os.ReadFile(p.log) // an empty one says as much
		fmt.Fprintf(&b, "--- %s, process %d\n%s\n", p.name, p.cmd.Process.Pid, text[max(0, len(text)-2000):])
	}
	return b.String()
}

// process is a program under way. It ends with its test.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended, with err
	err  error
}

// start starts a program in the folder of the project.
func (c *cluster) start(name string, command ...string) *process {
	c.t.Helper()
	p := &process{name: name, cmd: exec.Command(command[0], command[1:]...), done: make(chan struct{})}
	log, err := os.CreateTemp(c.root.TempDir(), name)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	p.log = log.Name()
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = c.dir, c.environ(), log, log
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	c.root.Cleanup(p.kill)
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

// kill kills the process and returns when it has ended.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// stop asks a process to end, and waits until it has.
func (c *cluster) stop(p *process) {
	c.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.err != nil {
			c.t.Errorf("%s ended with %v\n%s", p.name, p.err, c.logs())
		}
	case <-time.After(patience):
		c.t.Fatalf("%s does not end\n%s", p.name, c.logs())
	}
}

// workplace receives the effects of the steps of flows: it counts how often each step was done. It is safe for
// concurrent use.
type workplace struct {
	*httptest.Server

	mu    sync.Mutex // guards the fields below
	done  map[string]int
	pause time.Duration
}

func newWorkplace(t testing.TB) *workplace {
	w := &workplace{done: map[string]int{}, pause: 400 * time.Millisecond}
	mux := http.NewServeMux()
	mux.HandleFunc("/", w.doStep)
	mux.HandleFunc("POST /v1/chat/completions", answerInPieces)
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	return w
}

// talkPieces are the pieces of an answer of the model.
const talkPieces = 100

// answerInPieces is a model that answers piece by piece.
func answerInPieces(out http.ResponseWriter, _ *http.Request) {
	out.Header().Set("Content-Type", "text/event-stream")
	for range talkPieces {
		time.Sleep(40 * time.Millisecond)
		fmt.Fprint(out, `data: {"choices": [{"index": 0, "delta": {"content": "word "}}]}`+"\n\n")
		_ = http.NewResponseController(out).Flush() // the reader may be dead
	}
	fmt.Fprint(out, `data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// doStep counts a step of a run, and takes a while.
func (w *workplace) doStep(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.done[r.FormValue("run")+" "+r.FormValue("step")]++
	pause := w.pause
	w.mu.Unlock()
	if wait, err := time.ParseDuration(r.FormValue("wait")); err == nil {
		time.Sleep(wait)
	}
	if pause > 0 {
		time.Sleep(time.Duration(float64(pause) * (0.5 + rand.Float64()))) //nolint:gosec // no secret
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(map[string]string{"step": r.FormValue("step")}) // the reader may be dead
}

// doneOf returns how often steps of a run were done, and how many different ones.
func (w *workplace) doneOf(run string) (times, steps int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, n := range w.done {
		if strings.HasPrefix(key, run+" ") {
			times += n
			steps++
		}
	}
	return times, steps
}

const (
	// chainSteps and mixedSteps count the steps with an effect of these flows.
	chainSteps, mixedSteps, askSteps = 20, 14, 2
	// mixedWidth is how many of them are at work at once.
	mixedWidth = 4
)

const workStep = `"{{ inputs.url }}/?run={{ run.id }}&step=%s"`

func chainFlow() string {
	var b strings.Builder
	b.WriteString("name: chain\n" + urlInput + "steps:\n")
	for i := range chainSteps {
		fmt.Fprintf(&b, "  - {id: s%d, call: http, with: {url: "+workStep+"}}\n", i, "s"+strconv.Itoa(i))
	}
	return b.String()
}

const urlInput = "inputs: {type: object, required: [url], properties: {url: {type: string}}}\n"

var mixedFlow = "name: mixed\n" + urlInput + `steps:
  - {id: first, call: http, with: {url: ` + fmt.Sprintf(workStep, "first") + `}}
  - {id: items, call: http, for_each: "{{ [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }}", max_parallel: 2, needs: [first], with: {url: ` + fmt.Sprintf(workStep, "item{{ item }}") + `}}
  - {id: beside, call: http, needs: [first], with: {url: ` + fmt.Sprintf(workStep, "beside") + `}}
  - {id: more, call: http, needs: [beside], with: {url: ` + fmt.Sprintf(workStep, "more") + `}}
  - {id: last, call: http, needs: [items, more], with: {url: ` + fmt.Sprintf(workStep, "last") + `}}
`

var askFlow = "name: ask\n" + urlInput + `steps:
  - {id: first, call: http, with: {url: ` + fmt.Sprintf(workStep, "first") + `}}
  - {id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [n], properties: {n: {type: integer, minimum: 5}}}}}
  - {id: last, call: http, with: {url: ` + fmt.Sprintf(workStep, "last") + `}}
outputs: {n: "{{ ask.slot_data.n }}"}
`

// spreadWidth is how many runs of its own the flow spread has.
const spreadWidth = 12

var spreadFlow = "name: spread\n" + urlInput + `steps:
  - {id: items, call: flow, queue: far, for_each: "{{ [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }}", with: {path: item.yaml, inputs: {url: "{{ inputs.url }}", run: "{{ run.id }}", n: "{{ item }}"}}}
outputs: {all: "{{ items }}"}
`

const itemFlow = `
name: item
inputs: {type: object, required: [url, run, n], properties: {url: {type: string}, run: {type: string}, n: {type: integer}}}
steps:
  - {id: first, call: http, with: {url: "{{ inputs.url }}/?run={{ inputs.run }}&step=first{{ inputs.n }}"}}
  - {id: last, call: http, with: {url: "{{ inputs.url }}/?run={{ inputs.run }}&step=last{{ inputs.n }}"}}
outputs: {n: "{{ inputs.n }}"}
`

// run is a run of a test, and the state that it must have at its end.
type run struct {
	id, flow     string
	steps, width int
	// n is the answer that it gets; 0 if it asks for none.
	n int
}

// startRuns starts runs of all kinds.
func (c *cluster) startRuns(chains, mixed, asking int) (all []*run) {
	c.t.Helper()
	for range chains {
		all = append(all, &run{flow: "chain", steps: chainSteps, width: 1})
	}
	for range mixed {
		all = append(all, &run{flow: "mixed", steps: mixedSteps, width: mixedWidth})
	}
	for i := range asking {
		all = append(all, &run{flow: "ask", steps: askSteps, width: 1, n: 10 + i})
	}
	var starting sync.WaitGroup
	for _, r := range all {
		starting.Go(func() {
			var err error
			r.id, err = c.startRun(r.flow)
			if err != nil {
				c.t.Error(err)
			}
		})
	}
	starting.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
	return all
}

// answer answers a run that asks, until the answer is in the journal: with faults under way a command may fail,
// but an answer that one has reported as accepted stays.
func (c *cluster) answer(r *run) {
	c.t.Helper()
	isTaken := false
	c.eventually("the run "+r.id+" takes its answer", func() error {
		info, err := c.journal.Run(context.Background(), r.id)
		if err != nil {
			return err
		}
		if info.State == journal.RunFinished {
			return nil
		}
		if isTaken {
			return errors.New("it is " + string(info.State))
		}
		_, err = c.scheduler("resume", r.id, "--set", "/n="+strconv.Itoa(r.n))
		isTaken = err == nil
		return err
	})
}

// finishRuns answers the runs that ask, waits until all runs have ended, and verifies them.
func (c *cluster) finishRuns(all []*run) {
	c.t.Helper()
	var answering sync.WaitGroup
	for _, r := range all {
		if r.n != 0 {
			answering.Go(func() { c.answer(r) })
		}
	}
	answering.Wait()
	for _, r := range all {
		c.waitFor(r.id, journal.RunFinished)
	}
	takeOvers, again := 0, 0
	for _, r := range all {
		n, more := c.verify(r)
		takeOvers += n
		again += more
	}
	c.t.Logf("%d runs, %d takeovers, %d steps done again", len(all), takeOvers, again)
}

// verify checks the guarantees for every run: its events have no gaps, no step is recorded as finished twice, each
// was done, and no more of them again than were at work when a process lost the run. It returns how often a
// process lost a run, and how many steps were done again.
func (c *cluster) verify(r *run) (takeOvers, again int) {
	c.t.Helper()
	var seq int64
	finished := map[string]int{}
	isWaiting := false
	for e, err := range c.journal.Events(context.Background(), r.id, 1) {
		if err != nil {
			c.t.Fatal(err)
		}
		seq++
		if e.Seq != seq {
			c.t.Errorf("the run %s: the event %d is at the place %d", r.id, e.Seq, seq)
		}
		switch e.Type { //nolint:exhaustive // the others do not matter
		case journal.FlowWaiting:
			isWaiting = true
		case journal.FlowResumed:
			if !isWaiting {
				takeOvers++
			}
			isWaiting = false
		case journal.StepFinished:
			key := e.Step
			if e.Index != nil {
				key += fmt.Sprint(*e.Index)
			}
			finished[key]++
		}
	}
	for step, n := range finished {
		if n != 1 {
			c.t.Errorf("the run %s: the step %s is finished %d times", r.id, step, n)
		}
	}
	times, steps := c.work.doneOf(r.id)
	if steps != r.steps {
		c.t.Errorf("the run %s of %s: %d different steps were done, want %d", r.id, r.flow, steps, r.steps)
	}
	if most := r.steps + takeOvers*r.width; times > most {
		c.t.Errorf("the run %s of %s: steps were done %d times, with %d takeovers of at most %d steps want at most %d", r.id, r.flow, times, takeOvers, r.width, most)
	}
	if r.n != 0 {
		if got, want := c.outputsOf(r.id), fmt.Sprintf(`{"n":%d}`, r.n); got != want {
			c.t.Errorf("the run %s: the outputs are %s, want %s", r.id, got, want)
		}
	}
	return takeOvers, times - steps
}

// outputsOf returns the outputs of a run that has finished, in JSON.
func (c *cluster) outputsOf(id string) (outputs string) {
	c.t.Helper()
	for e, err := range c.journal.Events(context.Background(), id, 1) {
		if err != nil {
			c.t.Fatal(err)
		}
		if e.Type == journal.FlowFinished && e.Data.Outputs != nil {
			outputs = e.Data.Outputs.JSON()
		}
	}
	return outputs
}
