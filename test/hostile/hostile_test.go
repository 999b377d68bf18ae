//go:build unix

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/verify"
)

// The conformance suite says which faults of the program itself it found.
func TestVerify(t *testing.T) {
	w := newWorld(t, "stubborn", "[]")
	w.trust(t)
	failed := map[string]string{}
	for _, r := range verify.Run(t.Context(), w.Host, "hostile") {
		if r.Err != nil {
			failed[r.Check] = r.Err.Error()
		}
	}
	for check, want := range map[string]string{
		"description":            "judge: doc_zh is empty",
		"unknown function":       "a request of the kind importance: by Ask: its process ended: exit status 2 (answer with a Failure",
		"input that is not JSON": "call act: it answered as if nothing were wrong",
		"large request":          "a request of 1047552 bytes: by Ask: its process ended: exit status 2",
		"ends when asked":        "it did not end within 300ms of plugin.GRPCController/Shutdown and had to be killed (signal: killed)",
		"ends with its host":     "it did not end within 300ms of end of file on the descriptor in the environment variable SCHEDULER_PLUGIN_LIFE",
	} {
		if !strings.Contains(failed[check], want) {
			t.Errorf("%s: got %q, want %q", check, failed[check], want)
		}
		delete(failed, check)
	}
	if len(failed) > 0 {
		t.Errorf("failed too: %q", failed)
	}
}

func TestOutputOfAnyKind(t *testing.T) {
	w := newWorld(t, "", "[log]")
	w.trust(t)
	for _, mode := range []string{"stdout", "endless log", "children"} {
		if _, err := w.judge(t.Context(), t, "hostile", mode); err != nil && calls.KindOf(err) != calls.Timeout {
			t.Errorf("%s: %v", mode, err)
		}
	}
	w.healthy(t, "hostile")
}

// Processes that leave the group and the session of the plugin still end with it.
func TestDaemons(t *testing.T) {
	for _, mode := range []string{"daemons", "daemons, then kill", "daemons, then stop"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, "", "[]", true)
			w.trust(t)
			_, err := w.judge(t.Context(), t, "hostile", mode)
			switch mode {
			case "daemons, then kill":
				says(t, err, calls.Plugin, "its process ended: signal: killed")
			case "daemons, then stop":
				says(t, err, calls.Timeout, "no answer within 1s")
			default:
				if err != nil {
					t.Error(err)
				}
				eventually(t, "the start of the daemons", func() bool { return len(processes(w.dir)) == 1+allDaemons })
			}
			w.healthy(t, "hostile")
		})
	}
}

// A plugin that stops its keeper is ended too.
func TestStoppedKeeper(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	if _, err := w.judge(t.Context(), t, "hostile", "stop the keeper"); err != nil {
		t.Error(err)
	}
	w.healthy(t, "hostile")
	if _, err := w.judge(t.Context(), t, "hostile", "kill"); err == nil {
		t.Error("no error")
	}
	w.healthy(t, "hostile")
}

// A plugin that fails again and again is given up, and the error says why.
func TestRestarts(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for range 2 {
		_, err := w.judge(t.Context(), t, "hostile", "kill")
		says(t, err, calls.Plugin, "its process ended: signal: killed")
	}
	_, err := w.judge(t.Context(), t, "hostile", "healthy")
	says(t, err, calls.Plugin, "it failed 2 times in a row and is not started again for 1h0m0s; the last time: its process ended: signal: killed")
	saysHow(t, err)
	w.healthy(t, "healthy")
}

func TestStepEndsFirst(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	for _, mode := range []string{"hang", "stop"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := w.judge(ctx, t, "hostile", mode); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v", mode, err)
		}
	}
}

// If the time limit of the step is reached first, the error names the cause.
func TestStepTimesOut(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	timesOut := func(what string, use func(ctx context.Context) error) {
		t.Helper()
		w.healthy(t, "hostile")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := use(ctx)
		says(t, err, calls.Timeout, what+": no answer yet")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it is no end of the time of the step: %v", err)
		}
	}
	for _, mode := range []string{"hang", "stop"} {
		timesOut("function judge", func(ctx context.Context) error {
			_, err := w.judge(ctx, t, "hostile", mode)
			return err
		})
		timesOut("call act", func(ctx context.Context) error {
			_, err := w.exec(ctx, t, "hostile", "act", mode)
			return err
		})
		timesOut("variable hostile_value", func(ctx context.Context) error { return w.resolve(ctx, "hostile", mode) })
	}
}
