// Package test has tests that fit in no single package: of the architecture, for example that no call imports
// another, and of the program as a whole.
package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = ".."
	module = "github.com/callnode/scheduler/"
)

// The layers: which packages of ours a folder may import, the rule of the longest
// matching folder. x/... is x and all below it; * is the folder's own family, the
// first two names of its path. Nothing else is allowed, so imports cannot become
// a circle, and only the program knows the parts.
var layers = map[string][]string{
	// Roots: contracts that import the standard library only.
	"llm":     {},
	"plugins": {},
	// The value type and its text forms.
	"llm/value":         {},
	"llm/value/wording": {},
	"llm/value/span":    {"llm/value/wording"},
	"llm/value/jsonc":   {"llm/value"},
	"llm/value/yaml":    {"llm/value", "llm/value/jsonc", "llm/value/wording"},
	// The packages built on the roots.
	"llm/...": {"llm", "llm/endpoint", "llm/value/...", "*"},
	// The template language: its packages, each of which only uses earlier ones.
	"llm/prompt":                     {"llm/prompt/internal/...", "llm/value"},
	"llm/prompt/internal/lettercase": {},
	"llm/prompt/internal/strftime":   {},
	"llm/prompt/internal/fault":      {"llm/value"},
	"llm/prompt/internal/trace":      {"llm/value", "llm/value/span"},
	"llm/prompt/internal/pyvalue":    {"llm/prompt/internal/fault", "llm/prompt/internal/lettercase", "llm/prompt/internal/trace", "llm/value"},
	"llm/prompt/internal/pongo2tree": {}, // pongo2, and nothing of ours
	"llm/prompt/internal/builtins":   {"llm/prompt/internal/fault", "llm/prompt/internal/lettercase", "llm/prompt/internal/pongo2tree", "llm/prompt/internal/pyvalue", "llm/prompt/internal/trace", "llm/value"},
	"llm/prompt/internal/ast":        {"llm/prompt/internal/builtins", "llm/prompt/internal/pyvalue", "llm/prompt/internal/trace", "llm/value"},
	"llm/prompt/internal/constancy":  {"llm/prompt/internal/ast", "llm/prompt/internal/eval", "llm/prompt/internal/pyvalue", "llm/value"},
	"llm/prompt/internal/refs":       {"llm/prompt/internal/ast", "llm/prompt/internal/builtins", "llm/prompt/internal/pyvalue", "llm/value"},
	"llm/prompt/internal/syntax":     {"llm/prompt/internal/ast", "llm/prompt/internal/builtins", "llm/prompt/internal/fault", "llm/prompt/internal/pongo2tree", "llm/prompt/internal/pyvalue", "llm/prompt/internal/refs", "llm/prompt/internal/strftime", "llm/value"},
	"llm/prompt/internal/eval":       {"llm/prompt/internal/ast", "llm/prompt/internal/builtins", "llm/prompt/internal/fault", "llm/prompt/internal/pongo2tree", "llm/prompt/internal/pyvalue", "llm/prompt/internal/trace", "llm/value"},
	// Of the plugin packages only the host knows calls; a plugin's program stays small.
	"plugins/proto":         {"plugins"},
	"plugins/sdk":           {"plugins", "plugins/proto", "calls/schema", "llm", "llm/value"},
	"plugins/manifest":      {"plugins/proto", "calls", "calls/schema", "llm/value/..."},
	"plugins/host":          {"plugins", "plugins/manifest", "plugins/proto", "plugins/host/...", "calls", "calls/schema", "llm", "llm/value/..."},
	"plugins/host/process":  {"calls", "llm/value", "llm/value/secret", "plugins/manifest", "plugins/proto"},
	"plugins/host/services": {"plugins", "plugins/manifest", "plugins/proto", "calls", "llm", "llm/value", "llm/value/secret"},
	"plugins/host/session":  {"plugins/proto"},
	"plugins/verify":        {"plugins", "plugins/host", "plugins/manifest", "plugins/proto", "calls", "calls/schema", "llm", "llm/value/..."},
	"plugins/sdk/...":       {},
	"plugins/project":       {"calls", "plugins/proto", "plugins/sdk/..."},
	"plugins/project/go":    {"plugins", "plugins/sdk"},
	"plugins/pluginstest":   {"plugins", "plugins/host", "plugins/manifest", "plugins/proto", "plugins/verify"},
	"plugins/examples/...":  {"plugins", "plugins/sdk", "llm", "llm/value"},
	"test/slow":             {},
	"test/golden":           {},
	"test/hostile":          {"plugins/proto"},
	"calls/schema":          {"calls/internal/date", "llm/value", "llm/value/secret", "llm/value/wording"},
	"calls":                 {"llm", "plugins", "calls/schema", "calls/internal/transcript", "llm/value", "llm/value/span", "llm/value/wording"},
	"calls/callstest":       {"calls", "calls/schema", "llm", "llm/value/...", "plugins"},
	// A call never imports another call. The shared parts are in calls/ask for calls with prompts of their own, in
	// calls/internal/transcript for the window over a dialogue (their short-term memory), and in calls/internal/skill
	// for the skills that context lists and agent opens.
	"calls/internal/skill":      {"llm/value/..."},
	"calls/internal/date":       {"llm/value"},
	"calls/internal/transcript": {"llm", "plugins"},
	"calls/internal/userpath":   {},
	"calls/...":                 {"calls", "calls/ask", "calls/internal/date", "calls/schema", "calls/internal/skill", "calls/internal/transcript", "calls/internal/userpath", "llm", "llm/prompt", "llm/value/...", "plugins", "*"},
	"calls/builtin":             {"calls/...", "llm/...", "plugins"},
	// The cost of an image depends on the model's family.
	"calls/context/...": {"calls", "calls/ask", "calls/internal/date", "calls/schema", "calls/internal/skill", "calls/internal/transcript", "calls/internal/userpath", "llm", "llm/prompt", "llm/tokens", "llm/value/...", "plugins", "*"},
	// The engine knows no call, no provider, no store.
	"scheduler":                        {"scheduler/flow", "scheduler/internal/...", "scheduler/journal", "calls", "calls/schema", "llm", "llm/prompt", "llm/value/...", "plugins"},
	"scheduler/internal/guess":         {"scheduler/flow", "llm/prompt", "llm/value", "llm/value/span"},
	"scheduler/internal/fork":          {"scheduler/flow", "scheduler/journal", "calls", "calls/schema", "llm/prompt", "llm/value"},
	"scheduler/internal/order":         {}, // a machine that decides: nothing of ours, no I/O
	"scheduler/flow/graph":             {"scheduler/flow"},
	"scheduler/flow/internal/yamltext": {"llm/value/yaml"},
	"scheduler/flow":                   {"scheduler/flow/internal/...", "scheduler/trigger", "calls", "calls/schema", "llm/prompt", "llm/value/...", "plugins"},
	"scheduler/trigger":                {"calls", "llm/value", "llm/value/charset"}, // it interprets cron expressions, signatures and bodies, and knows no flow
	"scheduler/journal":                {"calls", "calls/schema", "llm", "llm/value", "llm/value/secret", "llm/value/span", "plugins"},
	"scheduler/explain":                {"scheduler/flow", "scheduler/journal", "calls", "llm", "llm/prompt", "llm/value", "llm/value/secret", "llm/value/span"},
	// The test cases and results of scheduler test, as data.
	"scheduler/flowtest":           {"scheduler", "scheduler/explain", "scheduler/flow", "scheduler/flowtest/...", "scheduler/journal", "calls", "calls/memory", "llm", "llm/replay", "llm/scripted", "llm/value/...", "plugins"},
	"scheduler/flowtest/result":    {"scheduler/explain", "llm", "llm/value"},
	"scheduler/flowtest/compare":   {"scheduler/flowtest/result", "scheduler/flowtest/stat", "calls", "llm/value", "llm/value/atomicfile"},
	"scheduler/flowtest/report":    {"scheduler/flowtest/compare", "scheduler/flowtest/result", "scheduler/flowtest/stat", "scheduler/explain", "calls", "llm", "llm/value", "llm/value/linediff"},
	"scheduler/flowtest/calibrate": {"scheduler/flowtest/check", "scheduler/flowtest/result", "scheduler/flowtest/stat", "calls", "calls/schema", "llm", "llm/value"},
	"scheduler/flowtest/stat":      {}, // numbers in, numbers out
	// Checks look at the record of a run: they do not use the engine.
	"scheduler/flowtest/check":        {"scheduler/explain", "scheduler/flow", "scheduler/flowtest/check/naming", "scheduler/flowtest/files", "scheduler/flowtest/result", "scheduler/journal", "calls", "calls/ask", "calls/memory/rank", "calls/schema", "llm", "llm/prompt", "llm/value/...", "plugins"},
	"scheduler/flowtest/check/naming": {"scheduler/explain", "scheduler/flow", "scheduler/flowtest/files", "calls", "llm/value", "llm/value/yaml"},
	"scheduler/flowtest/files":        {"calls", "llm/value/..."},
	// Test files are read like flows, and run by another package.
	"scheduler/flowtest/suite": {"scheduler/flow", "scheduler/trigger", "scheduler/flowtest/check", "scheduler/flowtest/files", "scheduler/flowtest/result", "scheduler/flowtest/stat", "scheduler/journal", "calls", "calls/memory", "calls/schema", "llm", "llm/prompt", "llm/scripted", "llm/value/..."},
	// Files of other programs become ours: a package for each kind.
	"scheduler/importer":      {"calls", "llm/value", "llm/value/yaml"},
	"scheduler/importer/...":  {"scheduler/importer", "calls", "llm/prompt", "llm/value", "llm/value/yaml"},
	"scheduler/schedulertest": {"scheduler/...", "calls", "calls/schema", "llm/...", "plugins"},
	// Events on their way to the reader: it knows no step and no flow.
	"scheduler/internal/eventlog": {"scheduler/journal"},
	// A run's spending on models.
	"scheduler/internal/budget": {"calls", "llm", "llm/value"},
	// Which processes carry runs out.
	"scheduler/fleet": {"llm/value"},
	// The part that command line and server share uses the engine and the contracts, but no backend.
	"scheduler/service": {"scheduler", "scheduler/fleet", "scheduler/explain", "scheduler/flow", "scheduler/flowtest/...", "scheduler/journal", "scheduler/service/preview", "calls", "calls/ask", "calls/memory", "calls/schema", "llm", "llm/value/...", "plugins"},
	// Runs in the background, over the use cases.
	"scheduler/dispatch": {"scheduler", "scheduler/fleet", "scheduler/flow", "scheduler/journal", "scheduler/service", "calls", "llm/value"},
	// Which runs wait for a process, and why.
	"scheduler/dispatch/queue": {"scheduler/dispatch", "scheduler/fleet", "scheduler/journal", "scheduler/service", "calls"},
	// A prompt is rendered by the engine, from the record of an earlier run.
	"scheduler/service/preview": {"scheduler", "scheduler/explain", "scheduler/flow", "scheduler/journal", "calls", "calls/schema", "llm", "llm/prompt", "llm/value", "llm/value/span", "plugins"},
	// It carries out the use cases on other machines.
	"scheduler/temporal": {"scheduler/dispatch", "scheduler", "scheduler/fleet", "scheduler/flow", "scheduler/journal", "scheduler/service", "calls", "llm/value"},
	// The way from the first program to the second, which carries them out.
	"scheduler/remote": {"scheduler", "scheduler/service", "calls", "llm/value"},
	// The server knows the use cases, and no settings, calls or flags.
	"scheduler/telemetry":       {"scheduler/journal", "llm", "llm/value/..."},
	"scheduler/server":          {"scheduler/dispatch", "scheduler/fleet", "scheduler/telemetry", "docs", "scheduler", "scheduler/explain", "scheduler/flow", "scheduler/flow/graph", "scheduler/flowtest/compare", "scheduler/flowtest/report", "scheduler/flowtest/result", "scheduler/flowtest/suite", "scheduler/journal", "scheduler/service", "scheduler/service/preview", "scheduler/dispatch/queue", "scheduler/server/...", "scheduler/trigger", "calls", "calls/memory", "calls/memory/archive", "calls/schema", "llm", "llm/value", "llm/value/atomicfile"},
	"scheduler/web":             {},
	"scheduler/server/folder":   {},
	"scheduler/server/openai":   {"scheduler/dispatch", "scheduler", "scheduler/flow", "scheduler/journal", "scheduler/service", "scheduler/server/folder", "scheduler/server/store", "calls", "llm", "llm/value"},
	"scheduler/server/mcp":      {"scheduler/dispatch", "scheduler", "scheduler/flow", "scheduler/journal", "scheduler/service", "scheduler/server/folder", "calls", "calls/schema", "llm/value"},
	"scheduler/server/notify":   {"scheduler/journal", "scheduler/service", "scheduler/server/store", "scheduler/trigger", "calls", "llm/value"},
	"scheduler/server/triggers": {"scheduler/dispatch", "scheduler/flow", "scheduler/service", "scheduler/server/store", "scheduler/trigger", "calls", "llm/prompt", "llm/value"},
	"scheduler/server/store":    {"scheduler/fleet", "calls", "calls/database", "calls/database/pgdb", "calls/database/sqlitefile", "llm/value"},
	// A journal's backends are below its contract, their conformance suite beside.
	"scheduler/journal/...":         {"scheduler/journal", "scheduler/journal/internal/...", "calls", "llm", "llm/value/..."},
	"scheduler/journal/journaltest": {"scheduler/...", "calls", "llm", "llm/value/..."},
	// These stores can be in a Postgres database.
	"calls/database/pgdb":          {"calls", "llm/value/wording"},
	"calls/database/pgdb/pgdbtest": {},
	// These stores can be SQLite files.
	"calls/database/sqlitefile": {"calls"},
	// One text of SQL runs on either.
	"calls/database":               {"calls/database/pgdb", "calls/database/sqlitefile", "llm/value/wording"},
	"scheduler/journal/sqljournal": {"scheduler/journal", "scheduler/journal/internal/...", "scheduler/journal/transfer", "calls", "llm", "llm/value/...", "calls/database", "calls/database/pgdb", "calls/database/sqlitefile"},
	"calls/memory/sqlmemory":       {"calls", "calls/memory/...", "llm/value/...", "calls/database", "calls/database/pgdb", "calls/database/sqlitefile"},
	// All parts meet here. The commands know neither providers nor stores.
	"cmd/scheduler/wire":        {"calls/...", "cmd/scheduler/config", "cmd/scheduler/terminal", "llm/...", "plugins/host", "scheduler/..."},
	"cmd/scheduler":             {"calls", "calls/builtin", "calls/http/guard", "calls/mcp", "calls/memory", "calls/memory/archive", "calls/memory/facts", "calls/database/sqlitefile", "cmd/...", "configs", "docs", "llm", "llm/value/...", "plugins/...", "scheduler/...", "skills"},
	"cmd/scheduler/chinesehelp": {"llm/value/wording"},
	"cmd/scheduler/startup":     {},
	"cmd/scheduler/starter":     {"configs", "skills"},
	"cmd/scheduler/worker":      {},
	"cmd/scheduler-temporal":    {"calls", "cmd/scheduler/...", "llm/value", "plugins/host/process", "scheduler/..."},
	"cmd/scheduler/terminal":    {"calls", "calls/schema", "llm", "llm/value", "scheduler", "scheduler/explain", "scheduler/flow", "scheduler/journal", "scheduler/service"},
	"cmd/scheduler/config":      {"calls", "calls/http/guard", "calls/mcp", "calls/memory", "calls/schema", "configs", "llm", "llm/value/...", "scheduler/flow"},
	"configs":                   {},
	".":                         {}, // the embedded examples
	"docs":                      {"llm/value/wording"},
	"skills":                    {},
}

