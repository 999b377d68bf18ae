package main

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/scheduler/remote"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/temporal"
)

// link is the connection to Temporal, which is made once. The methods are safe for concurrent
// use.
type link struct {
	settings *config.Settings
	runtime  *wire.Runtime
	level    slog.Level // the library's log below it is dropped

	mu     sync.Mutex // guards client
	client *temporal.Client
}

// openRemote connects to Temporal for the first program.
func openRemote(ctx context.Context, s remote.Settings) (service.Remote, error) {
	settings, err := config.Load(config.Place{File: s.Config, StateDir: s.StateDir}, wire.ProviderTypes())
	if err == nil {
		err = settings.SetOn(s.On)
	}
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	l := &link{settings: settings, runtime: wire.New(settings, buildVersion(), os.Stderr), level: slog.LevelError}
	return l.connect(ctx)
}

// connect returns the client of Temporal.
func (l *link) connect(ctx context.Context) (*temporal.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		return l.client, nil
	}
	c := l.settings.Temporal
	address, err := l.settings.RemoteAddress()
	if err != nil {
		return nil, err
	}
	o := temporal.Options{
		Address: address, Namespace: c.Namespace, Queue: c.Queue, APIKey: os.Getenv(c.APIKeyEnv),
		Heartbeat: time.Duration(c.Heartbeat), Attributes: c.Attributes, Log: l.runtime.NewLog(l.level),
	}
	o.PayloadKey, err = c.PayloadKey()
	if err != nil {
		return nil, err
	}
	o.TLS, err = c.TLS.Config()
	if err != nil {
		return nil, err
	}
	l.client, err = temporal.Dial(ctx, o)
	return l.client, err
}

// close ends the connection.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Close()
	}
}
