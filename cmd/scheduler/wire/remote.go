package wire

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/remote"
	"github.com/callnode/scheduler/scheduler/service"
)

// openRemote returns the remote runner for runs with a label runs_on: the second program, which it starts, or that
// program's own connection.
func (rt *Runtime) openRemote(ctx context.Context, name string) (service.Remote, error) {
	if name != remote.Temporal {
		return nil, calls.Errorf(calls.Invalid, "the run is carried out on %s, which this program does not know", name)
	}
	if _, err := rt.settings.RemoteAddress(); err != nil {
		return nil, err
	}
	if rt.ownRemote != nil {
		return rt.ownRemote(ctx)
	}
	client := rt.remoteClient()
	return client, client.Open(ctx)
}

// remoteClient returns the client of the second program, of which there is only one.
func (rt *Runtime) remoteClient() *remote.Client {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.remote == nil {
		rt.remote = remote.NewClient(remote.Options{
			Program:  rt.settings.Temporal.Program,
			Settings: remote.Settings{Version: rt.version, Config: rt.settings.File(), StateDir: rt.settings.StateDir, On: rt.settings.On},
			Log:      rt.log,
		})
	}
	return rt.remote
}

// MachineWarnings returns warnings about settings that do not work with several machines.
func (rt *Runtime) MachineWarnings() (warnings []wording.Text) {
	address, err := config.TemporalAddress(rt.settings.On)
	if err != nil || config.IsLoopbackAddress(address) {
		return nil
	}
	if !rt.SharesStore() {
		warnings = append(warnings, wording.Say("the journal is a file in %s, which other machines do not have (all of them need the same store)", rt.settings.StateDir))
	}
	if rt.settings.Temporal.PayloadKeyEnv == "" {
		warnings = append(warnings, wording.Say("answers can be read in Temporal (temporal.payload_key_env names the key that encrypts them)"))
	}
	return warnings
}
