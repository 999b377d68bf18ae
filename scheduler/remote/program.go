package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/callnode/scheduler/calls"
)

// Find returns the path of the second program: the one of the setting temporal.program, else
// one beside this program, else one on PATH.
func Find(setting string) (string, error) {
	if setting != "" {
		found, err := exec.LookPath(setting)
		if err != nil {
			return "", calls.Errorf(calls.NotFound, "temporal.program: there is no program %s", setting).
				WithHint("name %s, which is in the archive of the release", Program)
		}
		return filepath.Abs(found)
	}
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if own, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(own); err == nil {
			own = real
		}
		beside := filepath.Join(filepath.Dir(own), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return filepath.Abs(found)
	}
	return "", calls.Errorf(calls.NotFound, "runs on Temporal need a second program, %s, which is not here", Program).
		WithHint("put it beside scheduler, from the same archive of the release or, of the sources, by make build-temporal; or name it with the setting temporal.program")
}
