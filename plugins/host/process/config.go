package process

import (
	"log/slog"

	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/plugins/manifest"
)

// Config describes the program to start.
type Config struct {
	Manifest *manifest.Manifest
	// Dir is the plugin's folder, the program's working directory; Path the path of its
	// command.
	Dir, Path string
	// Program is the file that is started in place of Path; nil if that is an interpreter. It must stay open until
	// Start returns.
	Program *Program
	// Mirror has the script that is started, and the files beside it, in place of the files in Dir; nil for none.
	// It is removed when the process has ended, or is not started.
	Mirror *Mirror
	// Sockets is the folder of the host's sockets (see [SocketDir]).
	Sockets string
	// Log receives the output of the program.
	Log *slog.Logger
	// Hidden are the secrets that it may repeat, and no message shows; nil for none.
	Hidden *secret.Set
	// Spawner starts the process; one serves all plugins of a host.
	Spawner *Spawner
	// Reaper starts the program through the reaper, if the system has that; else its process group is ended.
	Reaper bool
	// AutoMTLS encrypts the connection.
	AutoMTLS bool
	// Check returns an error if the program must not be started. It is called when everything else is ready, as
	// late as possible.
	Check func() error
}

// RefusedError is returned by [Start] if Config.Check refused the program, or nothing could be prepared for it:
// starting it again would not help.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }
