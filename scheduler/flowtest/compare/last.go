package compare

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// ReadLast returns the run before; nil if there was none.
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

// KeepLast keeps a run as the last one. A concurrent reader finds the one before.
func (f Files) KeepLast(run *result.Run) error {
	if err := os.MkdirAll(filepath.Dir(f.Last), 0o755); err != nil {
		return wording.Errorf("keeping the test run: %w", err)
	}
	var out bytes.Buffer
	if err := result.WriteTimedLines(&out, run); err != nil {
		return wording.Errorf("keeping the test run: %w", err)
	}
	if err := atomicfile.Write(f.Last, out.Bytes(), 0o600); err != nil {
		return wording.Errorf("keeping the test run: %w", err)
	}
	return nil
}
