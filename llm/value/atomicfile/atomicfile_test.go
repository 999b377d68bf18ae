package atomicfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, content := range []string{"old", "", "new"} {
		if err := atomicfile.Write(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Fatalf("got %q, %v, want %q", got, err, content)
		}
	}
	if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode() != 0o640) {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := atomicfile.Write(filepath.Join(dir, strings.Repeat("长", 85)), nil, 0o600); err != nil {
		t.Errorf("a name of 255 bytes: %v", err)
	}
	// A folder cannot be replaced by a file: nothing of the attempt stays.
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "folder"), []byte("x"), 0o640); err == nil {
		t.Error("a folder was replaced")
	}
	if err := atomicfile.Write(filepath.Join(dir, "none", "a"), nil, 0o640); err == nil {
		t.Error("a folder was made")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("got %v, %v", entries, err)
	}
}
