//go:build unix

package process_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/manifest"
)

// writeFiles writes files below a folder by their names.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// newSockets returns a folder of sockets, as a host makes it.
func newSockets(t *testing.T) string {
	t.Helper()
	sockets, err := process.NewSocketDir("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sockets.Remove(); err != nil {
			t.Error(err)
		}
	})
	return sockets.Path()
}

// A script runs as it was hashed, with the files beside it, though its folder has others by the time at which it
// starts. It finds the files in folders beside it, and its working directory is still the plugin's.
func TestScriptsStartAsTheyWereHashed(t *testing.T) {
	for name, of := range map[string]struct {
		manifest string
		script   string // its name; the files beside it are in its folder
	}{
		"a script":                        {"command: ./run", "run"},
		"a script below":                  {"command: ./bin/run", "bin/run"},
		"a script in data":                {"command: ./bin/run\ndata: [bin]", "bin/run"},
		"of an interpreter":               {"command: sh\nargs: [-e, run]", "run"},
		"of an interpreter, below":        {"command: sh\nargs: [-e, bin/run, bin]", "bin/run"},
		"of an interpreter behind a link": {"command: ./python\nargs: [run]", "run"},
	} {
		for _, reaper := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, reaper: %t", name, reaper), func(t *testing.T) {
				if reaper && runtime.GOOS != "linux" {
					t.Skip("there is no reaper here")
				}
				dir := t.TempDir()
				seen := filepath.Join(t.TempDir(), "seen")
				beside := filepath.Join(filepath.Dir(of.script), "beside.sh")
				script := "#! /bin/sh -e\necho %s > " + seen + "\ndir=$(dirname \"$0\")\n. \"$dir/beside.sh\"\n. \"$dir/deep/lib.sh\"\ncat here.txt >> " + seen + "\n"
				isData := strings.Contains(of.manifest, "data:")
				besides := map[string]string{
					of.script: fmt.Sprintf(script, "good"), beside: "echo beside >> " + seen + "\n", "here.txt": "here\n",
					filepath.Join(filepath.Dir(of.script), "deep/lib.sh"): "echo deep >> " + seen + "\n",
					manifest.FileName: "name: sample\nversion: 1.0.0\n" + of.manifest + "\n",
				}
				writeFiles(t, dir, besides)
				if err := os.Symlink("/bin/sh", filepath.Join(dir, "python")); err != nil {
					t.Fatal(err)
				}
				m, err := manifest.Read(dir)
				if err != nil {
					t.Fatal(err)
				}
				path, err := manifest.Locate(dir, m)
				if err != nil {
					t.Fatal(err)
				}
				trusted, err := manifest.Digest(dir, m)
				if err != nil {
					t.Fatal(err)
				}
				sockets := newSockets(t)
				mirror, err := process.NewMirror(dir, path, m, sockets)
				if err != nil {
					t.Fatal(err)
				}
				_, err = process.Start(t.Context(), process.Config{
					Manifest: m, Dir: dir, Path: path, Sockets: sockets, Log: slog.New(slog.DiscardHandler),
					Spawner: newSpawner(t), Reaper: reaper, Mirror: mirror,
					Check: func() error {
						seal, err := manifest.NewSeal(dir, m, manifest.Started{Copies: mirror.Copies()})
						if err == nil && seal.SHA256 != trusted {
							t.Errorf("the copies have the sum %s, and the files %s", seal.SHA256, trusted)
						}
						evil := map[string]string{of.script: fmt.Sprintf(script, "evil")}
						if !isData { // else the file beside it is data, which may change
							evil[beside] = "echo evil >> " + seen + "\n"
						}
						for name, text := range evil {
							writeFiles(t, dir, map[string]string{name + ".next": text})
							if err := os.Rename(filepath.Join(dir, name+".next"), filepath.Join(dir, name)); err != nil {
								t.Error(err)
							}
						}
						return err
					},
				})
				if err == nil || !strings.Contains(err.Error(), "before the handshake") {
					t.Fatalf("it is no plugin, but: %v", err)
				}
				have, err := os.ReadFile(seen)
				if string(have) != "good\nbeside\ndeep\nhere\n" || err != nil {
					t.Errorf("it wrote %q, %v", have, err)
				}
				if left, _ := filepath.Glob(filepath.Join(sockets, "scripts-*")); len(left) > 0 {
					t.Errorf("the mirror is left: %v", left)
				}
			})
		}
	}
}

