package host

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/host/session"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// programLauncher starts the program of a plugin.
type programLauncher struct {
	host *Host
	name string
	dir  string // "" if the folder is missing
	// trusted is its entry in the lock file; nil while the program is being described.
	trusted *manifest.Entry
	// reviewedSHA256 is the digest that the user was shown; "" if there was no review.
	reviewedSHA256 string
}

// errNotInstalled is the error of a plugin that is trusted but in no folder.
var errNotInstalled = wording.Errorf("its folder was not found")

// launch compares the program with the trusted one, starts it, and lets it describe
// itself.
func (l *programLauncher) launch(ctx context.Context) (*Instance, error) {
	if l.dir == "" {
		return nil, permanentError{errNotInstalled}
	}
	m, err := manifest.Read(l.dir)
	if err != nil {
		return nil, permanentError{err}
	}
	instance, serviceID, err := l.startProcess(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := l.describePlugin(ctx, instance, m, serviceID); err != nil {
		instance.Stop(l.host.opts.GracePeriod)
		return nil, err
	}
	return instance, nil
}

// startProcess starts the process and its services. It returns the id of the services at the
// broker, too.
func (l *programLauncher) startProcess(ctx context.Context, m *manifest.Manifest) (_ *Instance, serviceID uint32, err error) {
	path, err := manifest.Locate(l.dir, m)
	if err != nil {
		missing := calls.Errorf(calls.Invalid, "its program cannot be found: %s", m.Command)
		return nil, 0, permanentError{missing.WithHint("%s", calls.HintOf(err))}
	}
	sockets, err := l.host.socketDir()
	if err != nil {
		return nil, 0, permanentError{err}
	}
	log := l.host.opts.Log.With("plugin", l.name)
	config := process.Config{
		Manifest: m, Dir: l.dir, Path: path, Sockets: sockets, Log: log, Hidden: l.host.opts.Hidden,
		Spawner: &l.host.spawner, Reaper: l.host.opts.Reaper, AutoMTLS: l.host.opts.AutoMTLS,
	}
	config.Mirror, err = process.NewMirror(l.dir, path, m, sockets)
	if err != nil {
		return nil, 0, permanentError{wording.Errorf("copying its script: %w", err)}
	}
	if m.NamesFile() && !config.Mirror.StartsCommand() {
		config.Program, err = process.OpenProgram(path, sockets)
		if err != nil {
			config.Mirror.Remove()
			return nil, 0, permanentError{err}
		}
		defer config.Program.Close()
	}
	var seal *manifest.Seal
	config.Check = func() (err error) {
		seal, err = l.sealProgram(m, &config)
		return err
	}
	proc, err := process.Start(ctx, config)
	if err != nil {
		if errors.As(err, new(*process.RefusedError)) {
			err = permanentError{err}
		}
		return nil, 0, err
	}
	instance := &Instance{
		seal: seal, output: proc.Output, api: proto.NewPluginClient(proc.Conn), exited: proc.Exited(), status: proc.Status,
		ping: proc.Ping, end: proc.Stop, closeLifePipe: proc.CloseLifePipe,
	}
	if len(m.Services) > 0 {
		instance.services = services.NewServer(l.name, m, log, l.host.opts.Hidden)
		serviceID = proc.Broker.NextId()
		go proc.Broker.AcceptAndServe(serviceID, instance.services.GRPC)
	}
	return instance, serviceID, nil
}

// sealProgram seals the program and compares it with the trusted one, or the one that the user was shown.
func (l *programLauncher) sealProgram(m *manifest.Manifest, config *process.Config) (*manifest.Seal, error) {
	started := manifest.Started{Copies: config.Mirror.Copies()}
	if config.Program != nil {
		started.Command = config.Program.File()
	}
	seal, err := manifest.NewSeal(l.dir, m, started)
	switch {
	case err != nil:
		return nil, err
	case l.trusted != nil && seal.SHA256 != l.trusted.SHA256:
		return nil, l.changedError(m, seal.SHA256)
	case l.reviewedSHA256 != "" && seal.SHA256 != l.reviewedSHA256:
		return nil, wording.Errorf("its program changed while it was looked at")
	}
	return seal, nil
}

// changedError returns the error of a program that is not the trusted one any more.
func (l *programLauncher) changedError(m *manifest.Manifest, sum string) error {
	err := calls.Errorf(calls.Plugin, "its program changed since it was trusted (sha256 %.12s…, trusted %.12s…); if you know why, run: scheduler plugins trust %s", sum, l.trusted.SHA256, l.name)
	if m.SealsGit(l.dir) {
		return err.WithHint("commands of Git change .git: list it under data in %s", manifest.FileName)
	}
	return err
}

// describePlugin asks the plugin for its description, compares that with the trusted one, and opens its session.
// By then the program has loaded its files: none of them may have changed since it was sealed.
func (l *programLauncher) describePlugin(ctx context.Context, instance *Instance, m *manifest.Manifest, serviceID uint32) error {
	d, err := l.requestDescription(ctx, instance, time.Duration(m.Limits.StartTimeout), serviceID)
	if err != nil {
		return err
	}
	if err := instance.seal.CheckUnmodified(); err != nil {
		return permanentError{err}
	}
	instance.entry, err = manifest.NewEntry(m, instance.seal.SHA256, d)
	if err != nil {
		return permanentError{wording.Errorf("how it describes itself is wrong: %w", err)}
	}
	if l.trusted != nil {
		if changes := l.trusted.Changes(instance.entry); changes.En != "" {
			return permanentError{wording.Errorf("it describes itself differently than when it was trusted: %s; if you know why, run: scheduler plugins trust %s", changes, l.name)}
		}
	}
	if instance.entry.Session {
		instance.session, err = session.Open(instance.api, m.Limits.MessageBytes())
		if err != nil {
			return wording.Errorf("it did not open a session: %w", instance.ExplainError(err))
		}
	}
	return nil
}

func (l *programLauncher) requestDescription(ctx context.Context, instance *Instance, timeout time.Duration, serviceID uint32) (*proto.Description, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d, err := instance.api.Describe(limited, &proto.DescribeRequest{HostService: serviceID})
	if status.Code(err) == codes.DeadlineExceeded { // the other side may be first to see it
		AwaitDeadline(limited)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, instance.Annotate(wording.Errorf("it did not describe itself within %s", timeout))
	case err != nil:
		return nil, instance.Annotate(wording.Errorf("it did not describe itself: %w", instance.ExplainError(err)))
	}
	return d, nil
}
