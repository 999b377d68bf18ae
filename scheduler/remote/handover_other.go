//go:build !unix

package remote

import (
	"errors"
	"os"
	"os/exec"

	"github.com/callnode/scheduler/calls"
)

// HandOver runs the program at path with these arguments, waits for its end and returns its
// exit code. Ctrl-C reaches both programs.
func HandOver(path string, args []string) (exitCode int, err error) {
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var ended *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &ended):
		return ended.ExitCode(), nil
	case err != nil:
		return 0, calls.Errorf(calls.Invalid, "starting %s: %w", path, err)
	}
	return 0, nil
}
