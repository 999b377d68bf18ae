//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/test/slow"
)

// built is the folder of the built plugin.
var built string

func TestMain(m *testing.M) {
	if runtime.GOOS != "linux" {
		fmt.Println("the hostile plugin needs Linux")
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == process.ReaperCommand {
		os.Exit(process.Reap(os.Args[2:]))
	}
	if dir := os.Getenv(hostDir); dir != "" {
		beAHost(dir)
	}
	if !slow.Enabled() {
		fmt.Println("the hostile plugin is slow: make test-slow runs it")
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "hostile-")
	if err == nil {
		built = dir
		var text []byte
		text, err = exec.Command("go", "build", "-o", filepath.Join(dir, "hostile"), ".").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, text)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait more than they work
		fmt.Println(err)
	}
	code := m.Run()
	if left, _ := filepath.Glob(filepath.Join(dir, "scheduler-plugins-*")); len(left) > 0 {
		fmt.Println("files are left:", left)
		code = 1
	}
	_ = os.RemoveAll(dir)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	if left := processes(""); len(left) > 0 && code == 0 {
		fmt.Println("processes are left:", left)
		code = 1
	}
	os.Exit(code)
}

// The limits are small. When a test has to wait for a limit, the impatient ones keep that short.
const (
	limits    = `{start_timeout: 30s, timeout: 30s, max_message_mib: 1, max_output_mib: 3, max_chunks: 1000, restarts: 1, host_calls: 50}`
	impatient = `{start_timeout: 2s, timeout: 1s, exec_timeout: 2s, restarts: 1}`
)

// world is a host with a hostile and a healthy plugin.
type world struct {
	*host.Host
	dir      string
	temp     string // the parent of the folder of sockets
	autoMTLS bool
	registry *calls.Registry
}

