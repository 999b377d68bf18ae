package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/plugins/host/process"
)

// A program cannot be written to between its check and its start, and one that is being written is not started.
func TestProgramIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("checked"), 0o700); err != nil {
		t.Fatal(err)
	}
	openToWrite := func() error {
		fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			err = syscall.Close(fd)
		}
		return err
	}
	p, err := process.OpenProgram(path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if p.File().Name() != path {
		t.Skip("this file system has no leases: the program is a copy")
	}
	other, err := process.OpenProgram(path, t.TempDir()) // a start at the same time
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	if err := openToWrite(); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("it can be written to: %v", err)
	}
	p.Close()
	if err := openToWrite(); err != nil {
		t.Errorf("it cannot be written to afterwards: %v", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := process.OpenProgram(path, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is open for writing") {
		t.Errorf("it is being written to: %v", err)
	}
}
