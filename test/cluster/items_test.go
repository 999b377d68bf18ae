//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/callnode/scheduler/scheduler/journal"
)

const countFlow = `
name: count
inputs: {type: object, required: [n], properties: {n: {type: integer}}}
steps: [{id: made, call: template, with: {template: x}}]
outputs: {n: "{{ inputs.n }}"}
`

const listFlow = "name: list\n" + looseInputs + `steps:
  - {id: items, call: flow, queue: far, for_each: "{{ range(%d) }}", max_parallel: 64, with: {path: count.yaml, inputs: {n: "{{ item }}"}}}
outputs: {ordered: "{{ items | map(attribute='n') | list == range(%[1]d) | list }}"}
`

// TestManyItems lets a run have as many runs of its own as a long list has items, over two workers
// of another queue. One of them and the worker that waits for them are killed on the way.
func TestManyItems(t *testing.T) {
	items := min(10_000, 500*rounds(t))
	c := newCluster(t)
	c.startWorker()
	for range 2 {
		c.startWorker("--queue", "far")
	}
	c.write("count", countFlow)
	c.write("list", fmt.Sprintf(listFlow, items))
	id, err := c.startRun("list")
	if err != nil {
		t.Fatal(err)
	}
	const eventsOfItem = 4
	kills := map[int]int64{0: int64(items) * eventsOfItem / 2, 1: int64(items) * eventsOfItem / 4}
	for info := (&journal.RunInfo{}); info.State != journal.RunFinished; {
		before := info.LastSeq
		c.eventually("the run of the items goes on", func() error {
			now, err := c.journal.Run(context.Background(), id)
			if err != nil {
				return err
			}
			info = now
			if info.LastSeq == before {
				return errors.New("no event has come")
			}
			return nil
		})
		if info.State == journal.RunFailed {
			t.Fatalf("the run of the items has failed\n%s", c.logs())
		}
		for worker, seq := range kills {
			if info.LastSeq >= seq {
				delete(kills, worker)
				c.workers[worker].kill()
				c.replace(worker)
			}
		}
	}
	if outputs := c.outputsOf(id); outputs != `{"ordered":true}` {
		t.Errorf("the outputs are %s", outputs)
	}
	c.verifyItems(id, items)
}

// verifyItems checks that each item of a run was a run of its own, which has finished, and is
// recorded once.
func (c *cluster) verifyItems(id string, items int) {
	c.t.Helper()
	children := 0
	for child, err := range c.journal.Runs(context.Background(), journal.RunFilter{Labels: map[string]string{journal.LabelChildOf: id}}) {
		if err != nil {
			c.t.Fatal(err)
		}
		if child.State != journal.RunFinished {
			c.t.Errorf("the child run %s is %s", child.ID, child.State)
		}
		children++
	}
	if children != items {
		c.t.Errorf("there are %d child runs, want %d", children, items)
	}
	c.verify(&run{id: id, flow: "list"})
}
