//go:build unix

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
)

// TestFaults lets everything go wrong that may, under load, and verifies every run.
func TestFaults(t *testing.T) {
	n := rounds(t)
	c := newCluster(t)
	for range 3 {
		c.startWorker()
	}
	for _, fault := range []struct {
		name string
		do   func(c *cluster)
	}{
		{"workers are killed", killWorkers},
		{"a worker freezes for longer than its lease", freezeWorker},
		{"workers are replaced one by one", replaceWorkers},
		{"Postgres crashes", crashPostgres},
		{"Temporal crashes", crashTemporal},
	} {
		t.Run(fault.name, func(t *testing.T) {
			c := c.in(t)
			for range n {
				all := c.startRuns(6, 3, 3)
				pause(500, 1500)
				fault.do(c)
				c.finishRuns(all)
				if t.Failed() {
					t.Fatal(c.logs())
				}
			}
		})
	}
	t.Run("no worker is there while runs wait", func(t *testing.T) {
		c := c.in(t)
		for range n {
			waitWithoutWorkers(c)
		}
	})
}

// in returns the cluster for a part of a test.
func (c *cluster) in(t *testing.T) *cluster {
	part := *c
	part.t = t
	return &part
}

// pause sleeps for so many milliseconds.
func pause(least, most int) {
	time.Sleep(time.Duration(least+rand.IntN(most-least)) * time.Millisecond) //nolint:gosec // no secret
}

// replace starts a worker in place of one that has ended.
func (c *cluster) replace(i int) { c.workers[i] = c.start("worker", c.workers[i].cmd.Args...) }

// killWorkers kills workers at random moments.
func killWorkers(c *cluster) {
	for range 4 {
		i := rand.IntN(len(c.workers)) //nolint:gosec // no secret
		c.workers[i].kill()
		c.replace(i)
		pause(100, 1500)
	}
}

// freezeWorker stops a worker for so long that others take its runs, and then continues it.
func freezeWorker(c *cluster) {
	w := c.workers[rand.IntN(len(c.workers))] //nolint:gosec // no secret
	w.signal(syscall.SIGSTOP)
	time.Sleep(heartbeat + 2*time.Second)
	w.signal(syscall.SIGCONT)
}

// replaceWorkers ends the workers one after the other, as an upgrade does.
func replaceWorkers(c *cluster) {
	for i, w := range slices.Clone(c.workers) {
		c.stop(w)
		c.replace(i)
		pause(300, 800)
	}
}

// crashPostgres lets the database go without writing anything, and brings it back.
func crashPostgres(c *cluster) {
	c.postgres.Stop(c.t, "immediate")
	pause(200, 3000)
	c.postgres.Start(c.t)
}

// crashTemporal kills Temporal and brings it back.
func crashTemporal(c *cluster) {
	c.temporal.kill()
	pause(200, 3000)
	c.temporal = c.start("temporal", c.server...)
}

// waitWithoutWorkers ends all workers while runs wait; an answer that is given then is taken when
// a worker is back.
func waitWithoutWorkers(c *cluster) {
	all := c.startRuns(0, 0, 4)
	for _, r := range all {
		c.waitFor(r.id, journal.RunWaiting)
	}
	for _, w := range c.workers {
		c.stop(w)
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		pause(1000, 3000)
		for i := range c.workers {
			c.replace(i)
		}
	}()
	c.finishRuns(all)
	<-back
}

// TestChildRuns spreads the items of a list over workers of another queue, and kills the worker that waits for
// them and some of the busy ones.
func TestChildRuns(t *testing.T) {
	n := rounds(t)
	c := newCluster(t)
	c.startWorker()
	for range 2 {
		c.startWorker("--queue", "far")
	}
	for range n {
		id, err := c.startRun("spread")
		if err != nil {
			t.Fatal(err)
		}
		pause(500, 1500)
		for i := range 2 {
			c.workers[i].kill()
			c.replace(i)
			pause(100, 500)
		}
		c.waitFor(id, journal.RunFinished)
		c.verifyChildren(id)
		if t.Failed() {
			t.Fatal(c.logs())
		}
	}
}

// verifyChildren checks the guarantees for the child runs of a run of the flow spread: there is one for each item,
// each has finished once, and so has each of its steps.
func (c *cluster) verifyChildren(id string) {
	c.t.Helper()
	takeOvers, times := 0, 0
	for child, err := range c.journal.Runs(context.Background(), journal.RunFilter{Labels: map[string]string{journal.LabelChildOf: id}}) {
		if err != nil {
			c.t.Fatal(err)
		}
		if child.State != journal.RunFinished {
			c.t.Errorf("the child run %s is %s", child.ID, child.State)
		}
		finished := map[string]int{}
		for e, err := range c.journal.Events(context.Background(), child.ID, 1) {
			if err != nil {
				c.t.Fatal(err)
			}
			switch e.Type { //nolint:exhaustive // the others do not matter
			case journal.FlowResumed:
				takeOvers++
			case journal.StepFinished, journal.FlowFinished:
				finished[e.Step]++
			}
		}
		if finished["first"] != 1 || finished["last"] != 1 || finished[""] != 1 {
			c.t.Errorf("the child run %s has finished %v", child.ID, finished)
		}
		times++
	}
	done, steps := c.work.doneOf(id)
	if times != spreadWidth || steps != 2*spreadWidth || done > steps+takeOvers {
		c.t.Errorf("%d child runs with %d takeovers have done %d steps %d times", times, takeOvers, steps, done)
	}
	c.t.Logf("%d child runs, %d takeovers, %d steps done again", times, takeOvers, done-steps)
}

// TestManyRuns carries out as many runs at once as a busy day has, while one of everything fails.
func TestManyRuns(t *testing.T) {
	runs := min(1000, 100*rounds(t))
	c := newCluster(t)
	for range 3 {
		c.startWorker()
	}
	base := c.startServer().base
	c.work.pause = 0
	const steps = 10
	var flow strings.Builder
	flow.WriteString("name: many\n" + looseInputs + "steps:\n")
	for i := range steps {
		fmt.Fprintf(&flow, "  - {id: s%d, call: http, with: {url: \"{{ inputs.url }}/?wait=200ms&run={{ run.id }}&step=s%[1]d\"}}\n", i)
	}
	c.write("many", flow.String())
	ids := c.post(base, "many", runs)
	if t.Failed() {
		t.FailNow()
	}
	c.workers[0].kill()
	c.replace(0)
	freezeWorker(c)
	crashPostgres(c)
	crashTemporal(c)
	all := make([]*run, len(ids))
	for i, id := range ids {
		all[i] = &run{id: id, flow: "many", steps: steps, width: 1}
	}
	c.finishRuns(all)
	if t.Failed() {
		t.Fatal(c.logs())
	}
}
