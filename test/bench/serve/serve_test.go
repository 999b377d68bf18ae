// Package serve_test measures `scheduler serve` from outside, as its clients see it, beside
// a bare net/http server that does nothing (the floor) and LangGraph's development server.
// For example, it measures runs of a flow of three steps.
package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

const (
	// clients is how many clients start runs at the same time, readers how many follow one.
	clients, readers = 32, 1000
	// waiting is how many runs wait for a value, interrupted how many a killed server leaves.
	waiting, interrupted = 1000, 1000
	// listed is how many runs there are when a page of them is asked for.
	listed = 10_000
	// single is how many requests one client makes one after the other.
	single = 300
)

// client has a connection for every reader.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients}}

// program is a `scheduler serve` in a project of its own.
type program struct {
	tb        testing.TB
	file, dir string
	base      string
	cmd       *exec.Cmd
}

// newProgram builds the program and makes a project whose flows may ask the address allowed.
func newProgram(tb testing.TB, allowed string) *program {
	tb.Helper()
	dir := tb.TempDir()
	p := &program{tb: tb, file: filepath.Join(dir, "scheduler"), dir: filepath.Join(dir, "project")}
	build := exec.CommandContext(tb.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.file, "./cmd/scheduler") // as `make build` does
	build.Dir = filepath.Join("..", "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	p.write("scheduler.yaml", fmt.Sprintf("http: {allow_hosts: [%q]}\nserve: {max_runs: %d, max_runs_per_user: %[2]d, max_queued: 10000, drain: 1s}\n", allowed, interrupted))
	p.write("flows/three.yaml", "name: three\nsteps:\n"+templates(3))
	p.write("flows/thousand.yaml", "name: thousand\nsteps:\n"+templates(1000))
	p.write("flows/wait.yaml", `name: wait
steps:
  - id: place
    call: slot
    with: {stages: [], current_schema: {type: object, required: [city], properties: {city: {type: string}}}}
  - {id: say, call: template, with: {template: "{{ c }}", values: {c: "{{ place.slot_data.city }}"}}}
`)
	p.write("flows/hold.yaml", fmt.Sprintf("name: hold\nsteps: [{id: a, call: http, with: {url: 'http://%s/hold', timeout: 10m}}]\n", allowed))
	slow := "name: slow\nsteps:\n  - {id: begin, call: http, with: {url: 'http://" + allowed + "/hold', timeout: 10m}}\n"
	before := "begin"
	for i := range 60 {
		slow += fmt.Sprintf("  - {id: s%d, call: http, needs: [%s], with: {url: 'http://%s/pause'}}\n", i, before, allowed)
		before = fmt.Sprintf("s%d", i)
	}
	p.write("flows/slow.yaml", slow)
	return p
}

// templates returns n steps, each after the one before.
func templates(n int) string {
	var b strings.Builder
	for i := range n {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf(", needs: [s%d]", i-1)
		}
		fmt.Fprintf(&b, "  - {id: s%d, call: template%s, with: {template: x}}\n", i, needs)
	}
	return b.String()
}

func (p *program) write(name, text string) {
	p.tb.Helper()
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		p.tb.Fatal(err)
	}
}

var listening = regexp.MustCompile(`http://[^/\s]+`)

// start starts the server, and waits until it listens.
func (p *program) start() {
	p.tb.Helper()
	p.cmd = exec.CommandContext(p.tb.Context(), p.file, "serve", "--listen", "127.0.0.1:0", "--auth", "none")
	p.cmd.Dir = p.dir
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.tb.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.base = listening.FindString(lines.Text())
		if p.base != "" {
			go io.Copy(io.Discard, out)
			return
		}
	}
	p.tb.Fatal("the server does not start")
}

// kill kills the server and waits for its end.
func (p *program) kill() {
	if p.cmd != nil && p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // it was killed
	}
}

