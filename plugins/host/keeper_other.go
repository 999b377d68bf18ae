//go:build !linux

package host

import (
	"errors"
	"os/exec"
)

// canKeep: other systems give the orphans of a process to nobody in particular.
func canKeep() bool { return false }

type keeper struct{}

func keep(*exec.Cmd, string) (*keeper, error) { return nil, errors.ErrUnsupported }

func (*keeper) started() (int, error) { return 0, errors.ErrUnsupported }

func (*keeper) ended() string { return "" }

func (*keeper) order() {}

func (*keeper) close() {}

// Keep is for Linux: elsewhere there are no keepers.
func Keep([]string) int { return 2 }
