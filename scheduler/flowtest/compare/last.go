package compare

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// ReadLast returns the run before; nil where there was none.
func (f Files) ReadLast() (*result.Run, error) {
	in, err := calls.OpenFile(f.Last)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wording.Errorf("reading the last test run: %w", err)
	}
	defer func() { _ = in.Close() }() // it was only read
	run, err := result.ReadLines(in)
	if err != nil {
		return nil, wording.Errorf("reading the last test run: %s: %w", f.Last, err)
	}
	return run, nil
}

// KeepLast keeps a run as the last one. Who reads it meanwhile finds the one before.
func (f Files) KeepLast(run *result.Run) error {
	if err := os.MkdirAll(filepath.Dir(f.Last), 0o755); err != nil {
		return wording.Errorf("keeping the test run: %w", err)
	}
	out, err := os.CreateTemp(filepath.Dir(f.Last), "last-*")
	if err != nil {
		return wording.Errorf("keeping the test run: %w", err)
	}
	err = errors.Join(result.WriteTimedLines(out, run), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), f.Last)
	}
	if err != nil {
		_ = os.Remove(out.Name()) // best effort: the error that counts is told
		return wording.Errorf("keeping the test run: %w", err)
	}
	return nil
}
