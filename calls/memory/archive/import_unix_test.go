//go:build unix

package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
)

// A pipe in the place of a file is reported, not waited for.
func TestImportOfPipe(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "memories"), 0o700); err != nil {
		t.Fatal(err)
	}
	names := []string{"index.json", "memories/memory_00000000-0000-4000-8000-000000000001.json"}
	for _, name := range names {
		name = filepath.Join(dir, name)
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip(err)
		}
		written := make(chan error, 1)
		go func() { // for a reader that opens it all the same
			written <- os.WriteFile(name, []byte(`{"content": "from a pipe"}`), 0o600)
		}()
		t.Cleanup(func() {
			f, err := os.OpenFile(name, os.O_RDWR, 0) // lets the writer go
			if err != nil {
				t.Fatal(err)
			}
			<-written
			f.Close()
		})
	}
	r, err := archive.Import(t.Context(), store(t), dir, archive.Options{Users: memory.AllUsers()})
	if err != nil || r.Memories != 0 || !strings.Contains(strings.Join(r.Problems, "\n"), names[1]+": it is not a regular file") {
		t.Errorf("%+v, %v", r, err)
	}
}
