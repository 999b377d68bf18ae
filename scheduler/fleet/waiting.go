package fleet

import (
	"slices"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Code is why a run waits for a process, as programs read it.
type Code string

// The codes.
const (
	// NoWorker: no process takes runs of the queue.
	NoWorker Code = "no_worker"
	// Busy: all slots are taken, or those that its user may have.
	Busy     Code = "busy"
	UserBusy Code = "user_busy"
	// Missing: each process lacks something that the run needs, for example a plugin.
	Missing Code = "missing"
	// Paused: the run was taken up in vain, and is tried again later.
	Paused Code = "paused"
	// Away: the server that gives runs to the processes cannot be reached, for example Temporal.
	Away Code = "away"
	// Turn: a process is about to take it.
	Turn Code = "turn"
)

// Reason is why a run that no process is at has to wait.
type Reason struct {
	Code  Code         `json:"code"`
	Text  wording.Text `json:"-"`
	Queue string       `json:"queue"`
	// Until is when the run is tried again, for Paused.
	Until time.Time `json:"until,omitzero"`
}

// ForUser returns the text for a user, without names of machines and the things they lack.
func (r *Reason) ForUser() wording.Text {
	switch r.Code { //nolint:exhaustive // the texts of the others name neither
	case NoWorker, Missing, Away:
		return wording.Say("no machine is there that can carry it out")
	}
	return r.Text
}

// PausedUntil returns the reason of a run that is tried again later.
func PausedUntil(queue string, until time.Time) *Reason {
	return &Reason{Code: Paused, Queue: queue, Until: until, Text: wording.Say("it was taken up in vain, and is tried again at %s", until.Local().Format(time.DateTime))}
}

// EngineAway returns the reason of a run whose queue is on a server that cannot be reached.
func EngineAway(queue string) *Reason {
	return &Reason{Code: Away, Queue: queue, Text: wording.Say("the server that has the queue %s cannot be reached: is it running?", queue)}
}

// WhyWaiting returns why a run that waits in a queue has not started yet, from records of processes that were read
// just now. byUser is how many runs of its user are running.
func WhyWaiting(run, queue string, workers []*Worker, byUser int) *Reason {
	taking, lost := takers(queue, workers, time.Now())
	if len(taking) == 0 {
		return noWorkerReason(queue, lost)
	}
	isLocal := queue == LocalQueue
	r := &Reason{Code: Turn, Queue: queue, Text: wording.Say("a worker of the queue %s is about to take it", queue)}
	if isLocal {
		r.Text = wording.Say("a server is about to take it")
	}
	used, slots, perUser := 0, 0, 0
	var left []Left
	var by *Worker
	for _, w := range taking {
		i := slices.IndexFunc(w.Queues, func(q Queue) bool { return q.Name == queue })
		used, slots, perUser = used+w.Queues[i].Used, slots+w.Queues[i].Slots, perUser+w.PerUser
		if l := slices.IndexFunc(w.Left, func(l Left) bool { return l.Run == run }); l >= 0 {
			left, by = append(left, w.Left[l]), w
		}
	}
	switch {
	case len(left) == len(taking):
		return leftReason(queue, by, left)
	case used >= slots && isLocal:
		r.Code, r.Text = Busy, wording.Say("all slots of the servers are busy (%d of %d)", used, slots)
	case used >= slots:
		r.Code, r.Text = Busy, wording.Say("all slots of the queue %s are busy (%d of %d)", queue, used, slots)
	case perUser > 0 && byUser >= perUser:
		r.Code, r.Text = UserBusy, wording.Say("its user has as many runs at work as one user may (%d)", byUser)
	}
	return r
}

// takers returns the processes that take runs of a queue, and the one among those lost or silent that was there last.
func takers(queue string, workers []*Worker, now time.Time) (taking []*Worker, lost *Worker) {
	for _, w := range workers {
		hasQueue := slices.ContainsFunc(w.Queues, func(q Queue) bool { return q.Name == queue })
		isSilent := !w.LastBeat.IsZero() && now.Sub(w.LastBeat) > SilentAfter
		switch {
		case !hasQueue, w.State == Stopping:
		case w.State == Working && !isSilent:
			taking = append(taking, w)
		case lost == nil || w.LastBeat.After(lost.LastBeat):
			lost = w
		}
	}
	return taking, lost
}

func noWorkerReason(queue string, lost *Worker) *Reason {
	text := wording.Say("no worker is there for the queue %s", queue)
	if queue == LocalQueue {
		text = wording.Say("no server runs that carries it out")
	}
	if lost != nil {
		text = wording.Say("%s (%s was there until %s)", text, lost.Name(), lost.LastBeat.Local().Format(time.DateTime))
	}
	return &Reason{Code: NoWorker, Queue: queue, Text: text}
}

// leftReason returns the reason of a run that all processes have left alone, by being the last of them.
func leftReason(queue string, by *Worker, left []Left) *Reason {
	next := time.Time{}
	for _, l := range left {
		if !l.Until.IsZero() && (next.IsZero() || l.Until.Before(next)) {
			next = l.Until
		}
	}
	if !next.IsZero() {
		return PausedUntil(queue, next)
	}
	text := wording.Say("%s cannot carry it out: %s", by.Name(), left[len(left)-1].Reason)
	if len(left) > 1 {
		text = wording.Say("none of the %d workers of the queue %s can carry it out; %s: %s", len(left), queue, by.Name(), left[len(left)-1].Reason)
	}
	return &Reason{Code: Missing, Queue: queue, Text: text}
}
