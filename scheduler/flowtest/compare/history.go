package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// maxHistory bounds the lines that are kept of earlier runs: one for each test file of a run.
const maxHistory = 2000

// maxFailed bounds the ids that a line names.
const maxFailed = 20

// Past is the result of a test file in an earlier run. [Files.KeepHistory] writes it; it is only data.
type Past struct {
	At   time.Time   `json:"at" doc:"When the run ended."`
	File string      `json:"file"`
	Mode result.Mode `json:"mode" enum:"replay|record|live" doc:"Where the answers of models came from."`
	result.Counts
	// Tokens and Cost are of the answers to flows and judges, as [result.Run.Usage] counts them.
	Tokens    int     `json:"tokens,omitempty" doc:"What the models read and wrote."`
	Cost      float64 `json:"cost,omitempty" doc:"What that cost."`
	ElapsedMS float64 `json:"elapsed_ms" doc:"How long the file took."`
	// FailedCases are the ids of cases that failed or were not decided, the first of them.
	FailedCases []string `json:"failed_cases,omitempty" doc:"The ids of cases that failed or were not decided, at most 20."`
}

// historyPath returns the file of the history, beside the file of the last run.
func (f Files) historyPath() string { return filepath.Join(filepath.Dir(f.Last), "history.jsonl") }

// KeepHistory adds a line for each file of a run with a case that ran.
func (f Files) KeepHistory(run *result.Run, at time.Time) error {
	kept, err := f.readHistory()
	if err != nil {
		return err
	}
	for _, s := range run.Suites {
		if past := newPast(s, run.Mode, at); past.Total() > 0 {
			kept = append(kept, past)
		}
	}
	if len(kept) > maxHistory {
		kept = kept[len(kept)-maxHistory:]
	}
	var out bytes.Buffer
	for i := range kept {
		if err := result.WriteLine(&out, kept[i]); err != nil {
			return wording.Errorf("keeping the test run: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.Last), 0o755); err != nil {
		return wording.Errorf("keeping the test run: %w", err)
	}
	if err := atomicfile.Write(f.historyPath(), out.Bytes(), 0o600); err != nil {
		return wording.Errorf("keeping the test run: %w", err)
	}
	return nil
}

// newPast returns the entry of a file for the history.
func newPast(s *result.Suite, mode result.Mode, at time.Time) Past {
	past := Past{At: at.UTC().Truncate(time.Second), File: s.File, Mode: mode, Counts: s.Counts(), ElapsedMS: float64(s.Elapsed.Milliseconds())}
	for _, c := range s.Cases {
		used, _ := c.Usage()
		past.Tokens += used.Total()
		past.Cost += used.Cost
		isBad := c.Outcome == result.Fail || c.Outcome == result.Error
		if isBad && len(past.FailedCases) < maxFailed {
			past.FailedCases = append(past.FailedCases, c.ID())
		}
	}
	return past
}

// History returns the results of a test file in earlier runs, the newest first, at most limit of them.
func (f Files) History(file string, limit int) (found []Past, err error) {
	all, err := f.readHistory()
	for i := len(all) - 1; i >= 0 && len(found) < limit; i-- {
		if all[i].File == file {
			found = append(found, all[i])
		}
	}
	return found, err
}

// readHistory reads all lines, the oldest first. A line that cannot be read is left out: it is of another version.
func (f Files) readHistory() (all []Past, err error) {
	data, err := calls.ReadFile(f.historyPath(), calls.AnyLength)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wording.Errorf("reading the earlier test runs: %w", err)
	}
	for line := range bytes.Lines(data) {
		var past Past
		if json.Unmarshal(line, &past) == nil && past.File != "" {
			all = append(all, past)
		}
	}
	return all, nil
}
