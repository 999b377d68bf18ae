package manifest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
)

// Locate returns the absolute path of a plugin's program. If it cannot be found, the error says why, with a remedy.
func Locate(dir string, m *Manifest) (path string, err error) {
	path = m.Command
	if isPath(path) {
		path = commandPath(dir, path)
	}
	path, err = exec.LookPath(path)
	if err != nil {
		return "", missingProgram(dir, m, err)
	}
	return filepath.Abs(path)
}

// isPath reports whether a command is a path; else it is a name to look for in PATH.
func isPath(command string) bool { return strings.ContainsRune(command, '/') }

// NamesFile reports whether the command is a path; else it is looked for in PATH.
func (m *Manifest) NamesFile() bool { return isPath(m.Command) }

// commandPath returns the path of a command that may be relative to the plugin's folder.
func commandPath(dir, command string) string {
	if filepath.IsAbs(command) {
		return command
	}
	return filepath.Join(dir, filepath.FromSlash(command))
}

// missingProgram explains why a program cannot be started; cause is the error of looking
// it up.
func missingProgram(dir string, m *Manifest, cause error) error {
	info, statErr := os.Stat(commandPath(dir, m.Command))
	found := statErr == nil
	switch {
	case found && isPath(m.Command) && info.IsDir():
		return calls.Errorf(calls.Plugin, "the program of the plugin %s is a folder: %s", m.Name, m.Command).
			WithHint("command in %s names a file, which is started", filepath.Join(dir, FileName))
	case found && !isPath(m.Command) && !info.IsDir():
		return calls.Errorf(calls.Plugin, "the program of the plugin %s is not in PATH: %s", m.Name, m.Command).
			WithHint("for the file in %s write command: ./%s", dir, m.Command)
	case errors.Is(cause, fs.ErrPermission):
		return calls.Errorf(calls.Plugin, "the program of the plugin %s is not executable: %s", m.Name, m.Command).
			WithHint("chmod +x %s, in %s", m.Command, dir)
	}
	return calls.Errorf(calls.Plugin, "the program of the plugin %s is missing: %s", m.Name, m.Command).
		WithHint("build or install it, in %s", dir)
}
