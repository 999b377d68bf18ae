//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestInterruptedTwice: whoever is told to stop a second time, as by timeout(1), must
// still be there to stop in good order. Without that this very process dies.
func TestInterruptedTwice(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, stop := untilInterrupted()
		interrupt(t, sig)
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond) // whatever the first signal sets going is done
		interrupt(t, sig)
		time.Sleep(20 * time.Millisecond)
		stop()
	}
}

func interrupt(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}
