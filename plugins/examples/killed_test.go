package examples

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
)

// The test's own program is a host, to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "be-a-host" {
		beAHost(os.Args[2], os.Args[3], os.Args[4])
	}
	os.Exit(m.Run())
}

func beAHost(dir, temp, variable string) {
	ctx := context.Background()
	h, err := host.Single(ctx, dir, host.Options{TempDir: temp})
	if err == nil {
		r, _ := calls.NewRegistry()
		err = h.Register(r)
		if err == nil {
			f, _ := r.Resolver(variable)
			_, err = f.Resolve(ctx, plugins.State{}, []string{variable})
		}
	}
	fmt.Println(err)
	select {}
}

// workingIn returns the processes with the working directory dir.
func workingIn(dir string) (found []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == dir {
			found = append(found, link)
		}
	}
	return found
}

// endsWithHost kills a host of the plugin in a folder.
func endsWithHost(t *testing.T, dir, variable string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // it looks for processes in /proc
	}
	temp, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) }) // the host cannot do it
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "be-a-host", dir, temp, variable)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Errorf("the host says %q", line)
	}
	if len(workingIn(dir)) == 0 {
		t.Error("the plugin does not run")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for range 1000 {
		if len(workingIn(dir)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("it lives on: %v", workingIn(dir))
}
