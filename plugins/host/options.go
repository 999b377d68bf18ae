package host

import (
	"log/slog"
	"time"

	"github.com/callnode/scheduler/llm/value/secret"
)

// Options set the places of plugins and how they are run. The zero value finds none.
type Options struct {
	// Folders hold a folder per plugin; one that does not exist is empty.
	Folders []string
	// Plugins are further folders of plugins. Each must have a plugin.yaml.
	Plugins []string
	// LockFile is the file of trusted plugins; it need not exist.
	LockFile string
	// BuiltInVariables are names of variables that no plugin can have.
	BuiltInVariables []string
	// Hidden are the secrets that plugins may repeat, and no message shows; nil for none.
	Hidden *secret.Set
	// Log receives the output of plugins; nil discards it.
	Log *slog.Logger
	// TempDir is the parent of the folder of sockets; "" is the system's.
	TempDir string
	// AutoMTLS encrypts and authenticates the connections by certificates. Sockets
	// are in a folder that only this user can enter, so it is rarely needed. A start
	// takes some 30 ms longer.
	AutoMTLS bool
	// Reaper reports whether this program's main passes its arguments to [process.Reap] when the first is
	// [process.ReaperCommand]. Plugins are started through it then, and on Linux no process that one starts
	// outlives it, not even one that leaves its process group. Without, and on other systems, the process group is
	// ended.
	Reaper bool
	// Backoff is the pause before the first restart, doubled with each up to 5 s; 0 is
	// 100 ms.
	Backoff time.Duration
	// Cooldown is how long a plugin that failed too often is not started; 0 is 30 s.
	Cooldown time.Duration
	// GracePeriod is how long a plugin has to end by itself; 0 is 2 s.
	GracePeriod time.Duration
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Backoff <= 0 {
		o.Backoff = 100 * time.Millisecond
	}
	if o.Cooldown <= 0 {
		o.Cooldown = 30 * time.Second
	}
	if o.GracePeriod <= 0 {
		o.GracePeriod = 2 * time.Second
	}
	return o
}
