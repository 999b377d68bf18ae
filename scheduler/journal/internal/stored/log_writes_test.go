package stored

import (
	"context"
	"errors"
	"testing"

	"github.com/callnode/scheduler/scheduler/journal"
)

// A failure is reported once: to the caller that waits for the write, to the next writer, or to the caller that
// closes the log.
func TestFailureIsToldOnce(t *testing.T) {
	broken, late := errors.New("broken"), errors.New("late")
	for name, of := range map[string]struct {
		happens func(l *LogState)
		closing error
		want    error
	}{
		"nothing failed":            {func(*LogState) {}, nil, nil},
		"letting go failed":         {func(*LogState) {}, late, late},
		"the writer waited":         {func(l *LogState) { l.SettleWrite(broken, true) }, nil, nil},
		"nobody waited":             {func(l *LogState) { l.SettleWrite(broken, false) }, late, broken},
		"two failed":                {func(l *LogState) { l.SettleWrite(broken, false); l.SettleWrite(late, false) }, nil, broken},
		"the next writer was told":  {func(l *LogState) { l.SettleWrite(broken, false); refuse(l, broken) }, nil, nil},
		"it failed after the close": {func(l *LogState) { l.BeginClose(); l.SettleWrite(broken, false) }, nil, broken},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLogState(&journal.RunInfo{ID: "r"})
			of.happens(l)
			l.BeginClose()
			if l.BeginClose() {
				t.Error("it can be closed twice")
			}
			if err := l.EndClose(of.closing); !errors.Is(err, of.want) || (err == nil) != (of.want == nil) {
				t.Errorf("closing gives %v, want %v", err, of.want)
			}
			if l.Failed() == nil {
				t.Error("it can be written to after the close")
			}
		})
	}
	l := NewLogState(&journal.RunInfo{ID: "r"})
	watched, stop := l.Watch(t.Context())
	defer stop()
	l.SettleWrite(broken, true)
	if watched.Err() != nil {
		t.Error("a failure stops the run")
	}
	l.SettleWrite(&journal.HeldError{Run: "r"}, true)
	if held := (*journal.HeldError)(nil); !errors.As(context.Cause(watched), &held) {
		t.Errorf("who has lost the run is told %v", context.Cause(watched))
	}
}

func refuse(l *LogState, err error) {
	l.Lock()
	defer l.Unlock()
	_ = l.RefuseLocked(err)
}
