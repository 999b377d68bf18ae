package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/test/slow"
)

// A registry says why a function cannot be used, whether it has it or not.
func TestUnusable(t *testing.T) {
	dir := folder(t, "")
	opts := host.Options{Folders: []string{filepath.Dir(dir)}, LockFile: filepath.Join(t.TempDir(), manifest.LockFileName)}
	why := func() (message, hint string) {
		r := registered(t, openAll(t, opts))
		err := r.CheckPlugin("sample.greet")
		for _, name := range []string{"sample", "sample.nosuch", "sample.is_long"} {
			if got := r.CheckPlugin(name); !errors.Is(got, err) {
				t.Errorf("%s: %v, but %v", name, got, err)
			}
		}
		if _, known := r.Resolver("profile"); known && !errors.Is(r.CheckPlugin("vars.profile"), err) {
			t.Errorf("its variable: %v", r.CheckPlugin("vars.profile"))
		}
		for _, name := range []string{"vars.nosuch", "other.thing", "chat"} {
			if got := r.CheckPlugin(name); got != nil {
				t.Errorf("%s: %v", name, got)
			}
		}
		if err == nil {
			return "", ""
		}
		return err.Error(), calls.HintOf(err)
	}
	is := func(message, hint string) {
		t.Helper()
		if m, h := why(); m != message || h != hint {
			t.Errorf("got %s (%s)\nwant %s (%s)", m, h, message, hint)
		}
	}
	is("the plugin sample is not trusted", "look at what it wants, then trust it: scheduler plugins trust sample")
	h := openAll(t, opts)
	w, err := h.Review("sample")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.TrustReviewed(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	is("", "")

	file := filepath.Join(dir, manifest.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(string(text) + "# changed\n")
	is("the plugin sample changed since it was trusted", "if you know why, trust it again: scheduler plugins trust sample")
	if _, err := h.TrustReviewed(t.Context(), w); err == nil || err.Error() != "plugin sample: its program changed while it was looked at" {
		t.Errorf("what was not shown is trusted: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	is("the plugin sample changed since it was trusted", "if you know why, trust it again: scheduler plugins trust sample; commands of Git change .git, so list that under data in plugin.yaml before")
	if err := os.Remove(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	write("name: sample\nversion: 1.0.0\ncommand: sh\nargs: [-c, touch ran]\n")
	if _, err := h.TrustReviewed(t.Context(), w); err == nil || err.Error() != "plugin sample: its program changed while it was looked at" {
		t.Errorf("what was not shown is trusted: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("what was not shown was started")
	}
	write("name: sample\nversion: 1.0.0\ncommand: ./not-built\n")
	is("the program of the plugin sample is missing: ./not-built", "build or install it, in "+dir)
	if got := states(openAll(t, opts)); got[0] != "sample 1.0.0 no-program" {
		t.Errorf("listed as %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "not-built"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	is("the program of the plugin sample is not executable: ./not-built", "chmod +x ./not-built, in "+dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	is("the plugin sample is trusted, but its folder is missing", "restore it in one of "+filepath.Dir(dir))
}

// A temporary folder may be relative: a plugin starts in a folder of its own.
func TestRelativeTempDir(t *testing.T) {
	dir := folder(t, "")
	t.Chdir(shortDir(t))
	h, err := host.Single(t.Context(), dir, host.Options{TempDir: "."})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A plugin that writes to its own folder would be another one the next time.
func TestWritesItsFolder(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		"": "plugin sample: its folder changed while it started, so that it may not be the trusted one",
		// it may change then
		"data: [cache]": "",
	} {
		dir := folder(t, data)
		content := fmt.Sprintf("name: sample\nversion: 1.0.0\ncommand: sh\nargs: [-c, mkdir -p cache; echo $$ > cache/pid; exec %s]\n%s\n", program, data)
		if err := os.WriteFile(filepath.Join(dir, manifest.FileName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		h := openAll(t, host.Options{Folders: []string{filepath.Dir(dir)}, LockFile: filepath.Join(t.TempDir(), manifest.LockFileName), TempDir: shortDir(t)})
		_, trustErr := h.Trust(t.Context(), "sample")
		single, singleErr := host.Single(t.Context(), dir, host.Options{TempDir: shortDir(t)})
		if singleErr == nil {
			if err := single.Close(); err != nil {
				t.Error(err)
			}
		}
		for how, err := range map[string]error{"trusted": trustErr, "alone": singleErr} {
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s, %s: got %q, want %q", how, data, got, want)
			}
		}
	}
}

// However often a program or its manifest is exchanged or written to while it is checked and started, only a
// checked program runs.
func TestSwappedProgram(t *testing.T) {
	slow.Test(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(file string, content []byte) error {
		return errors.Join(os.WriteFile(file+"-next", content, 0o755), os.Rename(file+"-next", file))
	}
	overwrite := func(file string, content []byte) error { return os.WriteFile(file, content, 0o755) }
	text := []byte("name: sample\nversion: 1.0.0\ncommand: ./program\ndata: [ran, program-next, plugin.yaml-next]\nlimits: {start_timeout: 2s}\n")
	noting := []byte("#!/bin/sh\n[ $# = 0 ] || touch ran\nexec " + own + "\n")
	script, other := []byte("#!/bin/sh\nexec "+own+"\n"), []byte("#!/bin/sh\ntouch ran\nexec "+own+"\n")
	for name, attack := range map[string]struct {
		program    []byte // at the beginning
		file       string // the file that is changed
		good, evil []byte
		put        func(file string, content []byte) error
	}{
		"another program":     {binary, "program", binary, []byte("#!/bin/sh\ntouch ran\n"), exchange},
		"written to":          {binary, "program", binary, []byte("#!/bin/sh\ntouch ran\n"), overwrite},
		"another script":      {script, "program", script, other, exchange},
		"a script written to": {script, "program", script, other, overwrite},
		"another manifest":    {noting, manifest.FileName, text, append(text, "args: [evil]\n"...), exchange},
	} {
		for _, reaper := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, reaper: %t", name, reaper), func(t *testing.T) {
				dir := folder(t, "")
				at := func(name string) string { return filepath.Join(dir, name) }
				if err := errors.Join(overwrite(at(manifest.FileName), text), overwrite(at("program"), attack.program)); err != nil {
					t.Fatal(err)
				}
				h := openAll(t, host.Options{Folders: []string{filepath.Dir(dir)}, LockFile: filepath.Join(t.TempDir(), manifest.LockFileName), TempDir: shortDir(t), Reaper: reaper})
				reviewed, err := h.Review("sample")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				swapped := make(chan struct{})
				go func() {
					defer close(swapped)
					for ctx.Err() == nil {
						for _, content := range [][]byte{attack.evil, attack.good} {
							time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
							_ = attack.put(at(attack.file), content) // a program that runs cannot be written to
						}
					}
				}()
				for range 40 {
					_, _ = h.TrustReviewed(t.Context(), reviewed)
				}
				cancel()
				<-swapped
				if _, err := os.Stat(at("ran")); err == nil {
					t.Error("a program ran that was not checked")
				}
				if err := exchange(at(attack.file), attack.good); err != nil {
					t.Fatal(err)
				}
				if _, err := h.TrustReviewed(t.Context(), reviewed); err != nil {
					t.Errorf("in its place: %v", err)
				}
			})
		}
	}
}
