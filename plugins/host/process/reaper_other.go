//go:build !linux

package process

import (
	"errors"
	"os/exec"
)

// canReap returns false: other systems have no reaper, and give the orphans of a process to the first process of
// the system.
func canReap() bool { return false }

type reaper struct{}

func startThroughReaper(*exec.Cmd, *Program, string) (*reaper, error) {
	return nil, errors.ErrUnsupported
}

func (*reaper) awaitStart() (int, error) { return 0, errors.ErrUnsupported }

func (*reaper) awaitEnd() string { return "" }

func (*reaper) sendOrder() {}

func (*reaper) close() {}

// killMarked does nothing: only a reaper that was killed leaves processes that nothing else finds.
func killMarked(string) {}

// Reap is for Linux; on other systems it only fails.
func Reap([]string) int { return 2 }
