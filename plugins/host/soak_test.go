package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/test/slow"
)

// usage counts the resources of this process.
type usage struct {
	files, goroutines, threads, children, sockets int
	heap                                          uint64
}

func (u usage) String() string {
	return fmt.Sprintf("%d files, %d goroutines, %d threads, %d children, %d folders, %d KiB", u.files, u.goroutines, u.threads, u.children, u.sockets, u.heap>>10)
}

// within reports whether u is about as much as before.
func (u usage) within(before usage) bool {
	return u.files <= before.files+5 && u.goroutines <= before.goroutines+10 && u.threads <= before.threads+20 &&
		u.children <= before.children && u.sockets <= before.sockets && u.heap <= before.heap+4<<20
}

func measure(t *testing.T, temp string) usage {
	t.Helper()
	names := func(pattern string) []string {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	u := usage{
		files: len(names("/proc/self/fd/*")), goroutines: runtime.NumGoroutine(), threads: len(names("/proc/self/task/*")),
		sockets: len(names(filepath.Join(temp, "*", "plugin-dir*"))),
	}
	for _, file := range names("/proc/self/task/*/children") {
		text, _ := os.ReadFile(file) // a thread may just have ended
		u.children += len(strings.Fields(string(text)))
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	u.heap = stats.HeapAlloc
	return u
}

// Neither starts nor calls leave anything behind. SOAK=10000 makes it long.
func TestNothingGrows(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts files in /proc")
	}
	rounds := slow.Rounds(2, 10)
	if n, err := strconv.Atoi(os.Getenv("SOAK")); err == nil {
		rounds = n
	}
	// The plugin and its watcher, or its keeper.
	for _, keeper := range []bool{false, true} {
		t.Run(fmt.Sprintf("keeper %t", keeper), func(t *testing.T) {
			children := 2
			if keeper {
				children = 1
			}
			nothingGrows(t, rounds, keeper, children)
		})
	}
}

func nothingGrows(t *testing.T, rounds int, keeper bool, children int) {
	// Made here, not by open, because the test needs the folder.
	temp := shortDir(t)
	h, err := host.Single(t.Context(), folder(t, "services: [log, vars]\nlimits: {restarts: 100}"), host.Options{TempDir: temp, Backoff: 1, Reaper: keeper})
	if err != nil {
		t.Fatal(err)
	}
	r := registered(t, h)
	f, _ := r.Importance("sample.is_long")
	env := calls.NewEnv()
	env.Vars = &calls.Vars{Question: "q"}
	round := func() {
		p := pid(t, r)
		for range 10 {
			if _, err := f.Judge(t.Context(), plugins.State{}, make([]plugins.Item, 10)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := run(t, r, env, "sample.environment", nil); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(p, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the restart", func() bool {
			g, _ := r.Resolver("pid")
			values, err := g.Resolve(t.Context(), plugins.State{}, []string{"pid"})
			return err == nil && string(values["pid"]) != strconv.Itoa(p)
		})
	}
	settled := func(before *usage) (now usage) {
		eventually(t, "the end of what was stopped", func() bool {
			now = measure(t, temp)
			return now.children == children && now.sockets == 1 && (before == nil || now.within(*before))
		})
		return now
	}
	for range min(rounds+1, 10) {
		round()
	}
	before := settled(nil)
	for i := range rounds {
		round()
		if i%500 == 499 {
			t.Logf("%d restarts: %s", i+1, measure(t, temp))
		}
	}
	t.Logf("before: %s", before)
	t.Logf("after %d restarts: %s", rounds, settled(&before))
}
