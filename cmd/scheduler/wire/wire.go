// Package wire puts the program together from the settings: it is the only place where calls, providers, stores, plugins
// and the engine meet. The command line makes one [Runtime] for a process, and one service of it.
package wire

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/calls/mcp"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/anthropic"
	"github.com/callnode/scheduler/llm/openai"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/journal/postgres"
	"github.com/callnode/scheduler/scheduler/journal/sqlite"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/telemetry"
	"github.com/callnode/scheduler/scheduler/temporal"
)

// ProviderTypes lists the kinds of model servers that llm.providers can name as type. A
// new one is a folder below llm and a line here.
func ProviderTypes() []config.ProviderType {
	return []config.ProviderType{
		config.NewProviderType("openai", openai.Open),
		config.NewProviderType("anthropic", anthropic.Open),
	}
}

// New returns a Runtime of these settings, for a version of the program; what plugins and stores write goes to output.
func New(settings *config.Settings, version string, output io.Writer) *Runtime {
	rt := &Runtime{settings: settings, version: version, log: output, hidden: secret.NewSet(nil), catalogs: map[string]*catalog{}, places: map[string]llm.Places{}}
	for _, name := range settings.Secrets {
		rt.hidden.Add(os.Getenv(name))
	}
	return rt
}

// NewService puts the use cases together.
func (rt *Runtime) NewService() *service.Service {
	return service.New(service.Parts{
		Loader:           rt.newLoader,
		Viewer:           rt.newViewLoader,
		Executor:         rt.newExecutor,
		Provider:         rt.openProvider,
		Counter:          func(f *flow.Flow, provider string) llm.Counter { return tokens.For(rt.modelOf(f, provider)) },
		Journal:          rt.openJournal,
		EphemeralJournal: func() journal.Journal { return journalmemory.New(time.Now) },
		Memory:           rt.OpenMemory,
		Snapshots:        rt.snapshotGenerator,
		CallEnv:          rt.callEnv,
		Remote:           rt.openRemote,
		Dir:              cmp.Or(rt.workerRoot, rt.settings.Root),
		Rooted:           rt.workerRoot != "",
		Languages:        rt.settings.KnownLanguages,
		Tests:            rt.TestParts(),
		Script: func(answers value.Value) (llm.Provider, error) {
			parsed, err := scripted.Parse(answers)
			if err != nil {
				return nil, err
			}
			return scripted.New(parsed...), nil
		},
	})
}

// PluginHost returns the host of plugins whose relative paths start in dir; "" is the working
// directory. Nothing is started.
func (rt *Runtime) PluginHost(dir string) (*host.Host, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	c, err := rt.catalogLocked(dir)
	if err != nil {
		return nil, err
	}
	return c.host, nil
}

// Registry returns everything that a flow can name: what is built in, and what trusted
// plugins offer.
func (rt *Runtime) Registry(dir string) (*calls.Registry, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	c, err := rt.catalogLocked(dir)
	if err != nil {
		return nil, err
	}
	if c.registry != nil {
		return c.registry, nil
	}
	registry, err := rt.newRegistry(c)
	if err != nil {
		return nil, err
	}
	c.registry = registry
	return registry, nil
}

// newRegistry returns a registry of what is built in and of what the plugins and MCP servers
// of a catalog offer.
func (rt *Runtime) newRegistry(c *catalog) (*calls.Registry, error) {
	registry, err := builtin.Registry()
	if err != nil {
		return nil, calls.Errorf(calls.Internal, "the built-in calls: %w", err)
	}
	if err := c.host.Register(registry); err != nil {
		return nil, calls.Errorf(calls.Invalid, "the lock file of plugins: %w", err).
			WithHint("keep one of them: scheduler plugins untrust NAME takes the other out of %s", rt.settings.Plugins.LockFile)
	}
	if err := c.mcp.Register(registry); err != nil {
		return nil, calls.Errorf(calls.Invalid, "the lock file of MCP servers: %w", err)
	}
	return registry, nil
}

// MCPHost returns the host of MCP servers of the project. Nothing is started.
func (rt *Runtime) MCPHost() (*mcp.Host, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	c, err := rt.catalogLocked("")
	if err != nil {
		return nil, err
	}
	return c.mcp, nil
}

