package flowtest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// Reads reports whether running a test file reads the file at a path: the test file, its flows and their included
// files, its data, its snapshots and its cassettes.
func Reads(s *suite.Suite, path string) bool {
	files := append(slices.Clone(s.DataFiles), s.Path, besideFile(s.Path, suite.SnapshotSuffix))
	for _, f := range s.Flows {
		files = append(files, f.File)
		files = slices.AppendSeq(files, maps.Keys(f.Files))
	}
	if slices.ContainsFunc(files, func(file string) bool { return IsSameFile(file, path) }) {
		return true
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	name, begin := filepath.Base(path), filepath.Base(besideFile(s.Path, "."))
	isCassette := strings.HasPrefix(name, begin) && strings.HasSuffix(name, cassetteSuffix)
	return isCassette && IsSameFile(filepath.Dir(path), filepath.Dir(s.Path))
}

// IsSameFile reports whether two paths name one file, links followed; the file need not exist.
func IsSameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && absA == absB
}
