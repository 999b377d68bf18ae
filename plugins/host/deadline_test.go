package host

import (
	"context"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// The time in which a plugin waits for the host, or the step works, does not count.
func TestDeadline(t *testing.T) {
	limits := manifest.Limits{Timeout: manifest.Duration(20 * time.Millisecond), ExecTimeout: manifest.Duration(time.Hour), HostCalls: 1}
	serving, release := make(chan struct{}), make(chan struct{})
	grant := &services.Grant{Vars: func() (value.Value, error) {
		close(serving)
		<-release
		return value.OfMap(nil), nil
	}}
	server := services.NewServer("p", &manifest.Manifest{Services: []string{manifest.ServiceVars}, Limits: limits}, nil, nil)
	token, revoke := server.Issue(t.Context(), grant)
	defer revoke()
	served := make(chan error)
	go func() {
		_, err := server.Vars(t.Context(), &proto.VarsRequest{Token: token})
		served <- err
	}()
	<-serving
	ctx, d := newDeadline(t.Context(), limits, grant)
	defer d.stop()
	d.startTurn()
	for range 5 {
		d.checkIdle()
	}
	d.turnStart.Store(time.Now().Add(-time.Hour).UnixNano())
	d.checkIdle()
	if ctx.Err() != nil {
		t.Fatalf("it was ended while it waited for the host: %v", context.Cause(ctx))
	}
	d.endTurn()
	d.checkIdle()
	if ctx.Err() != nil {
		t.Fatalf("it was ended while the step worked: %v", context.Cause(ctx))
	}
	close(release)
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	d.startTurn()
	<-ctx.Done()
	if got := context.Cause(ctx).Error(); got != "it put out nothing for 20ms (limits.timeout in plugin.yaml)" {
		t.Errorf("the cause is %q", got)
	}
}

// The error of a step that is out of time before it asks blames no other request.
func TestSlotOfLateStep(t *testing.T) {
	p := &plugin{entry: &manifest.Entry{Name: "p"}, slots: make(chan struct{}, 1)}
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for range 20 {
		release, err := p.acquireSlot(ctx, wording.Same("call x"))
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
}
