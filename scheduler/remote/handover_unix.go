//go:build unix

package remote

import (
	"os"
	"syscall"

	"github.com/callnode/scheduler/calls"
)

// HandOver replaces this process by the program at path with these arguments: signals and exit code are its own
// then. It returns only if that fails.
func HandOver(path string, args []string) (exitCode int, err error) {
	err = syscall.Exec(path, append([]string{path}, args...), os.Environ()) //nolint:gosec // the path is of the setting, this folder or PATH
	return 0, calls.Errorf(calls.Invalid, "starting %s: %w", path, err)
}