// newWorld trusts the plugins; at is how the hostile one starts. At the end nothing
// may be left of them.
func newWorld(t *testing.T, at, services string, waits ...bool) *world {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	w := &world{dir: dir, temp: built}
	for name, at := range map[string]string{"hostile": at, "healthy": ""} {
		limits := limits
		if len(waits) > 0 && waits[0] && name == "hostile" {
			limits = impatient
		}
		folder := filepath.Join(dir, "plugins", name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		// A link in each world: further hard links would change the file while it starts.
		if err := os.Symlink(filepath.Join(built, "hostile"), filepath.Join(folder, "program")); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("name: %s\nversion: 1.0.0\ncommand: ./program\nargs: [%s, %q]\nservices: %s\nlimits: %s\n", name, name, at, services, limits)
		if err := os.WriteFile(filepath.Join(folder, manifest.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.open(t)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if left := processes(w.dir); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return w
}

// open opens a host, in place of the previous one.
func (w *world) open(t *testing.T) {
	t.Helper()
	if w.Host != nil {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	var err error
	w.Host, err = host.Open(host.Options{
		Folders:  []string{filepath.Join(w.dir, "plugins")},
		LockFile: filepath.Join(w.dir, manifest.LockFileName), TempDir: w.temp, AutoMTLS: w.autoMTLS, Reaper: true, GracePeriod: 300 * time.Millisecond,
		Backoff: time.Millisecond, Cooldown: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// trust trusts both and registers their calls.
func (w *world) trust(t *testing.T) {
	t.Helper()
	for _, name := range []string{"healthy", "hostile"} {
		if _, err := w.Trust(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	w.register(t)
}

func (w *world) register(t *testing.T) {
	t.Helper()
	var err error
	w.registry, err = calls.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Register(w.registry); err != nil {
		t.Fatal(err)
	}
}

// processes lists the processes of the plugins below dir, and their children. If dir is "", it lists the children
// of all plugins, and ended processes that were not waited for.
func processes(dir string) (found []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	self := os.Getpid()
	for _, file := range entries {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(file), "exe"))
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		plugin := exe == filepath.Join(built, "hostile") && strings.HasPrefix(cwd, dir)
		child := strings.Contains(string(environ), "CHILD_OF="+dir)
		zombie := parent == self && state == "Z"
		if child || dir == "" && zombie || dir != "" && plugin {
			found = append(found, string(stat))
		}
	}
	return found
}

func (w *world) judge(ctx context.Context, t *testing.T, plugin, mode string) ([]plugins.Verdict, error) {
	t.Helper()
	f, ok := w.registry.Importance(plugin + ".judge")
	if !ok {
		t.Fatalf("%s.judge is not registered", plugin)
	}
	return f.Judge(ctx, plugins.State{Input: mode, Now: time.Now()}, make([]plugins.Item, 3))
}

func (w *world) resolve(ctx context.Context, plugin, mode string) error {
	name := plugin + "_value"
	r, _ := w.registry.Resolver(name)
	_, err := r.Resolve(ctx, plugins.State{Input: mode}, []string{name})
	return err
}

func (w *world) exec(ctx context.Context, t *testing.T, plugin, name, mode string) (value.Value, error) {
	t.Helper()
	def, ok := w.registry.Call(plugin + "." + name)
	if !ok {
		t.Fatalf("%s.%s is not registered", plugin, name)
	}
	env := calls.NewEnv()
	env.LLM = endless{}
	env.Vars = &calls.Vars{Question: mode}
	call, err := def.New(value.OfMap(value.Pairs("mode", mode)))
	if err != nil {
		return value.Value{}, err
	}
	input, err := call.Init(ctx, env.Vars)
	if err != nil {
		return value.Value{}, err
	}
	return callstest.CollectOutput(call.Exec(ctx, env, input))
}

// endless is a model that never ends.
type endless struct{}

func (endless) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for ctx.Err() == nil && yield(llm.Delta{Text: strings.Repeat("word ", 10_000)}, nil) {
		}
	}
}

// healthy reports whether the host still runs a healthy plugin. The hostile one may have
// little time, and a machine with much to do is asked again.
func (w *world) healthy(t *testing.T, plugin string) {
	t.Helper()
	err := w.use(t, plugin)
	for range 5 {
		if calls.KindOf(err) != calls.Timeout {
			break
		}
		err = w.use(t, plugin)
	}
	if err != nil {
		t.Errorf("the plugin %s is not healthy: %v", plugin, err)
	}
}

// use uses all that a plugin offers.
func (w *world) use(t *testing.T, plugin string) error {
	t.Helper()
	verdicts, err := w.judge(t.Context(), t, plugin, "healthy")
	if err != nil {
		return err
	}
	if len(verdicts) != 3 || verdicts[0].Reason != "healthy" {
		return fmt.Errorf("the verdicts are %v", verdicts)
	}
	out, err := w.exec(t.Context(), t, plugin, "act", "healthy")
	if err != nil {
		return err
	}
	if out.JSON() != `{"text":"healthy"}` {
		return fmt.Errorf("the output is %s", out)
	}
	return w.resolve(t.Context(), plugin, "healthy")
}

// says checks an error: that it names the plugin, its kind, and its text.
func says(t *testing.T, err error, kind calls.Kind, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error; want %q", want)
	case !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "plugin hostile"):
		t.Errorf("the error is %q\nwant one of the plugin hostile with %q", err, want)
	case calls.KindOf(err) != kind:
		t.Errorf("the kind is %s, want %s: %v", calls.KindOf(err), kind, err)
	}
}

// saysHow checks that an error, as the user of a flow reads it, suggests a remedy.
func saysHow(t *testing.T, err error) {
	t.Helper()
	for _, way := range []string{"scheduler plugins ", "plugin.yaml", "leave the score out", "one verdict per item", "try again"} {
		if err != nil && strings.Contains(err.Error()+calls.HintOf(err), way) {
			return
		}
	}
	t.Errorf("the error says no way out: %v (%s)", err, calls.HintOf(err))
}
