//go:build unix

package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
)

// states returns the workers that are listed, by their process ids.
func (c *cluster) states() (map[int]fleet.State, error) {
	out, err := c.scheduler("workers", "--json")
	if err != nil {
		return nil, err
	}
	var all []fleet.Worker
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return nil, err
	}
	states := map[int]fleet.State{}
	for _, w := range all {
		states[w.PID] = w.State
	}
	return states, nil
}

// A worker is listed while it lives, lost once it was killed, and gone once it has stopped; a run names the
// workers that carried it out, and why it waits.
func TestWorkersAreSeen(t *testing.T) {
	rounds(t)
	c := newCluster(t)
	run, err := c.startRun("chain")
	if err != nil {
		t.Fatal(err)
	}
	shows := func(text string) func() error {
		return func() error {
			out, err := c.scheduler("runs", "show", run)
			if err == nil && !strings.Contains(out, text) {
				err = fmt.Errorf("it shows %s", out)
			}
			return err
		}
	}
	c.eventually("the run waits for a worker", shows("no worker is there for the queue scheduler"))
	killed := c.startWorker()
	c.eventually("the run names its worker", shows(fmt.Sprintf("process %d on ", killed.cmd.Process.Pid)))
	killed.kill()
	stopped := c.startWorker()
	first, second := killed.cmd.Process.Pid, stopped.cmd.Process.Pid
	c.eventually("the killed one is lost", func() error {
		states, err := c.states()
		if err == nil && (states[first] != fleet.Lost || states[second] != fleet.Working) {
			err = fmt.Errorf("they are %v", states)
		}
		return err
	})
	c.waitFor(run, journal.RunFinished)
	if err := shows(fmt.Sprintf("process %d on ", second))(); err != nil {
		t.Error(err)
	}
	c.stop(stopped)
	states, err := c.states()
	if _, isThere := states[second]; isThere || err != nil {
		t.Errorf("after it has stopped: %v, %v", states, err)
	}
}