// residentKB returns the resident memory of the server, in KB.
func (p *program) residentKB() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// metric returns a value of /metrics.
func (p *program) metric(name string) int {
	_, text := request(p.tb, "GET", p.base+"/metrics", "")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return int(n)
		}
	}
	return 0
}

// diskKB returns the size of the journal and similar files, in KB.
func (p *program) diskKB() int {
	bytes := int64(0)
	_ = filepath.WalkDir(filepath.Join(p.dir, ".scheduler"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return int(bytes >> 10)
}

// run starts a run of a flow and returns its id and its state.
func (p *program) run(flow, query string) (id, state string) {
	_, text := request(p.tb, "POST", p.base+"/api/v1/runs"+query, `{"flow": "`+flow+`"}`)
	var doc struct{ Run, State string }
	if err := json.Unmarshal(text, &doc); err != nil {
		p.tb.Error(err)
	}
	return doc.Run, doc.State
}

// request makes a request, and reads its answer.
func request(tb testing.TB, method, url, body string) (time.Duration, []byte) {
	began := time.Now()
	r, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		tb.Error(err)
		return 0, nil
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		tb.Error(err)
		return 0, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		tb.Errorf("%s %s: %d %.300s, %v", method, url, answer.StatusCode, text, err)
	}
	return time.Since(began), text
}

// times are how long requests took.
type times []time.Duration

// measure makes n requests one after the other.
func measure(n int, one func() time.Duration) times {
	all := make(times, n)
	for i := range all {
		all[i] = one()
	}
	slices.Sort(all)
	return all
}

// quantile returns a quantile, in ms.
func (t times) quantile(q float64) string {
	return fmt.Sprintf("%.1f", t[min(int(q*float64(len(t))), len(t)-1)].Seconds()*1000)
}

// perSecond returns how many requests a second all clients make, of n in all.
func perSecond(n int, one func()) string {
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				one()
			}
		})
	}
	all.Wait()
	return fmt.Sprintf("%.0f", float64(n)/time.Since(began).Seconds())
}

// floor is the server that flows ask, and that does nothing.
type floor struct {
	*httptest.Server
	// held counts the requests that wait until free is closed.
	held atomic.Int64
	free atomic.Pointer[chan struct{}]
}

func newFloor(tb testing.TB) *floor {
	f := &floor{}
	f.hold()
	mux := http.NewServeMux()
	mux.HandleFunc("/hold", func(w http.ResponseWriter, r *http.Request) {
		f.held.Add(1)
		defer f.held.Add(-1)
		select {
		case <-*f.free.Load():
			fmt.Fprint(w, "{}")
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/pause", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(40 * time.Millisecond)
		fmt.Fprint(w, "{}")
	})
	mux.HandleFunc("/api/v1/runs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `{"run": "x", "state": "finished"}`)
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		_ = flush.Flush()
		<-*f.free.Load()
		for range 300 {
			fmt.Fprintf(w, "data: {\"time\":%q,\"type\":\"step.started\",\"step\":\"s10\",\"data\":{\"call\":\"http\"}}\n\n", time.Now().Format(time.RFC3339Nano))
			_ = flush.Flush()
			time.Sleep(8 * time.Millisecond)
		}
		fmt.Fprintf(w, "data: {\"type\":\"flow.finished\"}\n\n")
	})
	f.Server = httptest.NewServer(mux)
	tb.Cleanup(f.Close)
	return f
}

// hold lets requests wait, release lets them go.
func (f *floor) hold() {
	free := make(chan struct{})
	f.free.Store(&free)
}

func (f *floor) release() { close(*f.free.Load()) }

