package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every file of a program is sealed, whatever way leads to it: a change is seen. The plugin is the folder real,
// and found by the link found.
func TestDigest(t *testing.T) {
	for name, of := range map[string]struct {
		command string // ROOT is the folder above
		data    string
		files   string
		links   string // NAME>TARGET
		changed string
		want    bool // that the change is seen
	}{
		"a dot file":                      {"./run", "", "real/run real/.env", "", "real/.env", true},
		"compiled code":                   {"./run", "", "real/run real/__pycache__/x.pyc", "", "real/__pycache__/x.pyc", true},
		"that of a virtual environment":   {".venv/bin/python", "", "other/python", "real/.venv/bin/python>../../../other/python", "other/python", true},
		"a file":                          {"./run", "", "real/run real/lib/x.py", "", "real/lib/x.py", true},
		"the program":                     {"./run", "", "real/run", "", "real/run", true},
		"a program that a link leads to":  {"./run", "", "other/run", "real/run>../other/run", "other/run", true},
		"a folder that a link leads to":   {"./run", "", "real/run other/deep/x.py", "real/lib>../other", "other/deep/x.py", true},
		"a link behind a link":            {"./run", "", "real/run other/y third/x.py", "real/lib>../other other/more>../third", "third/x.py", true},
		"the program behind a link":       {"bin/run", "", "other/run", "real/bin>../other", "other/run", true},
		"the program in a dot folder":     {".build/run", "", "real/.build/run", "", "real/.build/run", true},
		"the program in a folder of data": {"build/run", "build", "real/build/run", "", "real/build/run", true},
		"the program as data":             {"./run", "run", "real/run", "", "real/run", true},
		"an absolute path":                {"ROOT/other/run", "", "other/run", "", "other/run", true},
		"beside links that lead nowhere":  {"./run", "", "real/run", "real/self>self real/gone>../gone", "real/run", true},
		"beside links into the folder":    {"./run", "", "real/run real/a/x", "real/dot>. real/a/up>.. real/b>a", "real/a/x", true},

		"what Git keeps":                   {"./run", "", "real/run real/.git/index", "", "real/.git/index", true},
		"what Git keeps, as data":          {"./run", ".git", "real/run real/.git/index", "", "real/.git/index", false},
		"data":                             {"./run", "cache", "real/run real/cache/x", "", "real/cache/x", false},
		"data that a link leads to":        {"./run", "lib", "real/run other/x", "real/lib>../other", "other/x", false},
		"what is beside the folder":        {"./run", "", "real/run other/x", "real/up>..", "other/x", false},
		"a program of PATH":                {"sh", "", "other/sh", "", "other/sh", false},
		"a program that is not there, yet": {"./run", "", "real/x other/x", "", "other/x", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			at := func(path string) string {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				return path
			}
			_ = at("real/file")
			for _, file := range strings.Fields(of.files) {
				if err := os.WriteFile(at(file), nil, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, l := range strings.Fields(of.links + " found>real") {
				name, target, _ := strings.Cut(l, ">")
				if err := os.Symlink(target, at(name)); err != nil {
					t.Fatal(err)
				}
			}
			m := &Manifest{Name: "sample", Command: strings.ReplaceAll(of.command, "ROOT", root), Data: strings.Fields(of.data)}
			var sums []string
			for _, content := range []string{"before", "after"} {
				if err := os.WriteFile(at(of.changed), []byte(content), 0o755); err != nil {
					t.Fatal(err)
				}
				for _, dir := range []string{"real", "found"} {
					sum, err := Digest(at(dir), m)
					if err != nil {
						t.Fatal(err)
					}
					sums = append(sums, sum)
				}
			}
			if sums[0] != sums[1] || sums[2] != sums[3] {
				t.Error("the folder and a link to it differ")
			}
			if seen := sums[0] != sums[2]; seen != of.want {
				t.Errorf("a change is seen: %t, want %t", seen, of.want)
			}
		})
	}
}

// A folder is read once, however many links lead to it or into it: the lib64 of a virtual environment is its lib.
// A folder that is excluded by its name is read if a link gives it another.
func TestDigestReadsFoldersOnce(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"real/run", "real/lib/deep/a", "real/lib/b", "real/.git/c", "real/data/d", "other/sub/e", "other/f"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"real/lib64": "lib", "real/lib/again": "deep", "real/seen": ".git", "real/seen2": "data",
		"real/more": "../other", "real/more2": "../other/sub", "other/back": "../real/lib",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d := newDigester(&Manifest{Command: "more2/e", Data: []string{"data"}})
	d.root = filepath.Join(dir, "real")
	if err := d.addFolder(d.root, "."); err != nil {
		t.Fatal(err)
	}
	if d.files != 7 {
		t.Errorf("%d files were read, want each of 7 once", d.files)
	}
	if err := d.addCommand("more2/e"); err != nil || !d.coversCommand {
		t.Errorf("the program, which is read as more/sub/e, is not covered: %v", err)
	}
}

// The manifest that was read is the one that is sealed, whatever the file contains by then: its command and its
// arguments are started.
func TestSealCoversManifestThatWasRead(t *testing.T) {
	dir := t.TempDir()
	write := func(args string) {
		t.Helper()
		text := "name: sample\nversion: 1.0.0\ncommand: sh\nargs: [" + args + "]\n"
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() *Manifest {
		t.Helper()
		m, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	sum := func(m *Manifest) string {
		t.Helper()
		sum, err := Digest(dir, m)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write("good")
	trusted := sum(read())
	write("evil")
	m := read()
	write("good")
	if sum(m) == trusted {
		t.Error("a manifest passes for another one")
	}
	if sum(read()) != trusted {
		t.Error("the same manifest has another sum")
	}
}

// The script of an interpreter is sealed wherever it is.
func TestDigestOfScripts(t *testing.T) {
	root := t.TempDir()
	for arg, want := range map[string]bool{
		"main.py": true, "../other/main.py": true, filepath.Join(root, "other", "main.py"): true, ".git/main.py": true,
		"cache/state.json": false, // data
	} {
		dir := filepath.Join(root, "plugin")
		path := commandPath(dir, arg)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		m := &Manifest{Name: "sample", Command: "python3", Args: []string{"-B", arg, "--name", "x"}, Data: []string{"cache"}}
		var sums []string
		for _, content := range []string{"before", "after"} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			seal, err := NewSeal(dir, m, Started{})
			if err != nil {
				t.Fatal(err)
			}
			if seal.CoversCommand {
				t.Errorf("%s: the interpreter counts as covered", arg)
			}
			sums = append(sums, seal.SHA256)
		}
		if seen := sums[0] != sums[1]; seen != want {
			t.Errorf("%s: a change is seen: %t, want %t", arg, seen, want)
		}
	}
}
