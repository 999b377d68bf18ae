package wire

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/calls/mcp"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

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

// Registry returns everything that a flow can name: the built-in calls and those of trusted plugins.
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

// newRegistry returns a registry of the built-in calls and of those that the plugins and MCP servers of a catalog
// offer.
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
		LockFile: rt.settings.MCP.LockFile, Dir: base, HTTP: client, LookupEnv: os.LookupEnv, Version: rt.version, Hidden: rt.hidden,
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
		Log:              rt.NewLog(level),
		Hidden:           rt.hidden,
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

// variableNames returns the names of the built-in variables, which no plugin can use.
func variableNames() (names []string) {
	for _, v := range builtin.Variables() {
		names = append(names, v.Name)
	}
	return names
}

// newLoader returns a Loader for the flows of an origin.
func (rt *Runtime) newLoader(from service.Surroundings) (*flow.Loader, []service.Note, error) {
	registry, err := rt.Registry(from.Dir)
	if err != nil {
		return nil, nil, err
	}
	isPlayed := from.IsReplay || rt.settings.LLM.Mode == modeReplay
	if isPlayed { // a played run needs no plugin
		registry = registry.WithoutChecks()
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
	checkHost, err := guard.NewHostCheck(rt.settings.HTTP.AllowHosts)
	if err != nil {
		return nil, nil, err
	}
	loader := &flow.Loader{
		Registry:  registry,
		CheckHost: checkHost,
		Providers: rt.settings.LLM.Names(),
		Usual:     rt.settings.LLM.Default,
		Lacks:     rt.settings.LLM.Lacks(),
		Plugins:   h.Names(),
		Secrets:   slices.Clip(append([]string{}, rt.settings.Secrets...)),
		Languages: languages,
	}
	if isPlayed { // the cassette has the providers' names, and needs no secret and no network
		loader.Providers, loader.Usual, loader.Lacks, loader.Secrets, loader.CheckHost = nil, nil, nil, nil, nil
	}
	return loader, notes, nil
}

// newViewLoader returns a loader that reads flows of the journal for display, not for running: plugins may have
// changed, or be gone from their folders.
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
		c.viewing = registry.WithoutChecks()
	}
	return &flow.Loader{Registry: c.viewing}, nil
}
