// Package notify sends messages about runs to URLs of the settings, for example that a run has failed. A message
// is stored before it is sent, signed as Standard Webhooks requires, and sent again for a day until it is
// accepted.
package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// The events besides states of runs that targets may choose.
const (
	// OnStuck is a run that pauses because it was continued in vain again and again.
	OnStuck journal.RunStatus = "stuck"
	// OnTrigger is a trigger that is paused, or that could not begin its run.
	OnTrigger journal.RunStatus = "trigger"
)

// Target is a URL that gets messages about runs. It comes from the settings and does not change.
type Target struct {
	URL string
	// On has the states of runs for which it gets messages, and [OnStuck] and [OnTrigger].
	On []journal.RunStatus
	// Secret signs the messages, as [trigger.SignStandard] wants it.
	Secret string
}

// storedName returns the name of the target in the store and in the log. The URL may be a credential, for example
// of a chat's webhook: the name has its host, and a hash that distinguishes it from others of the host.
func (t *Target) storedName() string {
	sum := sha256.Sum256([]byte(t.URL))
	return t.host() + "#" + hex.EncodeToString(sum[:8])
}

// host returns the host of the URL, with its port.
func (t *Target) host() string {
	u, err := url.Parse(t.URL)
	if err != nil { // the settings were checked
		return ""
	}
	return u.Host
}

// Options are the dependencies and settings for [New].
type Options struct {
	Targets []Target
	Service *service.Service
	Store   *store.Store
	Log     *slog.Logger
	// Client sends the messages; it decides which hosts are reached.
	Client *http.Client
	// IsStuck reports whether a run is in the state [OnStuck]; nil: none is.
	IsStuck func(context.Context, *journal.RunInfo) (bool, error)
	// Clock is the present; nil is the clock of the machine.
	Clock func() time.Time
}

// Notifier sends messages about runs to URLs. A server makes one with [New]; it is safe for concurrent use.
type Notifier struct {
	Options
	wake chan struct{}

	mu      sync.Mutex // guards the fields below
	changed []string   // runs whose state may have changed
}

// New returns a Notifier that does nothing before [Notifier.Run].
func New(o Options) *Notifier {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Notifier{Options: o, wake: make(chan struct{}, 1)}
}

const (
	// sendInterval is how often to search for due messages, scanInterval for runs with an unreported change.
	sendInterval = 2 * time.Second
	scanInterval = time.Minute
	sendTimeout  = 15 * time.Second
	// leaseTime is how long a process has for a try.
	leaseTime = time.Minute
	maxSent   = 8 // at once
	// maxChanged bounds the runs that are remembered; the scan finds the others.
	maxChanged = 10000
	// overlapTime is how far back scans reach before the last one.
	overlapTime = 5 * time.Minute
)

// delays returns the pauses after the tries that were in vain: 8 tries in a day.
func delays() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 4 * time.Hour, 7 * time.Hour, 10 * time.Hour,
	}
}

