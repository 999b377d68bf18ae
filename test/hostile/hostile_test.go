//go:build unix

package main

import (
	"context"
	"errors"
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
)

// built is the folder of the built plugin.
var built string

func TestMain(m *testing.M) {
	if runtime.GOOS != "linux" {
		fmt.Println("the hostile plugin needs Linux")
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == host.KeeperCommand {
		os.Exit(host.Keep(os.Args[2:]))
	}
	if dir := os.Getenv(hostDir); dir != "" {
		beAHost(dir)
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

// The limits are small. Where something has to be waited for, impatient ones make
// that soon over.
const (
	limits    = `{start_timeout: 30s, timeout: 30s, max_message_mib: 1, max_output_mib: 3, max_chunks: 1000, restarts: 1, host_calls: 50}`
	impatient = `{start_timeout: 2s, timeout: 1s, exec_timeout: 2s, restarts: 1}`
)

// world is a host with a hostile and a healthy plugin.
type world struct {
	*host.Host
	dir      string
	temp     string // where the folder of sockets is made
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
		// Each world runs a program of its own, to find its processes by.
		if err := os.Link(filepath.Join(built, "hostile"), filepath.Join(folder, "program")); err != nil {
			t.Fatal(err)
		}
		manifest := fmt.Sprintf("name: %s\nversion: 1.0.0\ncommand: ./program\nargs: [%s, %q]\nservices: %s\nlimits: %s\n", name, name, at, services, limits)
		if err := os.WriteFile(filepath.Join(folder, host.ManifestName), []byte(manifest), 0o600); err != nil {
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

// open opens a host, in the place of the one before.
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
		LockFile: filepath.Join(w.dir, host.LockName), TempDir: w.temp, AutoMTLS: w.autoMTLS, Keeper: true, StopGrace: 300 * time.Millisecond,
		Backoff: time.Millisecond, Cooldown: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// trust trusts both and registers what they offer.
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
	if w.registry, err = calls.NewRegistry(); err != nil {
		t.Fatal(err)
	}
	if err := w.Register(w.registry); err != nil {
		t.Fatal(err)
	}
}

// processes are those whose program is below dir, and their children. Where that is
// "", they are the children of all plugins, and what nobody waited for.
func processes(dir string) (found []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	self := os.Getpid()
	for _, file := range entries {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(file), "exe"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		child := strings.Contains(string(environ), "CHILD_OF="+dir)
		zombie := parent == self && state == "Z"
		if child || dir == "" && zombie || dir != "" && strings.HasPrefix(exe, dir) {
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
	return callstest.Fold(call.Exec(ctx, env, input))
}

// endless is a model that never comes to an end.
type endless struct{}

func (endless) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for ctx.Err() == nil && yield(llm.Delta{Text: strings.Repeat("word ", 10_000)}, nil) {
		}
	}
}

// healthy says whether the host still runs a healthy plugin. The hostile one may have
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

// saysHow checks that an error, as the user of a flow reads it, says what to do next.
func saysHow(t *testing.T, err error) {
	t.Helper()
	for _, way := range []string{"scheduler plugins ", "plugin.yaml", "leave the score out", "one verdict per item", "try again"} {
		if err != nil && strings.Contains(err.Error()+calls.HintOf(err), way) {
			return
		}
	}
	t.Errorf("the error says no way out: %v (%s)", err, calls.HintOf(err))
}

func TestStart(t *testing.T) {
	for at, want := range map[string]string{
		"exit":                  "it ended before the handshake: exit status 3; it wrote:\nno licence was found",
		"exit 0":                "it ended before the handshake: exit status 0",
		"panic":                 "panic: at the start",
		"garbage":               `it printed "Welcome to the hostile plugin!" to standard output instead of the handshake line`,
		"long garbage":          `it printed "xxxxxxxx`,
		"silent":                "it did not print the handshake line within 2s",
		"close":                 "it closed standard output before the handshake line",
		"version":               "it speaks version 99 of the protocol, this program version 1",
		"nowhere":               "/nowhere/at/all",
		"children":              "it ended before the handshake: exit status 1",
		"daemons":               "it ended before the handshake: exit status 1",
		"describe hang":         "it did not describe itself within 2s",
		"describe exit":         "its process ended: exit status 4",
		"describe another name": `it calls itself "somebody-else", its plugin.yaml "hostile"`,
		"describe nothing":      "it has 0 functions",
		"describe bad schema":   "the schema params: not a JSON Schema",
		"describe twice":        `two functions are called "judge"`,
		"describe bad name":     "the name is not snake_case",
	} {
		t.Run(at, func(t *testing.T) {
			w := newWorld(t, at, "[]", strings.Contains(want, "within"))
			_, err := w.Trust(t.Context(), "hostile")
			says(t, err, calls.Plugin, want)
			if _, err := w.Trust(t.Context(), "healthy"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFloodAtStart(t *testing.T) {
	w := newWorld(t, "flood", "[]")
	w.trust(t)
	w.healthy(t, "hostile")
}

func TestDescribesItselfDifferently(t *testing.T) {
	w := newWorld(t, "describe differently", "[]")
	w.trust(t)
	_, err := w.judge(t.Context(), t, "hostile", "healthy")
	says(t, err, calls.Invalid, `it describes itself differently than when it was trusted: "judge" changed; if you know why, run: scheduler plugins trust hostile`)
	w.healthy(t, "healthy")
}

func TestChangedProgram(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	file := filepath.Join(w.dir, "plugins", "hostile", "module.py")
	if err := os.WriteFile(file, []byte("import os"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.judge(t.Context(), t, "hostile", "healthy")
	says(t, err, calls.Invalid, "its program changed since it was trusted (sha256 ")
	if statuses, _ := w.List(); statuses[1].State != host.Changed || statuses[0].State != host.Trusted {
		t.Errorf("the list says %v", statuses)
	}
	w.healthy(t, "healthy")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.healthy(t, "hostile")
}

// Every request may misbehave in these ways, in a session and without one.
func TestRequest(t *testing.T) {
	for _, at := range []string{"session", "unary"} {
		for mode, want := range map[string]struct {
			kind calls.Kind
			text string
		}{
			"panic":        {calls.Plugin, "function judge: its process ended: exit status 2; it wrote:\npanic: on demand"},
			"exit":         {calls.Plugin, "its process ended: exit status 5; it wrote:\ngiving up"},
			"exit 0":       {calls.Plugin, "its process ended: exit status 0"},
			"kill":         {calls.Plugin, "its process ended: signal: killed"},
			"stop":         {calls.Timeout, "function judge: no answer within 1s"},
			"hang":         {calls.Timeout, "no answer within 1s"},
			"slow":         {calls.Timeout, "no answer within 1s"},
			"too few":      {calls.Plugin, "it gave 2 verdicts for 3 items"},
			"NaN":          {calls.Plugin, "the score of item 0 is NaN, want 0 to 1"},
			"beyond":       {calls.Plugin, "the score of item 0 is 2, want 0 to 1"},
			"large":        {calls.Plugin, "the answer is larger than 1048576 bytes"},
			"not UTF-8":    {calls.Plugin, "invalid UTF-8"},
			"another kind": {calls.Plugin, "it gave another kind of answer than verdicts"},
			"no answer":    {calls.Plugin, "it gave another kind of answer than verdicts"},
			"failure":      {calls.Plugin, "function judge: it went [31mwrong"},
		} {
			t.Run(at+" "+mode, func(t *testing.T) {
				w := newWorld(t, at, "[]", want.kind == calls.Timeout)
				w.trust(t)
				_, err := w.judge(t.Context(), t, "hostile", mode)
				says(t, err, want.kind, want.text)
				saysHow(t, err)
				w.healthy(t, "healthy")
				w.healthy(t, "hostile")
			})
		}
	}
}

func TestReplyToNoRequest(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for _, mode := range []string{"wrong id", "zero id"} {
		_, err := w.judge(t.Context(), t, "hostile", mode)
		says(t, err, calls.Plugin, "it broke the protocol: it answered request ")
		saysHow(t, err)
		w.healthy(t, "healthy")
		w.healthy(t, "hostile")
	}
}

func TestVariable(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for mode, want := range map[string]string{
		"bad schema": "variable hostile_value: the value of hostile_value: it does not fit its schema: ",
		"NaN":        "it is no JSON",
		"not UTF-8":  "it is no JSON",
		"other name": `it gave a value for "uninvited", for which nobody asked`,
	} {
		err := w.resolve(t.Context(), "hostile", mode)
		says(t, err, calls.Plugin, want)
		saysHow(t, err)
		w.healthy(t, "hostile")
	}
}

func TestCall(t *testing.T) {
	for mode, want := range map[string]struct {
		kind calls.Kind
		text string
	}{
		"panic":              {calls.Plugin, "call act: its process ended: exit status 2; it wrote:\npanic: on demand"},
		"kill":               {calls.Plugin, "its process ended: signal: killed"},
		"exit in the middle": {calls.Plugin, "its process ended: exit status 6"},
		"stop":               {calls.Timeout, "it put out nothing for 1s"},
		"hang in the middle": {calls.Timeout, "it put out nothing for 1s"},
		"slow drip":          {calls.Timeout, "it was not done within 2s"},
		"chunks":             {calls.Plugin, "it put out more than 1000 chunks"},
		"output":             {calls.Plugin, "it put out more than 3 MiB"},
		"large":              {calls.Plugin, "the answer is larger than 1048576 bytes"},
		"text after data":    {calls.Plugin, "it put out text after data"},
		"bad schema":         {calls.Plugin, "its output: it does not fit its schema: "},
		"no JSON":            {calls.Plugin, "its output: it is no JSON"},
		"NaN":                {calls.Plugin, "its output: it is no JSON"},
		"nothing":            {calls.Plugin, "it put out a chunk with nothing in it"},
		"not UTF-8":          {calls.Plugin, "invalid UTF-8"},
	} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, "", "[]", want.kind == calls.Timeout)
			w.trust(t)
			_, err := w.exec(t.Context(), t, "hostile", "act", mode)
			says(t, err, want.kind, want.text)
			saysHow(t, err)
			w.healthy(t, "healthy")
			w.healthy(t, "hostile")
		})
	}
}

func TestInit(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	_, err := w.exec(t.Context(), t, "hostile", "prepare", "bad input")
	says(t, err, calls.Plugin, "call prepare: its input: it does not fit its schema: /other")
	if out, err := w.exec(t.Context(), t, "hostile", "prepare", "fine"); err != nil || out.JSON() != `{"text":"healthy"}` {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestHostServices(t *testing.T) {
	w := newWorld(t, "", "[vars, log, llm]")
	w.trust(t)
	for mode, want := range map[string]string{
		"stolen token": "the host can be called only while a request runs, with the token of that request",
		"model":        "the model cannot be asked here",
		"endless":      "the plugin hostile called the host more than 50 times in one request (limits.host_calls in plugin.yaml)",
	} {
		verdicts, err := w.judge(t.Context(), t, "hostile", mode)
		if err != nil || !strings.Contains(verdicts[0].Reason, want) {
			t.Errorf("%s: the plugin was told %v, %v\nwant %q", mode, verdicts, err, want)
		}
	}
	_, err := w.exec(t.Context(), t, "hostile", "act", "endless")
	says(t, err, calls.Plugin, "the plugin hostile called the host more than 50 times in one request (limits.host_calls in plugin.yaml)")
	for _, mode := range []string{"deaf", "late"} {
		if out, err := w.exec(t.Context(), t, "hostile", "act", mode); err != nil || out.JSON() != `{"text":"healthy"}` {
			t.Errorf("%s: got %s, %v", mode, out, err)
		}
	}
	w.healthy(t, "healthy")
	w.healthy(t, "hostile")
}

// A service that was not granted is refused to functions of every kind.
func TestServicesNotGranted(t *testing.T) {
	for granted, refused := range map[string][]string{"[vars]": {"llm", "memory", "log"}, "[log]": {"vars"}} {
		t.Run(granted, func(t *testing.T) {
			w := newWorld(t, "", granted)
			w.trust(t)
			for _, service := range refused {
				want := "the plugin hostile was not granted the service " + service + ": list it under services in plugin.yaml, then run: scheduler plugins trust hostile"
				_, err := w.judge(t.Context(), t, "hostile", "use "+service)
				says(t, err, calls.Plugin, want)
				says(t, w.resolve(t.Context(), "hostile", "use "+service), calls.Plugin, want)
				_, err = w.exec(t.Context(), t, "hostile", "act", "use "+service)
				says(t, err, calls.Plugin, want)
			}
			w.healthy(t, "hostile")
		})
	}
}

// With certificates wanted, a plugin without one is refused when it is trusted.
func TestNoCertificate(t *testing.T) {
	w := newWorld(t, "no certificate", "[]")
	w.autoMTLS = true
	w.open(t)
	_, err := w.Trust(t.Context(), "hostile")
	says(t, err, calls.Plugin, "it did not describe itself")
	if _, err := w.Trust(t.Context(), "healthy"); err != nil {
		t.Error(err)
	}
}

// The conformance suite says which faults of the program itself it found.
func TestVerify(t *testing.T) {
	w := newWorld(t, "stubborn", "[]")
	w.trust(t)
	failed := map[string]string{}
	for _, r := range w.Verify(t.Context()) {
		if name, ok := strings.CutPrefix(r.Check, "hostile: "); ok && r.Err != nil {
			failed[name] = r.Err.Error()
		}
	}
	for check, want := range map[string]string{
		"description":           "judge: it has no doc_zh",
		"unknown function":      "a request of the kind importance: by Ask: its process ended: exit status 2: answer with a Failure",
		"input that is no JSON": "call act: it answered as if nothing were wrong",
		"large request":         "a request of 1047552 bytes: by Ask: its process ended: exit status 2",
		"ends when asked":       "it did not end within 300ms of plugin.GRPCController/Shutdown and had to be killed (signal: killed)",
		"ends with its host":    "it did not end within 300ms of end of file on the descriptor that the environment variable SCHEDULER_PLUGIN_LIFE names",
	} {
		if !strings.Contains(failed[check], want) {
			t.Errorf("%s: got %q, want %q", check, failed[check], want)
		}
		delete(failed, check)
	}
	if len(failed) > 0 {
		t.Errorf("failed too: %q", failed)
	}
}

func TestOutputOfAnyKind(t *testing.T) {
	w := newWorld(t, "", "[log]")
	w.trust(t)
	for _, mode := range []string{"stdout", "endless log", "children"} {
		if _, err := w.judge(t.Context(), t, "hostile", mode); err != nil && calls.KindOf(err) != calls.Timeout {
			t.Errorf("%s: %v", mode, err)
		}
	}
	w.healthy(t, "hostile")
}

// What leaves the group and the session of the plugin ends with it all the same.
func TestDaemons(t *testing.T) {
	for _, mode := range []string{"daemons", "daemons, then kill", "daemons, then stop"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, "", "[]", true)
			w.trust(t)
			_, err := w.judge(t.Context(), t, "hostile", mode)
			switch mode {
			case "daemons, then kill":
				says(t, err, calls.Plugin, "its process ended: signal: killed")
			case "daemons, then stop":
				says(t, err, calls.Timeout, "no answer within 1s")
			default:
				if err != nil {
					t.Error(err)
				}
				eventually(t, "the start of the daemons", func() bool { return len(processes(w.dir)) == 1+allDaemons })
			}
			w.healthy(t, "hostile")
		})
	}
}

// A plugin that stops its keeper is ended all the same.
func TestStoppedKeeper(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	if _, err := w.judge(t.Context(), t, "hostile", "stop the keeper"); err != nil {
		t.Error(err)
	}
	w.healthy(t, "hostile")
	if _, err := w.judge(t.Context(), t, "hostile", "kill"); err == nil {
		t.Error("no error")
	}
	w.healthy(t, "hostile")
}

// A plugin that fails again and again is given up, and the error says why.
func TestRestarts(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for range 2 {
		_, err := w.judge(t.Context(), t, "hostile", "kill")
		says(t, err, calls.Plugin, "its process ended: signal: killed")
	}
	_, err := w.judge(t.Context(), t, "hostile", "healthy")
	says(t, err, calls.Plugin, "it failed 2 times in a row and is not started again for 1h0m0s; the last time: its process ended: signal: killed")
	saysHow(t, err)
	w.healthy(t, "healthy")
}

func TestStepEndsFirst(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for _, mode := range []string{"hang", "stop"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := w.judge(ctx, t, "hostile", mode); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v", mode, err)
		}
	}
}

// Where the time of the step is over first, the error says who took it.
func TestStepTimesOut(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	timesOut := func(what string, use func(ctx context.Context) error) {
		t.Helper()
		w.healthy(t, "hostile")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := use(ctx)
		says(t, err, calls.Timeout, what+": no answer yet")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it is no end of the time of the step: %v", err)
		}
	}
	for _, mode := range []string{"hang", "stop"} {
		timesOut("function judge", func(ctx context.Context) error {
			_, err := w.judge(ctx, t, "hostile", mode)
			return err
		})
		timesOut("call act", func(ctx context.Context) error {
			_, err := w.exec(ctx, t, "hostile", "act", mode)
			return err
		})
		timesOut("variable hostile_value", func(ctx context.Context) error { return w.resolve(ctx, "hostile", mode) })
	}
}