// messagesFolder has the languages of messages. All folders may import it, contracts too: it
// imports the standard library only.
const messagesFolder = "llm/value/wording"

// The doors: the folders that may import a library. A library that is not listed
// has no door yet, and no place in the program.
var doors = map[string][]string{
	"github.com/flosch/pongo2":               {"llm/prompt/internal/pongo2tree"},
	"github.com/santhosh-tekuri/jsonschema":  {"calls/schema"},
	"go.yaml.in/yaml":                        {"llm/value/yaml"},
	"github.com/tailscale/hujson":            {"llm/value/jsonc"},
	"github.com/kaptinlin/jsonrepair":        {"calls/slot"},
	"github.com/cenkalti/backoff":            {"llm/endpoint", "scheduler"},
	"github.com/danielgtaylor/huma":          {"scheduler/server"},
	"github.com/modelcontextprotocol/go-sdk": {"scheduler/server/mcp", "calls/mcp"},
	"golang.org/x/time":                      {"scheduler/server"},
	"github.com/prometheus/client_golang":    {"scheduler/telemetry"},
	"go.opentelemetry.io/otel":               {"scheduler/telemetry"},
	"github.com/netresearch/go-cron":         {"scheduler/trigger"},
	"github.com/google/uuid":                 {"scheduler", "calls/memory", "cmd"},
	"github.com/hashicorp/go-plugin":         {"plugins/host", "plugins/sdk", "plugins/proto", "scheduler/remote", "test/hostile"},
	"github.com/hashicorp/go-hclog":          {"plugins/host", "plugins/sdk", "scheduler/remote", "test/hostile"},
	"google.golang.org/grpc":                 {"plugins/host", "plugins/sdk", "plugins/proto", "plugins/verify", "scheduler/remote", "test/hostile"},
	"go.temporal.io/sdk":                     {"scheduler/temporal"},
	"go.temporal.io/api":                     {"scheduler/temporal"},
	"google.golang.org/protobuf":             {"scheduler/remote", "scheduler/temporal", "plugins/host", "plugins/sdk", "plugins/proto", "test/hostile"},
	"modernc.org/sqlite":                     {"calls/database/sqlitefile"},
	"github.com/jackc/pgx":                   {"calls/database/pgdb"},
	"github.com/pressly/goose":               {"calls/database/pgdb"},
	"github.com/kljensen/snowball":           {"calls/memory"},
	"golang.org/x/image":                     {"calls/context"},
	"golang.org/x/text":                      {"calls", "llm/prompt", "llm/value/charset", "cmd/scheduler/terminal"},
	"golang.org/x/sync":                      {"calls", "scheduler", "plugins"},
	"golang.org/x/term":                      {"cmd"},
	"github.com/spf13/cobra":                 {"cmd"},
	"github.com/spf13/pflag":                 {"cmd"}, // cobra's flags
	"github.com/spf13/viper":                 {"cmd"},
	"github.com/google/go-cmp":               {"test/golden", "calls/callstest", "llm/llmtest", "scheduler/journal/journaltest", "scheduler/schedulertest", "calls/memory/memorytest"},
	"pgregory.net/rapid":                     {"calls/memory/memorytest"},
	"gonum.org/v1/gonum":                     {"scheduler/flowtest/stat"},
	"golang.org/x/tools/txtar":               {"scheduler/schedulertest"},
	"go.uber.org/goleak":                     {"llm/llmtest"},
}

