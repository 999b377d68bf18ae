package replay

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ownLocked notes that a run is recorded now.
func (c *Cassette) ownLocked(run *recordedRun) {
	if !slices.Contains(c.own, run) {
		c.own = append(c.own, run)
	}
	if !slices.Contains(c.file.runs, run) {
		c.file.runs = append(c.file.runs, run)
	}
}

// saveLocked writes the file. It is replaced as a whole: a process that dies here leaves the previous file.
func (c *Cassette) saveLocked() error { return c.updateLocked(func() {}) }

// endLocked marks a run as whole, and drops the ones that it replaces.
func (c *Cassette) endLocked(run *recordedRun) error {
	run.IsEnded = true
	c.ownLocked(run)
	err := c.updateLocked(func() {
		c.file.runs = slices.DeleteFunc(c.file.runs, func(other *recordedRun) bool {
			return other != run && other.isSameStart(&run.Header) && other.Take == run.Take
		})
		c.file.recordings = slices.DeleteFunc(c.file.recordings, func(one recording) bool { // the run has them now
			return slices.ContainsFunc(run.recordings, func(own recording) bool { return own.kind == one.kind && own.key == one.key })
		})
	})
	if err != nil {
		return err
	}
	c.own = slices.DeleteFunc(c.own, func(one *recordedRun) bool { return one == run }) // the file has it
	return nil
}

// updateLocked changes the file. Other programs that record the same cassette wait meanwhile, and their earlier
// recordings are kept.
func (c *Cassette) updateLocked(change func()) error {
	defer atomicfile.LockFolder(c.options.Path)()
	began := time.Now()
	if err := c.mergeLocked(); err != nil {
		return err
	}
	change()
	if err := c.file.write(c.options.Path); err != nil {
		return wording.Errorf("writing the cassette: %w", err)
	}
	c.saved, c.isStale = time.Now(), false
	c.seen, _ = os.Stat(c.options.Path)
	c.saving = c.saved.Sub(began)
	c.dropLogsLocked()
	return nil
}

// mergeLocked reads the file again if another program wrote it. Only the runs that are recorded now stay as they are here.
func (c *Cassette) mergeLocked() error {
	if c.isCurrentLocked() {
		return nil
	}
	fresh, err := c.readLocked()
	if err != nil {
		return err
	}
	mine := slices.DeleteFunc(slices.Clone(c.own), func(run *recordedRun) bool { return !slices.Contains(c.file.runs, run) })
	for i, run := range fresh.runs {
		if at := slices.IndexFunc(mine, run.isSameRun); at >= 0 {
			fresh.runs[i] = mine[at]
		}
	}
	for _, run := range mine {
		if !slices.Contains(fresh.runs, run) {
			fresh.runs = append(fresh.runs, run)
		}
	}
	c.file = fresh
	return nil
}

// isSameRun reports whether two are the same run, each with all or a part of its recordings.
func (run *recordedRun) isSameRun(other *recordedRun) bool {
	return run.Run == other.Run && run.isSameStart(&other.Header)
}

// readLocked reads the file; one that does not exist is empty.
func (c *Cassette) readLocked() (*cassette, error) {
	c.seen, _ = os.Stat(c.options.Path) // before it is read: one that is written meanwhile is read again
	src, err := readFile(c.options.Path)
	if errors.Is(err, fs.ErrNotExist) {
		c.seen = nil
		return &cassette{}, nil
	}
	if err != nil {
		return nil, wording.Errorf("reading the cassette: %w", err)
	}
	file, err := parseCassette(src)
	if err != nil {
		return nil, wording.Errorf("%s:%w", c.options.ShownPath, err)
	}
	return file, nil
}
