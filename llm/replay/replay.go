// Package replay records the answers that runs of a flow get from outside in a cassette, a YAML file that people
// can read, review and keep beside the flow, and plays it back: flows run offline, for nothing, and always alike,
// a year later and on another machine. For example, with the cassette shop.cassette.yaml, the flow shop.yaml runs
// without a key for its model.
//
// A [Cassette] is a file with any number of runs, each found by its inputs. A [Run] records one of them, or plays
// it: its models ([Run.Provider]), and everything else by [Run.Exchange].
package replay

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Mode decides whether tests play or record a request.
type Mode string

// The modes.
const (
	// Replay plays recordings; a request without one is an error.
	Replay Mode = "replay"
	// Auto plays recordings, and records missing ones.
	Auto Mode = "auto"
)

// Options are the cassette to use and the way to use it.
type Options struct {
	// Path is the cassette's file. Recording creates it.
	Path string
	// ShownPath is the name of the file in messages; "" is Path.
	ShownPath string
	// Hidden are texts that must not get into the file, which may come up while runs go on; nil for none.
	Hidden *secret.Set
	// LogDir is the folder in which runs keep recordings until the file is written, if that folder exists; ""
	// keeps nothing.
	LogDir string
	// Secrets returns the secrets that this machine has, by the names that flows use; nil: none have names.
	Secrets func() []Secret
	// Hint is how to record, for the message about a request that is not recorded; ""
	// is a general one.
	Hint string
}

// Cassette is an open file. [Open] makes it, for all runs of a process that use the file; it is safe for
// concurrent use. Other programs may record the cassette at the same time: their recordings are kept.
type Cassette struct {
	options Options

	mu sync.Mutex

	// The following fields are guarded by mu.

	file    *cassette
	own     []*recordedRun // those that are recorded now, and may differ from the file
	begun   map[string]int // by inputs and user: how many runs of them began
	saved   time.Time
	saving  time.Duration       // how long that took
	isStale bool                // the file lacks something
	seen    os.FileInfo         // of the file as it was read or written; nil: there was none
	logs    map[string]*os.File // by path
}

// Open reads a cassette. One that does not exist is empty.
func Open(o Options) (*Cassette, error) {
	o.ShownPath = cmp.Or(o.ShownPath, o.Path)
	c := &Cassette{options: o, begun: map[string]int{}, logs: map[string]*os.File{}}
	var err error
	c.file, err = c.readLocked()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// IsCurrent reports whether the file is as this cassette has read or written it.
func (c *Cassette) IsCurrent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isCurrentLocked()
}

func (c *Cassette) isCurrentLocked() bool {
	now, err := os.Stat(c.options.Path)
	if err != nil || c.seen == nil {
		return err != nil && c.seen == nil
	}
	return os.SameFile(now, c.seen) && now.ModTime().Equal(c.seen.ModTime()) && now.Size() == c.seen.Size()
}

// readFile reads a cassette. A pipe would be waited for, a device may never end: neither is
// opened.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, wording.Errorf("%s is not a regular file", path)
	}
	return os.ReadFile(path)
}

// begin counts a run of these inputs, and returns its number. The lock is held.
func (c *Cassette) beginLocked(h *Header) int {
	key := h.Inputs + " " + h.User
	c.begun[key]++
	return c.begun[key]
}

// Play returns the run that was recorded with the inputs and the user of want. If there are several, for example
// because a chat has two turns that say "yes", the n-th run of this process plays the n-th, and later ones the
// last. Without such a run, models still play the recordings of the same requests; [Run.CheckStart] reports that.
//
// With isStrict everything but models must be recorded too, unless the cassette has no runs, as in version 1.
// Without, the rest is asked, and so is the memory in any case.
func (c *Cassette) Play(want Header, isStrict bool) *Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Run{cassette: c, wanted: want, isStrict: isStrict && len(c.file.runs) > 0, asked: map[slotOfRun]int{}, played: map[*recording]bool{}}
	r.recorded = c.findLocked(&want)
	if r.recorded != nil {
		r.header = r.recorded.Header
	}
	return r
}

// findLocked returns the run to play: a finished one before one that was cut short.
func (c *Cassette) findLocked(want *Header) *recordedRun {
	var found []*recordedRun
	for _, isEnded := range []bool{true, false} {
		for _, run := range c.file.runs {
			if run.IsEnded == isEnded && run.isSameStart(want) {
				found = append(found, run)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) == 0 {
		return nil
	}
	for _, run := range found {
		if want.Run != "" && run.Run == want.Run { // it goes on
			return run
		}
	}
	number := c.beginLocked(want)
	slices.SortStableFunc(found, func(a, b *recordedRun) int { return cmp.Compare(a.Take, b.Take) })
	return found[min(number, len(found))-1]
}

// Record returns a run to record, which replaces the one with the same inputs and user when it has ended. A run that was
// resumed goes on with its recording.
func (c *Cassette) Record(h Header) *Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Run{cassette: c, wanted: h, header: h, isRecording: true, asked: map[slotOfRun]int{}, played: map[*recording]bool{}}
	for _, run := range c.file.runs {
		if h.Run != "" && run.Run == h.Run && run.isSameStart(&h) {
			r.recorded, r.header = run, run.Header
			r.recorded.IsEnded = false
			c.ownLocked(run)
			r.former = c.answersLocked(run)
			r.problem = c.takeLogLocked(run)
			return r
		}
	}
	r.header.Take = c.beginLocked(&h)
	r.former = c.answersLocked(nil)
	r.recorded = &recordedRun{Header: r.header}
	return r
}

// answersLocked returns all answers of models in the file except one run's: recording asks for none of them again.
func (c *Cassette) answersLocked(but *recordedRun) (answers []*recording) {
	add := func(recordings []recording) {
		for i := range recordings {
			if recordings[i].kind == KindModel && recordings[i].failure == nil {
				answers = append(answers, &recordings[i])
			}
		}
	}
	for _, run := range slices.Backward(c.file.runs) { // the newest first
		if run != but {
			add(run.recordings)
		}
	}
	add(c.file.recordings)
	return answers
}

// addLocked adds a recording of a run to the file.
func (c *Cassette) addLocked(run *recordedRun, one *recording) error {
	c.ownLocked(run)
	run.recordings = append(run.recordings, *one)
	c.isStale = true
	// A long run must not spend its time writing; answers are paid for, and must not be lost.
	if time.Since(c.saved) < min(20*c.saving, saveEvery) {
		return c.logLocked(run, one)
	}
	return c.saveLocked()
}
