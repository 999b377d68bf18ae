// Package order decides which steps of a run can start, which are skipped, and which items of a step come next.
// For example, a step whose needs were all skipped is skipped too. The package uses no time, I/O or lock: the
// engine reports the steps that have ended, and executes and records the resulting changes.
package order

// Status is the state of a step.
type Status uint8

// The states of a step. Pending waits for its needs, Ready is in the queue.
const (
	Pending Status = iota
	Ready
	Running
	Skipped
	Failed
	Finished
	Waiting
)

// Step has the parts of a step that determine its order.
type Step struct {
	// Needs is how many steps must be over before it, Next are the steps that need it.
	Needs int
	Next  []int
	// Implicit is true if its only need is the step before it, which it follows even if that was skipped.
	Implicit bool
}

// Job is a step, or an item of one, that can run.
type Job struct {
	Step int
	Item int // -1: the step itself
}

// Change is a step that has become Ready or Skipped.
type Change struct {
	Step   int
	Status Status
}

// Machine orders the steps of one run. Every step counts the needs that are not over,
// and one that ends counts its successors down: a step costs the same in a flow of any
// size. A Machine lives as long as its run and is not safe for concurrent use.
type Machine struct {
	steps   []Step
	nodes   []node
	queue   queue
	fans    map[int]*fan
	changes []Change // the result of the last call
}

type node struct {
	status Status
	// pending counts the needs that are not over; ran is true once one of them was not
	// skipped.
	pending int32
	ran     bool
}

// New returns the machine of a run whose steps are all pending.
func New(steps []Step) *Machine {
	m := &Machine{steps: steps, nodes: make([]node, len(steps))}
	for i := range steps {
		m.nodes[i].pending = int32(steps[i].Needs)
	}
	return m
}

// Restore sets a step to Finished or Skipped that an earlier process has brought to its
// end. It is called before Start.
func (m *Machine) Restore(step int, status Status) {
	m.nodes[step].status = status
	m.countDown(step, func(int) {})
}

// Start makes ready or skips the steps that wait for nothing. The result holds until the next call.
func (m *Machine) Start() []Change {
	m.changes = m.changes[:0]
	for i := range m.nodes {
		if m.nodes[i].status == Pending && m.nodes[i].pending == 0 {
			m.readyOrSkip(i)
		}
	}
	m.followSkipped()
	return m.changes
}

// Status returns the status of a step. It does not change after the step is over, and goroutines started after
// that may read it.
func (m *Machine) Status(step int) Status { return m.nodes[step].status }

// SetStatus notes the state of a step that has begun. One that is over holds its successors until
// [Machine.Release].
func (m *Machine) SetStatus(step int, status Status) { m.nodes[step].status = status }

// Release makes ready or skips the successors of a step that is over, and the successors of steps skipped by that.
// The result holds until the next call.
func (m *Machine) Release(step int) []Change {
	m.changes = m.changes[:0]
	m.countDown(step, m.readyOrSkip)
	m.followSkipped()
	return m.changes
}

// followSkipped releases the successors of the steps that were skipped, breadth first.
func (m *Machine) followSkipped() {
	for i := 0; i < len(m.changes); i++ {
		if m.changes[i].Status == Skipped {
			m.countDown(m.changes[i].Step, m.readyOrSkip)
		}
	}
}

// countDown counts down at the successors of a step that is over, and begins successors that wait for nothing
// else.
func (m *Machine) countDown(step int, begin func(int)) {
	ran := m.nodes[step].status == Finished
	for _, next := range m.steps[step].Next {
		n := &m.nodes[next]
		n.ran = n.ran || ran || m.steps[next].Implicit
		n.pending--
		if n.pending <= 0 && n.status == Pending {
			begin(next)
		}
	}
}

// readyOrSkip makes a step ready whose needs are all over, or skips it if all were skipped.
func (m *Machine) readyOrSkip(step int) {
	n := &m.nodes[step]
	n.status = Ready
	if !n.ran && m.steps[step].Needs > 0 {
		n.status = Skipped
	} else {
		m.queue.push(Job{step, -1})
	}
	m.changes = append(m.changes, Change{step, n.status})
}

// HasNext reports whether a job is in the queue.
func (m *Machine) HasNext() bool { return m.queue.len() > 0 }

// Peek returns the job that [Machine.Next] would take; the queue must have one.
func (m *Machine) Peek() Job { return m.queue.jobs[m.queue.head] }

// Next takes the next job from the queue, which must have one; its step is running.
func (m *Machine) Next() Job {
	j := m.queue.pop()
	m.nodes[j.Step].status = Running
	return j
}

// queue is a first-in-first-out queue of jobs.
type queue struct {
	jobs []Job
	head int
}

func (q *queue) push(j Job) { q.jobs = append(q.jobs, j) }
func (q *queue) len() int   { return len(q.jobs) - q.head }

func (q *queue) pop() Job {
	j := q.jobs[q.head]
	q.head++
	if q.head == len(q.jobs) {
		q.jobs, q.head = q.jobs[:0], 0
	}
	return j
}