// Report takes a run whose state may have changed. It does not block.
func (n *Notifier) Report(run string) {
	if len(n.Targets) == 0 {
		return
	}
	n.mu.Lock()
	if len(n.changed) < maxChanged {
		n.changed = append(n.changed, run)
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Run stores and sends messages until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	if len(n.Targets) == 0 {
		return
	}
	ticker := time.NewTicker(sendInterval)
	defer ticker.Stop()
	var scanned time.Time
	for {
		errs := []error{n.storeReported(ctx)}
		if now := n.Clock(); now.Sub(scanned) >= scanInterval {
			errs = append(errs, n.Scan(ctx))
			scanned = now
		}
		if err := errors.Join(append(errs, n.Send(ctx))...); err != nil && ctx.Err() == nil {
			n.Log.Error("notifying of runs", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-n.wake:
		}
	}
}

// storeReported stores the messages about runs that were reported.
func (n *Notifier) storeReported(ctx context.Context) error {
	n.mu.Lock()
	runs := n.changed
	n.changed = nil
	n.mu.Unlock()
	slices.Sort(runs)
	var errs []error
	for _, id := range slices.Compact(runs) {
		info, err := n.Service.Run(ctx, service.Principal{}, id)
		if calls.KindOf(err) == calls.NotFound {
			continue
		}
		if err == nil {
			err = n.storeMessages(ctx, info)
		}
		errs = append(errs, err) // the others are still reported
	}
	return errors.Join(errs...)
}

// Scan stores the messages about runs that have changed since the last scan: changes by other processes, and by
// this one if it died before storing the messages.
func (n *Notifier) Scan(ctx context.Context) error {
	until, err := n.Store.NotifiedUntil(ctx)
	if err != nil {
		return err
	}
	now := n.Clock()
	var errs []error
	for info, err := range n.Service.Runs(ctx, service.Principal{}, journal.RunFilter{}) {
		if err != nil {
			return err
		}
		if info.TouchedAt.Before(until.Add(-overlapTime)) {
			continue
		}
		errs = append(errs, n.storeMessages(ctx, info)) // the others are still reported
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return n.Store.SetNotifiedUntil(ctx, now)
}

// storeMessages stores a message for each target that wants the state of a run.
func (n *Notifier) storeMessages(ctx context.Context, info *journal.RunInfo) error {
	if !service.IsServerRun(info) {
		return nil
	}
	state := info.State
	if n.IsStuck != nil {
		isStuck, err := n.IsStuck(ctx, info)
		if err != nil {
			return wording.Errorf("run %s: %w", info.ID, err)
		}
		if isStuck {
			state = OnStuck
		}
	}
	key := fmt.Sprintf("%s %d %s", info.ID, info.LastSeq, state)
	err := n.addMessages(ctx, state, key, func() ([]byte, error) { return n.describe(ctx, info, state) })
	if err != nil {
		return wording.Errorf("run %s: %w", info.ID, err)
	}
	return nil
}

// addMessages stores a message for each target that wants the state. key identifies the message, so that it is
// sent once.
func (n *Notifier) addMessages(ctx context.Context, state journal.RunStatus, key string, describe func() ([]byte, error)) error {
	for i := range n.Targets {
		target := &n.Targets[i]
		if !slices.Contains(target.On, state) {
			continue
		}
		sum := sha256.Sum256([]byte(key + " " + target.URL))
		body, err := describe()
		if err == nil {
			err = n.Store.AddMessage(ctx, &store.Message{ID: "msg_" + hex.EncodeToString(sum[:16]), Target: target.storedName(), Body: body})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TriggerChange is a change of a trigger's state, for the operators of the server. Its maker fills it in.
type TriggerChange struct {
	// Trigger is FLOW:ID, or FLOW for all triggers of a flow; User is the user of the runs that they begin.
	Trigger, Flow, User string
	// State is paused or failed, Reason why.
	State, Reason string
	// Key distinguishes changes of a trigger.
	Key string
}

// AnnounceTrigger stores the messages about a trigger.
func (n *Notifier) AnnounceTrigger(ctx context.Context, c TriggerChange) error {
	return n.addMessages(ctx, OnTrigger, "trigger "+c.Trigger+" "+c.State+" "+c.Key, func() ([]byte, error) {
		data := value.Pairs("trigger", c.Trigger, "flow", c.Flow, "state", c.State)
		for _, one := range []struct{ name, text string }{{"owner", c.User}, {"reason", c.Reason}} {
			if one.text != "" {
				data.Set(one.name, value.OfString(one.text))
			}
		}
		return value.OfMap(value.Pairs(
			"type", "trigger."+c.State, "timestamp", n.Clock().UTC().Format(time.RFC3339Nano), "data", value.OfMap(data),
		)).AppendJSON(nil), nil
	})
}

// describe returns the body of a message about a run.
func (n *Notifier) describe(ctx context.Context, info *journal.RunInfo, state journal.RunStatus) ([]byte, error) {
	data := value.Pairs("run", info.ID, "flow", info.Flow, "state", string(state))
	for _, one := range []struct{ name, label string }{
		{"owner", journal.LabelOwner}, {"session", journal.LabelSession}, {"origin", journal.LabelOrigin},
	} {
		if text := info.Labels[one.label]; text != "" {
			data.Set(one.name, value.OfString(text))
		}
	}
	if info.State == journal.RunWaiting {
		waiting, err := n.Service.WaitsFor(ctx, service.Principal{}, info)
		if err != nil {
			return nil, err
		}
		data.Set("waiting", value.Must(waiting))
	}
	return value.OfMap(value.Pairs(
		"type", "run."+string(state), "timestamp", info.UpdatedAt.UTC().Format(time.RFC3339Nano), "data", value.OfMap(data),
	)).AppendJSON(nil), nil
}

// Send sends the messages that are due.
func (n *Notifier) Send(ctx context.Context) error {
	names := make([]string, len(n.Targets))
	for i := range n.Targets {
		names[i] = n.Targets[i].storedName()
	}
	for {
		due, err := n.Store.TakeMessages(ctx, names, maxSent, leaseTime)
		if err != nil || len(due) == 0 {
			return err
		}
		errs := make([]error, len(due))
		var all sync.WaitGroup
		for i, m := range due {
			all.Go(func() { errs[i] = n.try(ctx, m) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
}

// try sends a message, and stores how that went.
func (n *Notifier) try(ctx context.Context, m *store.Message) error {
	target := &n.Targets[slices.IndexFunc(n.Targets, func(t Target) bool { return t.storedName() == m.Target })]
	isFinal, err := n.post(ctx, target, m)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it is taken up after the lease
	}
	m.Tries++
	if err == nil {
		return n.Store.EndMessage(ctx, m, "")
	}
	pauses := delays()
	if isFinal || m.Tries > len(pauses) {
		n.Log.Error("a notification is given up", "host", target.host(), "tries", m.Tries, "error", err)
		return n.Store.EndMessage(ctx, m, err.Error())
	}
	n.Log.Info("a notification was not taken", "host", target.host(), "tries", m.Tries, "error", err)
	return n.Store.DelayMessage(ctx, m, err.Error(), n.Clock().Add(pauses[m.Tries-1]))
}

// post sends a message once. isFinal is true if sending it again cannot help.
func (n *Notifier) post(ctx context.Context, target *Target, m *store.Message) (isFinal bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(m.Body))
	if err != nil {
		return true, withoutURL(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "scheduler")
	if err := trigger.SetStandard(r.Header, target.Secret, m.ID, n.Clock(), m.Body); err != nil {
		return true, err
	}
	answer, err := n.Client.Do(r)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, wording.Errorf("no answer within %s", sendTimeout)
	}
	if err != nil {
		return false, withoutURL(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be used again
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	return answer.StatusCode == http.StatusGone, errors.New(answer.Status)
}

// withoutURL returns an error of the HTTP client without the URL that it names.
func withoutURL(err error) error {
	var named *url.Error
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}
