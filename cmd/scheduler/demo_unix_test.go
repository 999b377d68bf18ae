//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// demoChild is the environment variable that makes this test program the process of TestDemo.
const demoChild = "SCHEDULER_TEST_DEMO"

// TestDemo: the page of the demonstration has the run of the quickstart, its flows can be run, and
// Ctrl-C ends it and removes its folder.
func TestDemo(t *testing.T) {
	if os.Getenv(demoChild) != "" {
		os.Exit(runProgram([]string{"demo", "--no-open"}, strings.NewReader(""), os.Stdout, os.Stderr))
	}
	temporary := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDemo$")
	child.Dir = t.TempDir()
	child.Env = append(os.Environ(), demoChild+"=1", "TMPDIR="+temporary, "LANG=en_US.UTF-8")
	child.Stderr = t.Output()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	link := ""
	lines := bufio.NewScanner(out)
	for link == "" && lines.Scan() {
		if given, ok := strings.CutPrefix(lines.Text(), "log in once with "); ok {
			link = given
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if folders, _ := filepath.Glob(filepath.Join(temporary, "scheduler-demo-*", "flows", "quickstart.yaml")); len(folders) != 1 {
		t.Errorf("the project is at %v", folders)
	}
	jar, _ := cookiejar.New(nil) // without options it does not fail
	client := &http.Client{Jar: jar}
	read := func(address string) string {
		resp, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	base, _, _ := strings.Cut(link, "/login")
	read(link)
	if runs := read(base + "/api/v1/runs"); !strings.Contains(runs, `"quickstart"`) || !strings.Contains(runs, `"finished"`) {
		t.Errorf("the runs are %s", runs)
	}
	flows := read(base + "/api/v1/flows")
	for _, name := range []string{"quickstart", "chat", "order"} {
		if !strings.Contains(flows, `"`+name+`"`) {
			t.Errorf("%s is not among %s", name, flows)
		}
	}
	client.CloseIdleConnections()
	if err := child.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "scheduler-demo-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
