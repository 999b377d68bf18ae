//go:build unix

package sqljournal_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

// A pipe in place of the key is refused, not waited for.
func TestKeyIsAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, sqljournal.KeyName), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, dir, sqljournal.FileOptions{}).Begin(t.Context(), &journal.RunHeader{
		ID: "one", StartedAt: time.Now(), Inputs: value.OfMap(nil),
		Text: journal.FlowText{Source: []byte("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")},
	})
	if !errors.Is(err, calls.ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}
