package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// A cassette is written as a whole, and so not for each recording. A log of its run keeps the missing recordings,
// a line of JSON for each. Without it, a run that is resumed after its process died would have finished steps that
// the cassette lacks.

// logPath returns the path of the log of a run; "" if the run has none.
func (c *Cassette) logPath(run string) string {
	info, err := os.Stat(c.options.LogDir)
	if c.options.LogDir == "" || run == "" || err != nil || !info.IsDir() {
		return ""
	}
	path, err := filepath.Abs(c.options.Path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(path + "\x00" + run))
	return filepath.Join(c.options.LogDir, "recording-"+hex.EncodeToString(sum[:16])+".jsonl")
}

// logLocked adds a recording to the log of its run.
func (c *Cassette) logLocked(run *recordedRun, one *recording) error {
	path := c.logPath(run.Run)
	if path == "" {
		return nil
	}
	encoded, err := one.encode()
	if err != nil {
		return err
	}
	file := c.logs[path]
	if file == nil {
		file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a folder of the settings
		if err != nil {
			return wording.Errorf("writing the log of the recording: %w", err)
		}
		c.logs[path] = file
	}
	_, err = file.Write(append(value.OfMap(encoded).AppendJSON(nil), '\n'))
	return err
}

// dropLogsLocked removes the logs: the cassette has all that is in them.
func (c *Cassette) dropLogsLocked() {
	for path, file := range c.logs {
		_ = file.Close() // it is removed
		_ = os.Remove(path)
	}
	clear(c.logs)
}

// takeLogLocked adds the recordings of the log of a run, which its process left when it died. A line that was cut is left out.
func (c *Cassette) takeLogLocked(run *recordedRun) error {
	path := c.logPath(run.Run)
	if path == "" {
		return nil
	}
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wording.Errorf("reading the log of the recording: %w", err)
	}
	for line := range bytes.Lines(text) {
		v, err := value.ParseJSON(line)
		if err != nil {
			continue
		}
		one, err := parseRecording(v)
		if err != nil || slices.ContainsFunc(run.recordings, one.isSame) { // it was saved, and the log was not removed any more
			continue
		}
		run.recordings = append(run.recordings, one)
		c.isStale = true
	}
	return os.Remove(path)
}

// isSame reports whether two recordings are written alike.
func (r *recording) isSame(o recording) bool {
	if r.key != o.key || r.step != o.step || r.part != o.part {
		return false
	}
	a, errA := r.encode()
	b, errB := o.encode()
	return errA == nil && errB == nil && value.Equal(value.OfMap(a), value.OfMap(b))
}