// openMCP opens the host of MCP servers; relative paths start in base.
func (rt *Runtime) openMCP(base string) (*mcp.Host, error) {
	client, err := guard.NewClient(rt.settings.HTTP.AllowHosts)
	if err != nil {
		return nil, err
	}
	o := mcp.Options{
		LockFile: rt.settings.MCP.LockFile, Dir: base, HTTP: client, LookupEnv: os.LookupEnv, Version: rt.version,
	}
	if !filepath.IsAbs(o.LockFile) {
		o.LockFile = filepath.Join(base, o.LockFile)
	}
	for i := range rt.settings.MCP.Servers {
		s := rt.settings.MCP.Servers[i].Server()
		for _, variable := range s.Headers {
			rt.hidden.Add(os.Getenv(variable))
		}
		o.Servers = append(o.Servers, s)
	}
	return mcp.Open(o)
}

func (rt *Runtime) catalogLocked(dir string) (*catalog, error) {
	if c, known := rt.catalogs[dir]; known {
		return c, nil
	}
	given, base := rt.settings.Plugins, cmp.Or(dir, rt.settings.Root)
	var level slog.Level
	if err := level.UnmarshalText([]byte(given.Log)); err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	within := func(paths ...string) (full []string) {
		for _, path := range paths {
			if !filepath.IsAbs(path) {
				path = filepath.Join(base, path)
			}
			full = append(full, path)
		}
		return full
	}
	h, err := host.Open(host.Options{
		Folders:          slices.Concat(within(given.Folders...), []string{filepath.Join(rt.settings.StateDir, "plugins")}),
		Plugins:          within(given.Paths...),
		LockFile:         within(given.LockFile)[0],
		Log:              rt.newLog(level),
		AutoMTLS:         given.AutoMTLS,
		Reaper:           true,
		BuiltInVariables: variableNames(),
	})
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	servers, err := rt.openMCP(base)
	if err != nil {
		return nil, err
	}
	rt.catalogs[dir] = &catalog{host: h, mcp: servers}
	return rt.catalogs[dir], nil
}

// SetWorkerRoot lets all runs work in a folder, those too that began elsewhere. It is called before [Runtime.NewService].
func (rt *Runtime) SetWorkerRoot(dir string) { rt.workerRoot = dir }

// MaskText returns a text without the secrets that the settings allow, and what runs compute from them.
func (rt *Runtime) MaskText(text string) string { return rt.hidden.MaskText(text) }

// newLog returns a log on standard error without the secrets that a flow may have given to
// what writes it.
func (rt *Runtime) newLog(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(rt.log, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
		switch attr.Value.Kind() { //nolint:exhaustive // the others have no text
		case slog.KindString, slog.KindAny:
			if _, isLevel := attr.Value.Any().(slog.Level); !isLevel {
				attr.Value = slog.StringValue(rt.MaskText(attr.Value.String()))
			}
		}
		return attr
	}}))
}

// TakeLog lets what libraries write to the package log pass through the log of the program:
// net/http, for one, prints there what a server sent, which may be what a flow sent to it.
func (rt *Runtime) TakeLog() {
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(rt.newLog(slog.LevelWarn).Handler(), slog.LevelWarn).Writer())
}

// variableNames returns those of the built-in variables: no plugin can have them.
func variableNames() (names []string) {
	for _, v := range builtin.Variables() {
		names = append(names, v.Name)
	}
	return names
}

// Close ends all plugins, in bounded time.
func (rt *Runtime) Close() error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	var all []error
	for _, c := range rt.catalogs {
		all = append(all, c.host.Close(), c.mcp.Close())
	}
	if rt.temporal != nil {
		rt.temporal.Close()
	}
	return errors.Join(all...)
}

// newLoader returns a Loader for the flows of an origin.
func (rt *Runtime) newLoader(from service.Surroundings) (*flow.Loader, []service.Note, error) {
	registry, err := rt.Registry(from.Dir)
	if err != nil {
		return nil, nil, err
	}
	h, err := rt.PluginHost(from.Dir)
	if err != nil {
		return nil, nil, err
	}
	languages := rt.settings.KnownLanguages()
	languages.Default = cmp.Or(from.Language, languages.Default)
	var notes []service.Note
	if languages.Files != nil {
		if _, err := calls.ReadDirFS(languages.Files, "."); err != nil {
			notes = append(notes, service.Note{Level: service.LevelWarning, Text: wording.Say("the setting languages: %v", err)})
		}
	}
	return &flow.Loader{
		Registry:  registry,
		Providers: rt.settings.LLM.Names(),
		Plugins:   h.Names(),
		Secrets:   slices.Clip(append([]string{}, rt.settings.Secrets...)),
		Languages: languages,
	}, notes, nil
}

