package project

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/calls"
)

// releaseVersion matches the version of a release: 0.1.0 in its archives, v0.1.0 as go install and the tag have it.
var releaseVersion = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)$`)

// ChooseModule sets the module that a plugin in Go builds with; for other languages it does nothing. That is the
// source folder named source, else the release version, else a source folder around the running program or the
// working directory. If none of these is known, Version and Replace stay empty. version is the running program's
// version.
func (o *Options) ChooseModule(version, source string) error {
	if o.Language != "go" {
		return nil
	}
	if source != "" {
		full, err := filepath.Abs(source)
		if err != nil {
			return err
		}
		if !isModuleRoot(full) {
			return fmt.Errorf("--source: %s is not the source of %s: its go.mod is not there", source, Module)
		}
		o.Replace = full
		return nil
	}
	if release := releaseVersion.FindStringSubmatch(version); release != nil {
		o.Version = "v" + release[1]
		return nil
	}
	o.Replace = findModuleRoot()
	return nil
}

// findModuleRoot returns the source folder that contains the program or the working directory; "" if there is
// none.
func findModuleRoot() string {
	program, err := os.Executable()
	if err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real
		}
	}
	for _, dir := range []string{filepath.Dir(program), "."} {
		full, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		for {
			if isModuleRoot(full) {
				return full
			}
			parent := filepath.Dir(full)
			if parent == full {
				break
			}
			full = parent
		}
	}
	return ""
}

// isModuleRoot reports whether a folder is the root of this module.
func isModuleRoot(dir string) bool {
	text, err := calls.ReadFile(filepath.Join(dir, "go.mod"), calls.AnyLength)
	first, _, _ := strings.Cut(string(text), "\n")
	return err == nil && strings.TrimSpace(first) == "module "+Module
}
