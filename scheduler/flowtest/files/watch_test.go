package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A watch sees files that are new, gone or written, and none that are hidden or left out.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func() States {
		return Watch([]string{dir}, func(path string) bool { return filepath.Base(path) == "report.xml" })
	}
	write("a.test.yaml", "cases: []")
	for name, c := range map[string]struct {
		change func()
		isSeen bool
	}{
		"nothing":        {func() {}, false},
		"another text":   {func() { write("a.test.yaml", "cases: [{}]") }, true},
		"another time":   {func() { _ = os.Chtimes(filepath.Join(dir, "a.test.yaml"), time.Time{}, time.Unix(1, 0)) }, true},
		"a new file":     {func() { write("sub/b.csv", "x") }, true},
		"a hidden file":  {func() { write(".scheduler/test/last.jsonl", "{}") }, false},
		"a report":       {func() { write("report.xml", "<x/>") }, false},
		"a file is gone": {func() { _ = os.Remove(filepath.Join(dir, "a.test.yaml")) }, true},
	} {
		write("a.test.yaml", "cases: []")
		before := look()
		c.change()
		if isSeen := !before.Equal(look()); isSeen != c.isSeen {
			t.Errorf("%s: a change is seen: %v", name, isSeen)
		}
	}
}
