package wire

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/temporal"
)

// openRemote returns what carries the runs with a label runs_on out.
func (rt *Runtime) openRemote(ctx context.Context, name string) (service.Remote, error) {
	if name != temporal.RunsOn {
		return nil, calls.Errorf(calls.Invalid, "the run is carried out on %s, which this program does not know", name)
	}
	return rt.Temporal(ctx, slog.LevelError)
}

// Temporal returns the connection to Temporal, opened once; what the library logs below level is dropped.
func (rt *Runtime) Temporal(ctx context.Context, level slog.Level) (*temporal.Client, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.temporal != nil {
		return rt.temporal, nil
	}
	c := rt.settings.Temporal
	address, err := config.TemporalAddress(rt.settings.On)
	if err != nil {
		return nil, err
	}
	if address == "" {
		return nil, calls.Errorf(calls.Invalid, "the run is carried out on Temporal, whose address is not known").
			WithHint("name it with --on temporal://HOST:PORT, or the setting on")
	}
	o := temporal.Options{
		Address: address, Namespace: c.Namespace, Queue: c.Queue, APIKey: os.Getenv(c.APIKeyEnv),
		Heartbeat: time.Duration(c.Heartbeat), Attributes: c.Attributes, Log: rt.newLog(level),
	}
	o.PayloadKey, err = c.PayloadKey()
	if err != nil {
		return nil, err
	}
	o.TLS, err = c.TLS.Config()
	if err != nil {
		return nil, err
	}
	rt.temporal, err = temporal.Dial(ctx, o)
	return rt.temporal, err
}
