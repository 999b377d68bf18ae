package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
)

func openAll(t *testing.T, opts host.Options) *host.Host {
	t.Helper()
	h, err := host.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func states(h *host.Host) (all []string) {
	list, _ := h.List()
	for _, s := range list {
		all = append(all, s.Name+" "+s.Version+" "+string(s.State))
	}
	return all
}

// The entries of the lock file are enough to list, lint and describe; the program is needed only to run.
func TestTrust(t *testing.T) {
	dir := folder(t, "services: [vars]\nenv: [TZ]\ndata: [cache, .git]")
	opts := host.Options{Folders: []string{filepath.Dir(dir), "/nowhere/at/all"}, LockFile: filepath.Join(t.TempDir(), "state", manifest.LockFileName)}
	h := openAll(t, opts)
	if got := states(h); !slices.Equal(got, []string{"sample 1.0.0 untrusted"}) || len(h.Names()) > 0 {
		t.Errorf("found %q, trusted %q", got, h.Names())
	}
	w, err := h.Review("sample")
	if err != nil || w.Trusted != nil || len(w.SHA256) != 64 || w.Dir != dir || w.Manifest.Services[0] != "vars" || !strings.Contains(w.Manifest.Command, "host.test") {
		t.Errorf("it wants %+v, %v", w, err)
	}
	if _, err := h.Review("sampel"); calls.KindOf(err) != calls.NotFound || calls.HintOf(err) != `did you mean "sample"?` {
		t.Errorf("got %v (%s)", err, calls.HintOf(err))
	}
	e, err := h.Trust(t.Context(), "sample")
	if err != nil || e.SHA256 != w.SHA256 || len(e.Functions) != 12 || e.Functions[0].Title("sample") != "sample.is_long" || e.Functions[3].Title("sample") != "vars.profile" {
		t.Fatalf("got %+v, %v", e, err)
	}
	first, err := os.ReadFile(opts.LockFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Trust(t.Context(), "sample"); err != nil {
		t.Error(err)
	}
	if second, _ := os.ReadFile(opts.LockFile); string(second) != string(first) {
		t.Errorf("trusting it again changed the lock file:\n%s\n%s", first, second)
	}

	again := openAll(t, opts)
	if got := states(again); !slices.Equal(got, []string{"sample 1.0.0 trusted"}) || !slices.Equal(again.Names(), []string{"sample"}) {
		t.Errorf("found %q, trusted %q", got, again.Names())
	}
	for _, name := range []string{"cache", ".git"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"cache/x", ".git/index"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := states(again); !slices.Equal(got, []string{"sample 1.0.0 trusted"}) {
		t.Errorf("after its data changed: %q", got)
	}
	for what, add := range map[string]func(name string) error{
		"a link": func(name string) error { return os.Symlink("plugin.yaml", name) },
		"a file": func(name string) error { return os.WriteFile(name, nil, 0o600) },
		"another .git": func(name string) error {
			return errors.Join(os.Mkdir(name, 0o700), os.WriteFile(filepath.Join(name, ".git"), nil, 0o600))
		},
	} {
		name := filepath.Join(dir, "added")
		if err := add(name); err != nil {
			t.Fatal(err)
		}
		if got := states(again); !slices.Equal(got, []string{"sample 1.0.0 changed"}) {
			t.Errorf("after %s was added: %q", what, got)
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		if got := states(again); !slices.Equal(got, []string{"sample 1.0.0 trusted"}) {
			t.Errorf("after %s was removed: %q", what, got)
		}
	}

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	gone := openAll(t, opts)
	if got := states(gone); !slices.Equal(got, []string{"sample 1.0.0 missing"}) {
		t.Errorf("found %q", got)
	}
	r := registered(t, gone)
	def, ok := r.Call("sample.greet")
	if !ok || def.Info.Params == nil {
		t.Fatal("the lock file alone does not give the calls")
	}
	f, _ := r.Importance("sample.is_long")
	_, err = f.Judge(t.Context(), plugins.State{}, make([]plugins.Item, 1))
	if err == nil || err.Error() != "plugin sample, function is_long: its folder was not found" || calls.KindOf(err) != calls.Invalid {
		t.Errorf("got %v", err)
	}
}

func TestVersionThatDiffers(t *testing.T) {
	dir := folder(t, "args: [2.0.0]")
	h := openAll(t, host.Options{Plugins: []string{dir}, LockFile: filepath.Join(t.TempDir(), manifest.LockFileName)})
	_, err := h.Trust(t.Context(), "sample")
	if err == nil || !strings.Contains(err.Error(), `its version is "2.0.0" in the program and "1.0.0" in plugin.yaml`) {
		t.Errorf("got %v", err)
	}
}

func TestProblemsOfFolders(t *testing.T) {
	one, two := folder(t, ""), folder(t, "")
	empty := t.TempDir()
	h := openAll(t, host.Options{Plugins: []string{one, two, empty}, Folders: []string{filepath.Join(one, manifest.FileName)}})
	_, problems := h.List()
	want := []string{"looking for plugins: ", "two plugins are called sample: " + one + " is used, " + two + " is not", "reading a manifest: "}
	for i, p := range problems {
		if i >= len(want) || !strings.HasPrefix(p.Error(), want[i]) {
			t.Errorf("problem %d: %v", i, p)
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%d problems, want %d", len(problems), len(want))
	}
}

// Names that others have are an error when the registry is filled, not at run time.
func TestNamesThatAreTaken(t *testing.T) {
	h, _ := open(t, folder(t, ""), host.Options{})
	r, err := calls.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddResolver(plugins.ResolverFunc(nil), "profile"); err != nil {
		t.Fatal(err)
	}
	if err := h.Register(r); err == nil || err.Error() != `plugin sample: the variable "profile" is registered twice` {
		t.Errorf("got %v", err)
	}
}

// Trust is taken back: the entry is gone, the others stay, and running processes are ended.
func TestUntrust(t *testing.T) {
	dir := folder(t, "")
	lock := filepath.Join(t.TempDir(), manifest.LockFileName)
	h := openAll(t, host.Options{Plugins: []string{dir}, LockFile: lock, TempDir: shortDir(t)})
	if _, err := h.Untrust("sample"); err == nil || err.Error() != "the plugin sample is not trusted" {
		t.Errorf("got %v", err)
	}
	if _, err := h.Trust(t.Context(), "sample"); err != nil {
		t.Fatal(err)
	}
	process := pid(t, registered(t, h))
	if _, err := h.Untrust("sampel"); err == nil || err.Error() != `unknown plugin "sampel"` || calls.HintOf(err) != `did you mean "sample"?` {
		t.Errorf("got %v", err)
	}
	e, err := h.Untrust("sample")
	if err != nil || e.Name != "sample" || len(h.Names()) != 0 || alive(process) {
		t.Errorf("got %v, %v; trusted are %v, the process is alive: %t", e, err, h.Names(), alive(process))
	}
	if text, err := os.ReadFile(lock); err != nil || !strings.Contains(string(text), `"plugins": []`) {
		t.Errorf("the file has %s, %v", text, err)
	}
}

// Several programs change the lock file at the same time, and no change is lost.
func TestUntrustAtOnce(t *testing.T) {
	const n = 16
	file := filepath.Join(t.TempDir(), manifest.LockFileName)
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`{"name":"p%d","version":"1","sha256":"","functions":[]}`, i)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"version":1,"plugins":[%s]}`, strings.Join(entries, ",")), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range n {
		h := openAll(t, host.Options{LockFile: file})
		all.Go(func() {
			if _, err := h.Untrust(fmt.Sprintf("p%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names := openAll(t, host.Options{LockFile: file}).Names(); len(names) > 0 {
		t.Errorf("still trusted are %v", names)
	}
}

func TestLockFile(t *testing.T) {
	const plugin = `{"name":"x","version":"1","sha256":"","functions":[`
	for text, want := range map[string]string{
		`{"version":1,"plugins":[]}`: "",
		`{"version":2,"plugins":[]}`: ":1:12: version: the file has version 2, this program reads version 1",
		`{"version":2,"new":1}`:      "the file has version 2",
		`{"plugins":[]}`:             `:1:1: the required property "version" is missing`,
		`{"version":1`:               ":1:13: ",
		"{\n\t\"version\": 1,\n\t\"plugin\": [],\n\t\"plugins\": []\n}":                  `:3:2: unknown property "plugin" (did you mean "plugins"?)`,
		`{"version":1,"plugins":[{"name":"x","version":"1","sha256":"","function":[]}]}`: `:1:63: unknown property "function" (did you mean "functions"?)`,
		`[]`: "want object, got array",
		`{"version":1,"plugins":[` + plugin + `]},` + plugin + `]}]}`:                                                 `duplicate plugin "x"`,
		`{"version":1,"plugins":[{"name":"../x","version":"1","sha256":"","functions":[]}]}`:                          `"../x" cannot be the name`,
		`{"version":1,"plugins":[` + plugin + `{"name":"f","kind":"magic","doc_en":"d"}]}]}`:                          `unknown kind "magic"`,
		`{"version":1,"plugins":[` + plugin + `{"name":"f","kind":"variable","doc_en":"d","output":{"type":"x"}}]}]}`: "not a JSON Schema",
		`{"version":1,"plugins":[` + plugin + `{"name":"f","kind":"variable","doc_en":"\u009b2J"}]}]}`:                "the invisible character U+009B",
	} {
		file := filepath.Join(t.TempDir(), manifest.LockFileName)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := host.Open(host.Options{LockFile: file})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file)) {
			t.Errorf("%s\ngot %v\nwant %s", text, err, want)
		}
	}
}

// A lock file comes from a repository: nothing in it may be taken that trust would
// not have written.
func FuzzLockFile(f *testing.F) {
	f.Add(`{"version":1,"plugins":[]}`)
	f.Add(`{"version":1,"plugins":[{"name":"x","version":"1","sha256":"0","limits":{"timeout":"3s"},"functions":[
		{"name":"f","kind":"variable","doc_en":"d","output":{"type":"string"}},
		{"name":"g","kind":"call","doc_en":"d","params":{"type":"object"},"input":{"type":"object"},"output":{"type":"object"}}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), manifest.LockFileName)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := host.Open(host.Options{LockFile: file})
		if err != nil {
			return
		}
		r, err := calls.NewRegistry()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Register(r); err == nil {
			for _, name := range r.CallNames() {
				def, _ := r.Call(name)
				_, _ = def.New(value.Value{})
			}
		}
		if _, problems := h.List(); len(problems) > 0 {
			t.Errorf("%q gave %v", text, problems)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}
