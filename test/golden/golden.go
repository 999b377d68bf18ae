// Package golden compares results of tests with files in testdata. The flag -update of the tests that use it
// writes these files, for example go test ./cmd/scheduler -update.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// Updating reports whether the golden files are written: for files that a test compares only in part.
func Updating() bool { return *update }

// Check fails the test if the file at path, relative to the folder of the test, does not contain got; with -update
// it writes the file.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		Write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it)\n%s", path, diff)
	}
}

// Write writes a golden file.
func Write(t testing.TB, path, got string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // it is committed, for all to read
		t.Fatal(err)
	}
}
