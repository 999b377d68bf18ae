//go:build unix

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/callnode/scheduler/scheduler/journal"
)

// TestFigures prints the cost of runs on a cluster on this machine, beside the goals. It asserts no times: a busy
// machine slows everything.
func TestFigures(t *testing.T) {
	rounds(t)
	c := newCluster(t)
	w := c.startWorker()
	base := c.startServer().base
	c.work.pause = 0
	row := func(what, goal, format string, args ...any) {
		fmt.Printf("%-46s %-22s %s\n", what, goal, fmt.Sprintf(format, args...))
	}
	row("", "goal", "measured")
	c.write("one", longFlow("one", 1))
	c.measure(base, "one", 3) // connections are made, flows are read
	_, whole := c.measure(base, "one", 30)
	row("fixed cost of a run, p50", "80 ms", "%s", median(whole))
	events, size := c.historyOf(c.postOne(base, "one"))
	row("history of a run of one stretch", "12 events, 2 KB", "%d events, %.1f KB", events, float64(size)/1024)
	const steps = 10_000
	for _, shape := range []string{"chain", "fan"} {
		c.write(shape+"10000", longFlow(shape, steps))
		atWork, _ := c.measure(base, shape+"10000", 1)
		goal := map[string]string{"chain": "0.7 ms", "fan": "0.1 ms"}[shape]
		row(fmt.Sprintf("%s of %d steps, a step", shape, steps), goal, "%.2f ms", float64(atWork[0].Microseconds())/1000/steps)
	}
	row("answer to end of run, p50", "120 ms", "%s", median(c.measureAnswers(base, 20)))
	delays := c.measureDeltas(base)
	row("a piece of an answer to a reader elsewhere", "50 ms, p99 100 ms", "%s, p99 %s", median(delays), delays[len(delays)*99/100].Round(time.Millisecond))
	c.write("many", longFlow("slow", 10))
	const runs = 1000
	began := time.Now()
	ids := c.post(base, "many", runs)
	for _, id := range ids {
		c.waitFor(id, journal.RunFinished)
	}
	row(fmt.Sprintf("%d runs of 10 steps of 200 ms at once", runs), "25 runs/s", "%.0f runs/s", runs/time.Since(began).Seconds())
	row("takeover from a worker that is killed", (heartbeat + 2*time.Second).String(), "%s", c.measureTakeover(func() {
		w.kill()
		w = c.startWorker()
	}))
	row("takeover from a worker that is stopped", "0.5 s + drain of 1 s", "%s", c.measureTakeover(func() {
		c.startWorker()
		time.Sleep(time.Second)
		c.stop(w)
	}))
}

// longFlow returns a flow with that many steps: a chain or a fan of steps that do nothing, or a
// chain of slow ones.
func longFlow(shape string, steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\n"+looseInputs+"steps:\n", shape)
	for i := range steps {
		with := "call: template, with: {template: x}"
		if shape == "slow" {
			with = "call: http, with: {url: \"http://{{ inputs.host }}/?wait=200ms\"}"
		}
		needs := ""
		if shape == "fan" {
			needs = "needs: [], "
		}
		fmt.Fprintf(&b, "  - {id: s%d, %s%s}\n", i, needs, with)
	}
	return b.String()
}

// looseInputs lets a flow be started with inputs that it has no use for.
const looseInputs = "inputs: {type: object, properties: {url: {type: string}, host: {type: string}}}\n"

