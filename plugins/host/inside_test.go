package host

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/plugins/proto"
)

func TestOutputIsBounded(t *testing.T) {
	var log strings.Builder
	o := &output{log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, text := range []string{"first ", "line\nsecond\x1b[31m line\nun", "finished", strings.Repeat("x", 10_000), "\n", "after\n"} {
		if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write gave %d, %v", n, err)
		}
	}
	for _, want := range []string{`msg="first line"`, `msg="second[31m line"`, "msg=unfinishedxxx", "msg=after"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%.300s", want, log.String())
		}
	}
	if longest := len(log.String()); longest > 2000 {
		t.Errorf("the log has %d bytes", longest)
	}
	for range 3000 {
		_, _ = o.Write([]byte("noise\n"))
	}
	if lines := strings.Count(log.String(), "\n"); lines != maxLogLines+1 {
		t.Errorf("the log has %d lines", lines)
	}
	if last := o.last(); len(last) > tailBytes || !strings.HasSuffix(last, "noise\nnoise") {
		t.Errorf("the end is %d bytes: %.40q", len(last), last)
	}
}

// Of a crash whose trace is long the cause is kept.
func TestCauseOfCrash(t *testing.T) {
	for trace, want := range map[string]string{
		"fatal error: concurrent map writes\n\n": "fatal error: concurrent map writes\n...\n",
		"goroutine 0:\n":                         "",
	} {
		o := &output{log: slog.New(slog.DiscardHandler)}
		_, _ = o.Write([]byte(trace + strings.Repeat("goroutine\n", 1000) + "last"))
		if got := o.last(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "goroutine\nlast") || want == "" && strings.Contains(got, "...") {
			t.Errorf("got %.60q", got)
		}
	}
	o := &output{log: slog.New(slog.DiscardHandler)}
	_, _ = o.Write([]byte("panic: short\ngoroutine 1\n"))
	if got := o.last(); got != "panic: short\ngoroutine 1" {
		t.Errorf("got %q", got)
	}
}

// A plugin that waits for the host is not idle; one that waits for nobody is.
func TestWatch(t *testing.T) {
	limits := Limits{Timeout: Duration(20 * time.Millisecond), ExecTimeout: Duration(time.Hour)}
	ticket := &ticket{}
	ticket.busy.Store(1)
	ctx, w := newWatch(t.Context(), limits, ticket)
	defer w.stop()
	w.waiting()
	for range 5 {
		w.look()
	}
	w.since.Store(time.Now().Add(-time.Hour).UnixNano())
	w.look()
	if ctx.Err() != nil {
		t.Fatalf("it was ended while it waited for the host: %v", context.Cause(ctx))
	}
	w.pause()
	w.look()
	if ctx.Err() != nil {
		t.Fatalf("it was ended while the step worked: %v", context.Cause(ctx))
	}
	ticket.busy.Store(0)
	w.waiting()
	<-ctx.Done()
	if got := context.Cause(ctx).Error(); got != "it put out nothing for 20ms (limits.timeout in plugin.yaml)" {
		t.Errorf("the cause is %q", got)
	}
}

func TestDifference(t *testing.T) {
	entry := func(version string, functions ...*proto.Function) *Entry {
		e, err := newEntry(&Manifest{Name: "x", Version: version}, "", &proto.Description{Name: "x", Version: version, Functions: functions})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	function := func(name, doc string) *proto.Function {
		return &proto.Function{Name: name, Kind: proto.Kind_IMPORTANCE, DocEn: doc}
	}
	old := entry("1", function("a", "A"), function("b", "B"), function("c", "C"))
	if got := old.Changes(old); got != "" {
		t.Errorf("with itself: %s", got)
	}
	now := entry("2", function("b", "B2"), function("c", "C"), function("d", "D"))
	now.Session = true
	if got, want := old.Changes(now), `its version is 2, not 1, it serves Session, or does so no longer, "b" changed, "d" is new, "a" is gone`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A plugin that asks again and again for what it was not granted does not fill the log.
func TestRefusalIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	s := newServices("p", &Manifest{Name: "p", Services: []string{serviceVars}}, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		for _, service := range []string{serviceMemory, serviceLLM} {
			if _, _, _, err := s.use(t.Context(), "", service); status.Code(err) != codes.PermissionDenied {
				t.Errorf("got %v", err)
			}
		}
		if _, err := s.Log(t.Context(), &proto.LogRequest{Level: "info"}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("got %v", err)
		}
	}
	if n := strings.Count(log.String(), "not granted"); n != 3 {
		t.Errorf("the log has %d lines for 3 services:\n%s", n, log.String())
	}
}

// Of a step whose time is over before it asks, nobody is said to be in the way.
func TestSlotOfLateStep(t *testing.T) {
	p := &plugin{entry: &Entry{Name: "p"}, slots: make(chan struct{}, 1)}
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for range 20 {
		free, err := p.slot(ctx, "call x")
		if err != nil {
			t.Fatal(err)
		}
		free()
	}
}
