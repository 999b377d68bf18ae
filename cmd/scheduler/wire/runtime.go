package wire

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/calls/mcp"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/remote"
	"github.com/callnode/scheduler/scheduler/service"
)

// Runtime is the state that the runs and requests of a process share: the settings, the plugins and their calls,
// the providers. [New] makes one, [Runtime.Close] ends it. Its methods are safe for concurrent use.
type Runtime struct {
	zone     *time.Location // of the settings; nil: the machine's
	settings *config.Settings
	version  string
	log      io.Writer // for the messages of plugins and stores
	// hidden has the secrets that the settings allow, and values that runs compute from them.
	hidden *secret.Set
	// watchJournal wraps the journal when it is opened; nil: nothing does. It is set before.
	watchJournal func(journal.Journal) journal.Journal
	// workerRoot is the folder in which a worker carries out all runs; "" is the folder in which each began.
	workerRoot string
	// worker names this process in events, if it is a server or a worker; else nil. It is set before runs begin.
	worker *journal.Process
	// ownRemote connects to the other machines in the second program; nil lets the first one
	// start that.
	ownRemote func(ctx context.Context) (service.Remote, error)

	mu       sync.Mutex            // guards the fields below
	remote   *remote.Client        // nil until it is needed
	catalogs map[string]*catalog   // by the directory in which relative paths start
	places   map[string]llm.Places // by provider, only for max_concurrent
	// cassettes has the cassettes that runs use, by path.
	cassettes map[string]*replay.Cassette
}

// catalog is the plugins of a directory, and all that a flow there can name.
type catalog struct {
	host *host.Host
	mcp  *mcp.Host
	// registry and viewing are nil until they are needed; viewing is for flows that are only displayed.
	registry, viewing *calls.Registry
}

// New returns a Runtime of these settings, for a version of the program; messages of plugins and stores go to
// output.
func New(settings *config.Settings, version string, output io.Writer) *Runtime {
	rt := &Runtime{settings: settings, version: version, log: output, hidden: secret.NewSet(nil), catalogs: map[string]*catalog{}, places: map[string]llm.Places{}, cassettes: map[string]*replay.Cassette{}}
	for _, name := range settings.Secrets {
		rt.hidden.Add(os.Getenv(name))
	}
	if zone, err := time.LoadLocation(settings.Timezone); err == nil && settings.Timezone != "" {
		rt.zone, time.Local = zone, zone // as TZ does
	}
	return rt
}

// SetWorkerRoot makes all runs work in a folder, even if they began elsewhere. It is called before
// [Runtime.NewService].
func (rt *Runtime) SetWorkerRoot(dir string) { rt.workerRoot = dir }

// SetRemote lets the service reach the other machines by open, which is called for each request,
// and not through the second program. It is called before [Runtime.NewService].
func (rt *Runtime) SetRemote(open func(ctx context.Context) (service.Remote, error)) {
	rt.ownRemote = open
}

// MaskText returns a text without the secrets that the settings allow, and without values that runs compute from
// them.
func (rt *Runtime) MaskText(text string) string { return rt.hidden.MaskText(text) }

// NewLog returns a log on standard error without the secrets that a flow may have given to the code that logs.
func (rt *Runtime) NewLog(level slog.Level) *slog.Logger {
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

// TakeLog passes messages that libraries write to the package log through the program's log. For example, net/http
// prints a server's bytes there, which may repeat a secret that a flow sent.
func (rt *Runtime) TakeLog() {
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(rt.NewLog(slog.LevelWarn).Handler(), slog.LevelWarn).Writer())
}

// Secret returns the value of a secret; ok is false if the settings do not allow it, or it is not set.
func (rt *Runtime) Secret(name string) (text string, ok bool) {
	if !slices.Contains(rt.settings.Secrets, name) {
		return "", false
	}
	return os.LookupEnv(name)
}

// newBareExecutor returns an executor of the settings that has no models, memory and clock yet.
func (rt *Runtime) newBareExecutor() (*scheduler.StepExecutor, error) {
	env, err := rt.newEnv()
	if err != nil {
		return nil, err
	}
	env.Log = rt.NewLog(slog.LevelWarn)
	approvals, err := rt.settings.CallApprovals()
	if err != nil {
		return nil, err
	}
	return &scheduler.StepExecutor{
		Zone:           rt.zone,
		UserZone:       rt.settings.ZoneOf,
		Env:            env,
		Approvals:      approvals,
		Program:        rt.version,
		Worker:         rt.worker,
		MaxParallel:    rt.settings.Run.MaxParallel,
		MaxSteps:       rt.settings.Run.MaxSteps,
		MaxOutputBytes: int64(rt.settings.Run.MaxOutputBytes),
		CancelGrace:    time.Duration(rt.settings.Run.CancelGrace),
		Secrets:        rt.Secret,
		Hidden:         rt.hidden,
		Keys:           sync.OnceValue(rt.keys),
	}, nil
}

// newEnv returns an Env with the services that flows and single calls share.
func (rt *Runtime) newEnv() (env *calls.Env, err error) {
	env = calls.NewEnv()
	env.MediaRoots = rt.settings.Media
	env.Languages = rt.settings.FurtherLanguages().Files
	env.HTTP, err = guard.NewClient(rt.settings.HTTP.AllowHosts)
	return env, err
}

// Close ends all plugins, in bounded time.
func (rt *Runtime) Close() error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	var all []error
	for _, c := range rt.catalogs {
		all = append(all, c.host.Close(), c.mcp.Close())
	}
	if rt.remote != nil {
		rt.remote.Close()
	}
	return errors.Join(all...)
}