// awaitHeld waits until n requests wait, and returns how long that took.
func (f *floor) awaitHeld(tb testing.TB, n int64) time.Duration {
	tb.Helper()
	began := time.Now()
	for f.held.Load() != n {
		if time.Since(began) > 2*time.Minute {
			tb.Fatalf("%d of %d requests came", f.held.Load(), n)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// follow reads a stream of events to the end of its run, and returns how late they came.
func follow(tb testing.TB, url string, isOpen func()) (late times) {
	r, err := http.NewRequestWithContext(tb.Context(), "GET", url, http.NoBody)
	if err != nil {
		tb.Error(err)
		return nil
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := client.Do(r)
	isOpen()
	if err != nil {
		tb.Error(err)
		return nil
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if bytes.Contains(data, []byte(`"type":"flow.finished"`)) {
			return late
		}
		_, rest, _ := bytes.Cut(data, []byte(`"time":"`))
		at, err := time.Parse(time.RFC3339Nano, string(rest[:max(bytes.IndexByte(rest, '"'), 0)]))
		if err == nil {
			late = append(late, time.Since(at))
		}
	}
	tb.Errorf("a reader was cut off: %v", lines.Err())
	return late
}

// followAll has all readers follow a run that begin continues, and returns how late its events came, and the
// resident memory that a reader takes.
func followAll(tb testing.TB, url string, resident func() int, begin func()) (late times, perReader string) {
	var open, all sync.WaitGroup
	open.Add(readers)
	var mu sync.Mutex
	before := resident()
	for range readers {
		all.Go(func() {
			own := follow(tb, url, open.Done)
			mu.Lock()
			defer mu.Unlock()
			late = append(late, own...)
		})
	}
	open.Wait()
	perReader = fmt.Sprintf("%d KB", (resident()-before)/readers)
	began := time.Now()
	begin()
	all.Wait()
	slices.Sort(late)
	fmt.Printf("  %d readers got %.0f events a second\n", readers, float64(len(late))/time.Since(began).Seconds())
	return late, perReader
}

// langGraph starts LangGraph's development server with the same three steps, and returns its address; "" if Node
// is not installed.
func langGraph(tb testing.TB) (base string) {
	tb.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		fmt.Println("  without LangGraph: npm is not there")
		return ""
	}
	dir := tb.TempDir()
	if err := os.CopyFS(dir, os.DirFS("langgraph")); err != nil {
		tb.Fatal(err)
	}
	install := exec.CommandContext(tb.Context(), "npm", "install", "--no-audit", "--no-fund", "--silent")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		fmt.Printf("  without LangGraph: npm install: %v %.200s\n", err, out)
		return ""
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	_ = listener.Close()
	cmd := exec.CommandContext(tb.Context(), filepath.Join("node_modules", ".bin", "langgraphjs"), "dev", "--port", strconv.Itoa(address.Port), "--no-browser")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	})
	base = fmt.Sprintf("http://localhost:%d", address.Port)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		r, err := http.NewRequestWithContext(ctx, "GET", base+"/ok", http.NoBody)
		if err != nil {
			tb.Fatal(err)
		}
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
		}
		cancel()
		if err == nil && answer.StatusCode == http.StatusOK {
			return base
		}
	}
	fmt.Println("  without LangGraph: it does not start")
	return ""
}

// row is a line of the table: the measured thing, its goal, and each server's result.
type row struct{ what, goal, ours, floor, peer string }

// TestServes keeps the measurements honest: each flow does the work that is measured.
func TestServes(t *testing.T) {
	f := newFloor(t)
	p := newProgram(t, strings.TrimPrefix(f.URL, "http://"))
	p.start()
	defer p.kill()
	for _, name := range []string{"three", "thousand"} {
		if _, state := p.run(name, "?wait=60s"); state != "finished" {
			t.Errorf("the flow %s is %s", name, state)
		}
	}
	id, state := p.run("wait", "?wait=60s")
	if state != "waiting" {
		t.Fatalf("the flow wait is %s", state)
	}
	p.answer(id)
	f.release()
	id, _ = p.run("slow", "")
	if late := follow(t, p.base+"/api/v1/runs/"+id+"/events", func() {}); len(late) < 100 {
		t.Errorf("the flow slow has %d events", len(late))
	}
}