func (c *cluster) write(flow, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "flows", flow+".yaml"), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// post starts runs of a flow through the server, several at once, and returns their ids.
func (c *cluster) post(base, flow string, n int) []string {
	c.t.Helper()
	ids := make([]string, n)
	var group sync.WaitGroup
	next := make(chan int)
	for range 8 {
		group.Go(func() {
			for i := range next {
				ids[i] = c.postOne(base, flow)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return ids
}

func (c *cluster) postOne(base, flow string) string {
	host := strings.TrimPrefix(c.work.URL, "http://")
	body := fmt.Sprintf(`{"flow": %q, "inputs": {"host": %q, "url": %q}}`, flow, host, c.work.URL)
	resp, err := http.Post(base+"/api/v1/runs", "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var doc struct {
		Run string `json:"run"`
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil || doc.Run == "" {
		c.t.Errorf("starting a run of %s: %v\n%s", flow, err, text)
	}
	return doc.Run
}

// measure runs a flow n times, one after the other, and returns how long the runs were at work,
// and how long they took from their start to their end.
func (c *cluster) measure(base, flow string, n int) (atWork, whole []time.Duration) {
	c.t.Helper()
	for range n {
		began := time.Now()
		id := c.postOne(base, flow)
		c.waitFor(id, journal.RunFinished)
		first, last := c.timeOf(id, journal.FlowStarted), c.timeOf(id, journal.FlowFinished)
		atWork, whole = append(atWork, last.Sub(first)), append(whole, last.Sub(began))
	}
	return atWork, whole
}

// measureAnswers returns how long it takes from the moment that an answer is recorded to the end of its run.
func (c *cluster) measureAnswers(base string, n int) (all []time.Duration) {
	c.t.Helper()
	c.write("quick", "name: quick\n"+looseInputs+"steps: [{id: ask, call: slot, with: {stages: [], current_schema: {type: object, required: [n], properties: {n: {type: integer}}}}}]\n")
	for range n {
		id := c.postOne(base, "quick")
		c.waitFor(id, journal.RunWaiting)
		if _, err := c.scheduler("resume", id, "--set", "/n=7"); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, c.timeOf(id, journal.FlowFinished).Sub(c.timeOf(id, journal.StepAnswered)))
	}
	return all
}

// historyOf returns how many events Temporal has kept of a run that has ended, and how many bytes.
func (c *cluster) historyOf(id string) (events, size int64) {
	c.t.Helper()
	sdk, err := client.Dial(client.Options{HostPort: c.address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		c.t.Fatal(err)
	}
	defer sdk.Close()
	if err := sdk.GetWorkflow(context.Background(), id, "").Get(context.Background(), nil); err != nil {
		c.t.Fatal(err)
	}
	described, err := sdk.DescribeWorkflowExecution(context.Background(), id, "")
	if err != nil {
		c.t.Fatal(err)
	}
	info := described.GetWorkflowExecutionInfo()
	return info.GetHistoryLength(), info.GetHistorySizeBytes()
}

// measureDeltas returns how long the pieces of an answer take from the worker, which writes them, to a
// client of the server.
func (c *cluster) measureDeltas(base string) (delays []time.Duration) {
	c.t.Helper()
	c.write("talk", talkFlow)
	id := c.postOne(base, "talk")
	req, err := http.NewRequest(http.MethodGet, base+"/api/v1/runs/"+id+"/events", http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		text, isData := strings.CutPrefix(lines.Text(), "data: ")
		var e journal.Event
		if !isData || json.Unmarshal([]byte(text), &e) != nil {
			continue
		}
		switch e.Type { //nolint:exhaustive // what else comes does not matter
		case journal.StepDelta:
			delays = append(delays, time.Since(e.Time))
		case journal.FlowFinished, journal.FlowFailed:
			if len(delays) < talkPieces/2 {
				c.t.Fatalf("%d pieces of an answer came: %s", len(delays), text)
			}
			slices.Sort(delays)
			return delays
		}
	}
	c.t.Fatal("the stream of events has ended before the run")
	return nil
}

// measureTakeover returns how long a running run pauses when its worker leaves.
func (c *cluster) measureTakeover(leave func()) time.Duration {
	c.t.Helper()
	c.work.pause = 500 * time.Millisecond
	defer func() { c.work.pause = 0 }()
	id, err := c.startRun("chain")
	if err != nil {
		c.t.Fatal(err)
	}
	c.eventually("the run is at work", func() error {
		if times, _ := c.work.doneOf(id); times < 2 {
			return fmt.Errorf("%d steps were done", times)
		}
		return nil
	})
	leave()
	c.waitFor(id, journal.RunFinished)
	resumed := c.timeOf(id, journal.FlowResumed)
	var before time.Time
	for e, err := range c.journal.Events(context.Background(), id, 1) {
		if err != nil {
			c.t.Fatal(err)
		}
		if e.Time.Before(resumed) {
			before = e.Time
		}
	}
	return resumed.Sub(before).Round(10 * time.Millisecond)
}

// timeOf returns when the first event of a type was.
func (c *cluster) timeOf(id string, kind journal.EventType) time.Time {
	c.t.Helper()
	for e, err := range c.journal.Events(context.Background(), id, 1) {
		if err != nil {
			c.t.Fatal(err)
		}
		if e.Type == kind {
			return e.Time
		}
	}
	c.t.Fatalf("the run %s has no %s", id, kind)
	return time.Time{}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2].Round(time.Millisecond)
}