func newSpawner(t *testing.T) *process.Spawner {
	t.Helper()
	s := &process.Spawner{}
	t.Cleanup(s.Close)
	return s
}

// A mirror of a plugin's folder has copies of code, and links to all else.
func TestMirror(t *testing.T) {
	dir, sockets := t.TempDir(), t.TempDir()
	long := strings.Repeat("x", 1<<20+1)
	writeFiles(t, dir, map[string]string{
		"main.py": long, "lib.py": "lib", "model.bin": long, "cache.db": "data", "deep/a.py": "a", "sub/run.py": "run", "sub/b.py": "b",
		manifest.FileName: "name: sample\nversion: 1.0.0\ncommand: python3\nargs: [-B, sub/run.py, main.py]\ndata: [cache.db, new.db, sub/log]\n",
	})
	outside := filepath.Join(t.TempDir(), "sdk.py")
	writeFiles(t, filepath.Dir(outside), map[string]string{"sdk.py": "sdk"})
	if err := os.Symlink(outside, filepath.Join(dir, "sdk.py")); err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	mirror, err := process.NewMirror(dir, "/usr/bin/python3", m, sockets)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := filepath.Glob(filepath.Join(sockets, "*"))
	if len(at) != 1 {
		t.Fatalf("there are %v", at)
	}
	for name, isCopy := range map[string]bool{
		"lib.py": true, "sdk.py": true, "sub/run.py": true, "sub/b.py": true,
		"main.py": false, "model.bin": false, "cache.db": false, "new.db": false, "deep": false, "sub/log": false, manifest.FileName: false,
	} {
		info, err := os.Lstat(filepath.Join(at[0], name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().IsRegular() != isCopy || (mirror.Copies()[name] != "") != isCopy {
			t.Errorf("%s is %v, and the copy %q", name, info.Mode(), mirror.Copies()[name])
		}
	}
	if err := os.WriteFile(filepath.Join(at[0], "new.db"), []byte("new"), 0o600); err != nil {
		t.Error(err)
	}
	if have, err := os.ReadFile(filepath.Join(dir, "new.db")); string(have) != "new" || err != nil {
		t.Errorf("data is not written into the folder: %q, %v", have, err)
	}
	mirror.Remove()
	if _, err := os.Stat(filepath.Join(dir, "deep", "a.py")); err != nil {
		t.Errorf("removing the mirror removed what it leads to: %v", err)
	}
	for _, command := range []string{"command: python3", "command: python3\nargs: [../x.py]", "command: bwrap\nargs: [--bind, /, /, lib.py]", "command: python3\nargs: [cache.db]\ndata: [cache.db]", "command: ./deep/none"} {
		writeFiles(t, dir, map[string]string{manifest.FileName: "name: sample\nversion: 1.0.0\n" + command + "\n"})
		m, err := manifest.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if mirror, err := process.NewMirror(dir, filepath.Join(dir, "deep/none"), m, sockets); mirror != nil || err != nil {
			t.Errorf("%s: %v, %v", command, mirror, err)
		}
	}
}

// Of a data folder with a script in it, few files are copied.
func TestMirrorIsBounded(t *testing.T) {
	dir, sockets := t.TempDir(), t.TempDir()
	writeFiles(t, dir, map[string]string{"main.py": "x", manifest.FileName: "name: sample\nversion: 1.0.0\ncommand: python3\nargs: [main.py]\n"})
	for n := range 40 {
		path := filepath.Join(dir, fmt.Sprintf("data-%02d", n))
		writeFiles(t, dir, map[string]string{filepath.Base(path): ""})
		if err := os.Truncate(path, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	mirror, err := process.NewMirror(dir, "/usr/bin/python3", m, sockets)
	if err != nil {
		t.Fatal(err)
	}
	defer mirror.Remove()
	if n := len(mirror.Copies()); n != 33 || mirror.Copies()["main.py"] == "" {
		t.Errorf("there are %d copies", n)
	}
	if seal, err := manifest.NewSeal(dir, m, manifest.Started{Copies: mirror.Copies()}); err != nil || len(seal.Links) > 0 {
		t.Errorf("it cannot be sealed: %v", err)
	}
}