// answer gives a waiting run its value, and follows it to its end.
func (p *program) answer(id string) time.Duration {
	began := time.Now()
	request(p.tb, "POST", p.base+"/api/v1/runs/"+id+"/answers", `{"answers": [{"pointer": "/city", "value": "Ulm"}]}`)
	follow(p.tb, p.base+"/api/v1/runs/"+id+"/events", func() {})
	return time.Since(began)
}

// BenchmarkServe measures a server's performance in one run and prints it beside the goals. It only asserts that
// all requests are served: on a busy machine everything is slow.
func BenchmarkServe(b *testing.B) {
	for b.Loop() {
		rows := measureAll(b)
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "what\tgoal\tours\tfloor\tLangGraph")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.what, r.goal, r.ours, r.floor, r.peer)
		}
		_ = w.Flush()
	}
}

func measureAll(b *testing.B) (rows []row) {
	b.Helper()
	add := func(what, goal, ours, floor, peer string) { rows = append(rows, row{what, goal, ours, floor, peer}) }
	f := newFloor(b)
	p := newProgram(b, strings.TrimPrefix(f.URL, "http://"))
	p.start()
	defer p.kill()
	peer := langGraph(b)
	post := func(base, path, body string) func() time.Duration {
		return func() time.Duration {
			took, _ := request(b, "POST", base+path, body)
			return took
		}
	}
	three := `{"flow": "three"}`
	idle := fmt.Sprintf("%d MB", p.residentKB()>>10)

	first, bare := measure(single, post(p.base, "/api/v1/runs", three)), measure(single, post(f.URL, "/api/v1/runs", three))
	end := measure(single, post(p.base, "/api/v1/runs?wait=10s", three))
	peerFirst, peerEnd, peerRate := "", "", ""
	if peer != "" {
		asked := `{"assistant_id": "three", "input": {}, "stream_mode": ["updates"]}`
		began := measure(single/10, func() time.Duration { return firstEvent(b, peer+"/runs/stream", asked) })
		peerFirst = began.quantile(.5) + " / " + began.quantile(.99)
		peerEnd = measure(single/10, post(peer, "/runs/wait", asked)).quantile(.5)
		peerRate = perSecond(single, func() { request(b, "POST", peer+"/runs/wait", asked) })
	}
	add("first event, p50 / p99", "5 / 20 ms", first.quantile(.5)+" / "+first.quantile(.99), bare.quantile(.5)+" / "+bare.quantile(.99), peerFirst)
	add("run of 3 steps to its end, p50", "10 ms", end.quantile(.5), measure(single, post(f.URL, "/api/v1/runs", three)).quantile(.5), peerEnd)
	add(fmt.Sprintf("runs a second, %d clients", clients), "400",
		perSecond(listed, func() { request(b, "POST", p.base+"/api/v1/runs?wait=10s", three) }),
		perSecond(listed, func() { request(b, "POST", f.URL+"/api/v1/runs", three) }), peerRate)
	get := func(base, path string) func() time.Duration {
		return func() time.Duration {
			took, _ := request(b, "GET", base+path, "")
			return took
		}
	}
	bareGet := measure(single, get(f.URL, "/api/v1/runs")).quantile(.5)
	add(fmt.Sprintf("page of 50 among %d runs, p50", listed), "5 ms", measure(single, get(p.base, "/api/v1/runs?limit=50")).quantile(.5), bareGet, "")

	id, _ := p.run("slow", "")
	f.awaitHeld(b, 1)
	late, perReader := followAll(b, p.base+"/api/v1/runs/"+id+"/events", p.residentKB, f.release)
	f.hold()
	bareLate, _ := followAll(b, f.URL+"/events", func() int { return 0 }, f.release)
	add(fmt.Sprintf("%d readers of a run, p50 / p99", readers), "250 ms", late.quantile(.5)+" / "+late.quantile(.99), bareLate.quantile(.5)+" / "+bareLate.quantile(.99), "")
	add("memory: a reader / idle process", "80 KB / 80 MB", perReader+" / "+idle, "", "")

	goroutines, disk := p.metric("go_goroutines"), p.diskKB()
	var held []string
	for range waiting {
		id, state := p.run("wait", "?wait=10s")
		if state != "waiting" {
			b.Errorf("a run that should wait is %s", state)
		}
		held = append(held, id)
	}
	add("a run that waits", "0 goroutines, 4 KB", fmt.Sprintf("%.2f goroutines, %.1f KB", float64(max(p.metric("go_goroutines")-goroutines, 0))/waiting, float64(p.diskKB()-disk)/waiting), "", "")
	answers := measure(single, func() time.Duration {
		id := held[0]
		held = held[1:]
		return p.answer(id)
	})
	add("answer to the end, p50", "15 ms", answers.quantile(.5), "", "")

	id, _ = p.run("thousand", "?wait=60s")
	add("a run of 1,000 steps, GET p50", "100 ms", measure(20, get(p.base, "/api/v1/runs/"+id)).quantile(.5), bareGet, "")
	text, err := json.Marshal(map[string]string{"file": "thousand.yaml", "text": "name: thousand\nsteps:\n" + templates(1000)})
	if err != nil {
		b.Fatal(err)
	}
	add("lint of 1,000 steps, p50", "100 ms", measure(20, post(p.base, "/api/v1/lint", string(text))).quantile(.5),
		measure(20, post(f.URL, "/api/v1/runs", string(text))).quantile(.5), "")

	f.hold()
	for range interrupted {
		p.run("hold", "")
	}
	f.awaitHeld(b, interrupted)
	p.kill()
	f.awaitHeld(b, 0)
	began := time.Now()
	p.start()
	f.awaitHeld(b, interrupted)
	add(fmt.Sprintf("all of %d runs taken over after kill -9", interrupted), "10 s", fmt.Sprintf("%.1f s", time.Since(began).Seconds()), "", "")
	f.release()
	usable, updates := measurePage(b, p.file)
	add("page of a run of 1,000 steps usable", "2 s", usable, "", "")
	add("100 updates on it", "50 ms", updates, "", "")
	return rows
}