// source is a parsed Go file of the module; dir is its folder, from the root.
type source struct {
	dir, name string
	*ast.File
}

// secondProgram has the nested modules that are part of the product.
var secondProgram = []string{"cmd/scheduler-temporal", "scheduler/temporal"}

// sources are the Go files of both programs, without their tests. Nested modules of tests, and
// testdata, are not among them.
func sources(t *testing.T) (all []source) {
	t.Helper()
	files := token.NewFileSet()
	for _, name := range tree(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, source{path.Dir(name), name, f})
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files were found", len(all))
	}
	return all
}

// tree lists the files of the module by their paths from the root.
func tree(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !d.IsDir() {
			names = append(names, rel)
			return nil
		}
		_, noModule := os.Stat(filepath.Join(name, "go.mod"))
		isForeign := noModule == nil && rel != "." && !slices.Contains(secondProgram, rel)
		if hidden := strings.HasPrefix(d.Name(), ".") && rel != "."; hidden || rel == "bin" || d.Name() == "testdata" || isForeign {
			return filepath.SkipDir
		}
		if d.Name() == "node_modules" || rel == "scheduler/web/ui/build" || rel == "scheduler/web/dist" {
			return filepath.SkipDir // npm's packages and built files
		}
		if _, err := os.Stat(filepath.Join(name, "scheduler.yaml")); err == nil && rel != "." && rel != "configs" {
			return filepath.SkipDir // a project that scheduler init made
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// covers reports whether pattern, a folder or a folder/..., covers dir.
func covers(pattern, dir string) bool {
	folder, below := strings.CutSuffix(pattern, "/...")
	return dir == folder || below && strings.HasPrefix(dir, folder+"/")
}

// layerOf is the rule for a folder.
func layerOf(dir string) (allowed []string, ok bool) {
	longest := ""
	for pattern := range layers {
		exact := !strings.HasSuffix(pattern, "/...")
		if covers(pattern, dir) && (exact || len(pattern) > len(longest)) {
			longest = pattern
			if exact {
				break
			}
		}
	}
	allowed, ok = layers[longest]
	if family := strings.SplitN(dir, "/", 3); slices.Contains(allowed, "*") && len(family) > 1 {
		allowed = append(slices.Clone(allowed), family[0]+"/"+family[1]+"/...")
	}
	return allowed, ok
}

func imported(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return name
}

func TestLayers(t *testing.T) {
	for _, f := range sources(t) {
		allowed, ok := layerOf(f.dir)
		if !ok && f.dir != "test" {
			t.Errorf("%s: no layer is known for the folder %s", f.name, f.dir)
			continue
		}
		for _, spec := range f.Imports {
			dir, ours := strings.CutPrefix(imported(spec), module)
			if dir == messagesFolder { // each folder adds its messages to it
				continue
			}
			if ours && !slices.ContainsFunc(allowed, func(pattern string) bool { return covers(pattern, dir) }) {
				t.Errorf("%s must not import %s (it may import %s)", f.name, dir, strings.Join(allowed, ", "))
			}
		}
	}
}

func TestDoors(t *testing.T) {
	for _, f := range sources(t) {
		for _, spec := range f.Imports {
			name := imported(spec)
			if host, _, _ := strings.Cut(name, "/"); !strings.Contains(host, ".") || strings.HasPrefix(name+"/", module) {
				continue
			}
			found := false
			for library, folders := range doors {
				if name != library && !strings.HasPrefix(name, library+"/") {
					continue
				}
				found = true
				if !slices.ContainsFunc(folders, func(folder string) bool { return covers(folder+"/...", f.dir) }) {
					t.Errorf("%s imports %s, whose door is %s", f.name, name, strings.Join(folders, ", "))
				}
			}
			if !found {
				t.Errorf("%s imports %s, which has no door", f.name, name)
			}
		}
	}
}

// Contracts that all packages import must cost nothing to import.
func TestRootsImportTheStandardLibraryOnly(t *testing.T) {
	for _, f := range sources(t) {
		if !slices.Contains([]string{"llm", "plugins", "llm/value", messagesFolder}, f.dir) {
			continue
		}
		for _, spec := range f.Imports {
			if name := imported(spec); strings.Contains(name, ".") && name != module+messagesFolder {
				t.Errorf("%s imports %s", f.name, name)
			}
		}
	}
}

// Nothing happens on import: no init, except to register tags with pongo2, in protobuf's generated code, and to
// set up the program's garbage collector before other code allocates; no import for its side effects, except
// these, embed and the time zones.
func TestNothingHappensOnImport(t *testing.T) {
	const startup = "cmd/scheduler/startup"
	for _, f := range sources(t) {
		for _, decl := range f.Decls {
			generated := strings.HasSuffix(f.name, ".pb.go")
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && f.dir != "llm/prompt/internal/pongo2tree" && f.dir != startup && !generated {
				t.Errorf("%s has an init function", f.name)
			}
		}
		for _, spec := range f.Imports {
			name := imported(spec)
			if spec.Name != nil && spec.Name.Name == "_" && name != "embed" && name != "time/tzdata" && name != module+startup {
				t.Errorf("%s imports %s for its side effects", f.name, name)
			}
		}
	}
}

func TestFolders(t *testing.T) {
	top := []string{"cmd", "scheduler", "calls", "plugins", "llm", "flows", "configs", "docs", "skills", "test"}
	vague := []string{"pkg", "util", "utils", "common", "types", "helpers", "misc"}
	for _, name := range tree(t) {
		parts := strings.Split(path.Dir(name), "/")
		if parts[0] != "." && !slices.Contains(top, parts[0]) {
			t.Errorf("%s: the folders at the root are %s", name, strings.Join(top, ", "))
		}
		for _, part := range parts {
			if slices.Contains(vague, part) && parts[0] != "flows" {
				t.Errorf("%s: a folder called %s says nothing", name, part)
			}
		}
		if parts[0] == "flows" && strings.HasSuffix(name, ".go") {
			t.Errorf("%s: flows has examples and their data, no Go", name)
		}
	}
}

// pageFrom is from how many Go files on, without its tests, a package has a page that names them.
const pageFrom = 34

// fileName matches the name of a Go file in a page, or of several: lint*.go.
var fileName = regexp.MustCompile(`[\w*]+\.go\b`)

// TestPackagePages holds the page of each package of many files, its package comment, to its files: it names each by what it does.
func TestPackagePages(t *testing.T) {
	files, pages := map[string][]string{}, map[string]string{}
	for _, source := range sources(t) {
		text, err := os.ReadFile(filepath.Join(root, source.name))
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut("\n"+string(text), "\npackage ")
		files[source.dir] = append(files[source.dir], path.Base(source.name))
		pages[source.dir] += head
	}
	known := map[string]bool{}
	for _, name := range tree(t) {
		known[path.Base(name)] = true
	}
	for dir, names := range files {
		if len(names) < pageFrom {
			continue
		}
		patterns := fileName.FindAllString(pages[dir], -1)
		for _, name := range names {
			isNamed := func(pattern string) bool {
				fits, err := path.Match(pattern, name)
				return err == nil && fits
			}
			if name != "doc.go" && !slices.ContainsFunc(patterns, isNamed) {
				t.Errorf("%s/%s is not in the page of its package (add it to the list of files in the package comment)", dir, name)
			}
		}
		for _, name := range patterns {
			if !strings.Contains(name, "*") && !known[name] {
				t.Errorf("the page of %s names %s, which is not there", dir, name)
			}
		}
	}
}

// machinePath matches the beginning of a path that exists on one machine only.
var (
	machinePath = regexp.MustCompile(`(?:^|[\s"'` + "`" + `(=:])/(?:home|root|Users|work|mnt)/[\w.]`)
	// machineFolders begin such paths: nearly all files have none, and are not searched further.
	machineFolders = []string{"/home/", "/root/", "/Users/", "/work/", "/mnt/"}
)

func TestNoFileNamesAMachinePath(t *testing.T) {
	for _, name := range tree(t) {
		if strings.HasPrefix(name, "test/vectors/") || name == "test/arch_test.go" || name == ".git" { // .git is a file in a worktree
			continue // vectors keep recorded texts
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			continue
		}
		text := string(data)
		if !slices.ContainsFunc(machineFolders, func(folder string) bool { return strings.Contains(text, folder) }) {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			if machinePath.MatchString(line) {
				t.Errorf("%s:%d names a path of one machine: %.120s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}