// newViewLoader returns what reads flows of the journal to be looked at and not to be run: plugins
// may have changed, or be gone from their folders.
func (rt *Runtime) newViewLoader() (*flow.Loader, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	c, err := rt.catalogLocked("")
	if err != nil {
		return nil, err
	}
	if c.viewing == nil {
		registry, err := rt.newRegistry(c)
		if err != nil {
			return nil, err
		}
		registry.DropChecks()
		c.viewing = registry
	}
	return &flow.Loader{Registry: c.viewing}, nil
}

// newExecutor returns a StepExecutor wired from the settings.
func (rt *Runtime) newExecutor(f *flow.Flow, o service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
	loader, _, err := rt.newLoader(o.Surroundings) // its notes were told when the flow was loaded
	if err != nil {
		return nil, nil, err
	}
	env, err := rt.newEnv()
	if err != nil {
		return nil, nil, err
	}
	env.Log = rt.newLog(slog.LevelWarn)
	if !o.Now.IsZero() {
		env.Clock = func() time.Time { return o.Now }
	}
	chosen, notes, err := rt.chooseProvider(f, o.Provider, cmp.Or(o.Mode, rt.settings.LLM.Mode))
	if err != nil {
		return nil, notes, err
	}
	env.LLM, env.Tokens = chosen.llm, tokens.For(chosen.model)
	return &scheduler.StepExecutor{
		Env:      env,
		Loader:   loader,
		Provider: func(name string) (llm.Provider, error) { return rt.otherProvider(chosen, name) },
		Names: func(name string) (string, string) {
			if chosen.all || name == "" {
				return chosen.name, chosen.model
			}
			return name, rt.settings.LLM.ModelOf(name)
		},
		Program:        rt.version,
		Durability:     journal.Durability(rt.settings.Journal.Durability),
		MaxParallel:    rt.settings.Run.MaxParallel,
		MaxSteps:       rt.settings.Run.MaxSteps,
		MaxOutputBytes: int64(rt.settings.Run.MaxOutputBytes),
		CancelGrace:    time.Duration(rt.settings.Run.CancelGrace),
		Secrets:        rt.Secret,
		Hidden:         rt.hidden,
	}, notes, nil
}

// newEnv returns an Env with the services that flows and single calls share.
func (rt *Runtime) newEnv() (env *calls.Env, err error) {
	env = calls.NewEnv()
	env.MediaRoots = rt.settings.Media
	env.Languages = rt.settings.FurtherLanguages().Files
	env.HTTP, err = guard.NewClient(rt.settings.HTTP.AllowHosts)
	return env, err
}

// Secret returns the value of a secret; ok is false where the settings do not allow it, or it
// is not set.
func (rt *Runtime) Secret(name string) (text string, ok bool) {
	if !slices.Contains(rt.settings.Secrets, name) {
		return "", false
	}
	return os.LookupEnv(name)
}

// callEnv returns the Env of single calls.
func (rt *Runtime) callEnv(asksModel bool) (*calls.Env, error) {
	registry, err := rt.Registry("")
	if err != nil {
		return nil, err
	}
	env, err := rt.newEnv()
	if err != nil {
		return nil, err
	}
	env.Registry, env.Tokens = registry, tokens.For("")
	name := rt.settings.LLM.Default
	if !asksModel || name == "" {
		return env, nil
	}
	env.LLM, err = rt.openProvider(name)
	if err != nil {
		return nil, err
	}
	env.Tokens = tokens.For(rt.settings.LLM.ModelOf(name))
	return env, nil
}

// openJournal opens the journal of the store, or of the state directory. With create it is
// made where there is none, and must be writable.
func (rt *Runtime) openJournal(ctx context.Context, create bool) (journal.Journal, error) {
	var j journal.Journal
	var err error
	if rt.SharesStore() {
		j, err = rt.OpenSharedJournal(ctx, rt.settings.Store)
	} else {
		j, err = OpenFileJournal(ctx, rt.settings.StateDir, create)
	}
	if err != nil {
		return nil, err
	}
	if rt.watchJournal != nil {
		return rt.watchJournal(j), nil
	}
	return j, nil
}