var (
	usableLine  = regexp.MustCompile(`wide: 1,000 steps usable after (\d+) ms`)
	updatesLine = regexp.MustCompile(`100 updates were drawn .*, the last after (\d+) ms`)
)

// measurePage runs the tests of the page that measure it, in a browser, with the program.
func measurePage(tb testing.TB, program string) (usable, updates string) {
	tb.Helper()
	ui := filepath.Join("..", "..", "..", "scheduler", "web", "ui")
	if _, err := os.Stat(filepath.Join(ui, "node_modules")); err != nil {
		fmt.Println("  without the page: its tests are not installed (make test-web does that)")
		return "", ""
	}
	cmd := exec.CommandContext(tb.Context(), "npx", "playwright", "test", "e2e/run.spec.ts", "--project", "e2e", "-g", "usable: wide|hundred updates")
	cmd.Dir, cmd.Env = ui, append(os.Environ(), "SCHEDULER="+program)
	out, err := cmd.CombinedOutput()
	if err != nil {
		fmt.Printf("  without the page: %v %.500s\n", err, out)
		return "", ""
	}
	find := func(line *regexp.Regexp) string {
		found := line.FindSubmatch(out)
		if found == nil {
			tb.Errorf("the tests of the page print no line like %s: %s", line, out)
			return ""
		}
		return string(found[1]) + " ms"
	}
	return find(usableLine), find(updatesLine)
}

// firstEvent returns how long the first event of a stream takes, and reads it to its end.
func firstEvent(tb testing.TB, url, body string) time.Duration {
	began := time.Now()
	r, err := http.NewRequestWithContext(tb.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		tb.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		tb.Error(err)
		return 0
	}
	defer answer.Body.Close()
	if _, err := answer.Body.Read(make([]byte, 1)); err != nil {
		tb.Error(err)
	}
	took := time.Since(began)
	_, _ = io.Copy(io.Discard, answer.Body)
	return took
}
