//go:build unix

package config

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
)

// Pipes in place of a certificate and its key are refused, not waited for.
func TestKeyPairIsAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeyPair(pipe, pipe); !errors.Is(err, calls.ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}