// OpenFileJournal opens the journal in a state directory.
func OpenFileJournal(ctx context.Context, dir string, create bool) (*sqlite.SQLite, error) {
	if !create && !sqlitefile.Exists(filepath.Join(dir, sqlite.FileName)) {
		return nil, service.ErrNoJournal
	}
	return sqlite.Open(ctx, dir, sqlite.Options{})
}

// OpenSharedJournal opens the journal in a database, and creates its tables if they do not exist.
func (rt *Runtime) OpenSharedJournal(ctx context.Context, url string) (*postgres.Postgres, error) {
	key, err := rt.settings.Journal.ImageKey()
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, postgres.Options{URL: url, ImageKey: key, KeySource: "the setting journal.key_env", Version: rt.version})
}

// OpenServerStore opens what a server keeps beside the journal, where the journal is.
func (rt *Runtime) OpenServerStore(ctx context.Context) (*store.Store, error) {
	if rt.SharesStore() {
		return store.OpenShared(ctx, rt.settings.Store, nil)
	}
	return store.Open(ctx, rt.settings.StateDir, nil)
}

// UnusedServerFile returns the file of the state directory that a server without a shared store keeps its data in, where
// there is one and the server does not use it; else "".
func (rt *Runtime) UnusedServerFile() string {
	file := filepath.Join(rt.settings.StateDir, store.FileName)
	if rt.SharesStore() && sqlitefile.Exists(file) {
		return file
	}
	return ""
}

// SharesStore reports whether the journal and the memory are in a store that other machines
// can have too.
func (rt *Runtime) SharesStore() bool { return rt.settings.Store != "" }

// StorePlace returns where the journal and the memory are, for users: a folder, or the host
// and the name of a database.
func (rt *Runtime) StorePlace() string {
	if !rt.SharesStore() {
		return rt.settings.StateDir
	}
	return pgdb.PlaceOf(rt.settings.Store)
}

// telemetryTimeout bounds how long the last spans may take to be sent.
const telemetryTimeout = 5 * time.Second

// ObserveRuns returns what makes metrics and traces of runs. The journal that is opened
// afterwards is counted too.
func (rt *Runtime) ObserveRuns(c *config.OTLP, log *slog.Logger) (*telemetry.Observer, error) {
	traces := telemetry.Traces{Endpoint: c.Endpoint, Content: c.Content, Headers: map[string]string{}}
	var missing []error
	for _, header := range slices.Sorted(maps.Keys(c.HeadersEnv)) {
		name := c.HeadersEnv[header]
		text, isSet := os.LookupEnv(name)
		if !isSet {
			missing = append(missing, wording.Errorf("serve.otlp.headers_env: the environment variable %s is not set", name))
		}
		traces.Headers[header] = text
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	observer, err := telemetry.New(telemetry.Options{
		Version: rt.version, Traces: traces, Warn: func(err error) { log.Warn("sending traces", "error", err) },
	})
	if err != nil {
		return nil, wording.Errorf("serve.otlp: %w", err)
	}
	rt.watchJournal = observer.WatchJournal
	return observer, nil
}

// EndTelemetry sends the spans that are left.
func EndTelemetry(o *telemetry.Observer, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTimeout)
	defer cancel()
	if err := o.Shutdown(ctx); err != nil {
		log.Warn("ending traces", "error", err)
	}
}

// Runtime is what the runs and requests of a process share: the settings, the plugins and
// what they offer, the providers. [New] makes one, [Runtime.Close] ends it. Its
// methods are safe for concurrent use.
type Runtime struct {
	settings *config.Settings
	version  string
	log      io.Writer // what plugins and stores write while they work
	// hidden are the secrets that the settings allow, and what runs compute from them.
	hidden *secret.Set
	// watchJournal wraps the journal when it is opened; nil: nothing does. It is set before.
	watchJournal func(journal.Journal) journal.Journal
	// workerRoot is the folder in which a worker carries out all runs; "" is where they began.
	workerRoot string

	mu       sync.Mutex            // guards what follows
	temporal *temporal.Client      // nil until it is needed
	catalogs map[string]*catalog   // by the directory in which relative paths start
	places   map[string]llm.Places // by provider, of those with max_concurrent
}

// catalog is the plugins of a directory, and all that a flow there can name.
type catalog struct {
	host *host.Host
	mcp  *mcp.Host
	// registry and viewing are nil until they are needed; viewing is for flows that are only looked at.
	registry, viewing *calls.Registry
}
